"""What lowers the risk: protection, coarsening, time windows, attributes of a table."""
