"""What a collector learns: mergeable counts, unbiased estimates, intervals, the significance threshold."""
