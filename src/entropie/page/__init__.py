"""A result as one HTML page: no script, no network, every number with the place it came from."""

from entropie.page.page import is_about, render, write_both, write_report
from entropie.page.scores import Systems
from entropie.page.sweep import render_sweep

__all__ = ["Systems", "is_about", "render", "render_sweep", "write_both", "write_report"]
