"""The paper's experiments and figures, built on the parts of this package."""
