"""Scores to bits and error rates: score laws, divergence, identification, DET, intervals."""
