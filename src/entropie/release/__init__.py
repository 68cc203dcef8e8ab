"""From a verdict to a file that may be released: the cheapest combination that meets a limit, and what it writes."""
