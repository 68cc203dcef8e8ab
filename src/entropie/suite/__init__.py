"""Several limits over several data sets, judged in one go: the suite file, the kinds of its entries, the run."""
