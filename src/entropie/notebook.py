"""How results show themselves in a notebook: a caption and a small table, every cell escaped."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence


def html_table(caption: str, headers: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """One HTML table; numbers are given four significant digits."""
    head = "".join(f"<th>{html.escape(name)}</th>" for name in headers)
    body = "".join(f"<tr>{''.join(f'<td>{html.escape(_shown(cell))}</td>' for cell in row)}</tr>" for row in rows)
    return (
        f"<table><caption>{html.escape(caption)}</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    )


def _shown(cell: object) -> str:
    return f"{cell:.4g}" if isinstance(cell, float) else f"{cell:,}" if isinstance(cell, int) else str(cell)
