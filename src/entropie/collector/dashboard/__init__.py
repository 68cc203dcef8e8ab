"""The pages that people watch a collection on, and the one on which they design the next."""
