"""An assessment as one HTML page: no script, no network, every number with the place it came from."""

from entropie.page.page import render, write_report

__all__ = ["render", "write_report"]
