"""A decision from an assessment: profiles, verdicts, waivers, comparison, metrics."""
