"""An assessment as one HTML page: no script, no network, every number with the place it came from."""

from entropie.page.page import is_about, render, write_report

__all__ = ["is_about", "render", "write_report"]
