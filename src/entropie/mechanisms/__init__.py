"""What runs on a device: randomized response, local hashing, their hash family, randomness and parameter document."""
