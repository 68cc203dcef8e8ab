"""What can be guaranteed: numbers in, numbers out. The paper's bounds, exact values, worst cases, expected loss."""
