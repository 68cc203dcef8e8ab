"""The pipeline of blocks and its drivers: this machine, and Spark."""
