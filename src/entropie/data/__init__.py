"""Events: reading, encoding, filtering and splitting what people did."""
