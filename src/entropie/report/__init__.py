"""Assessment to one self-contained HTML file; computes nothing."""
