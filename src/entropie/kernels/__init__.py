"""Every compiled loop: arrays in, arrays out. No validation, no randomness, no Python objects."""
