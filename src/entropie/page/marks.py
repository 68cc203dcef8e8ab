"""Values of a plain document found by path, each shown with the path it came from."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from markupsafe import Markup

from entropie.page.formats import written

Path = str | Sequence[str | int]
_UNPRINTABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]")
_FREE_TEXT = ("text", "name", "file_name")


class Marked:
    """A plain document as the templates see it, without characters that no page can hold."""

    def __init__(self, document: dict[str, Any]) -> None:
        self.content: dict[str, Any] = _printable(document)

    def at(self, path: Path) -> Any:
        """What stands at the path, or None."""
        value: Any = self.content
        for step in path.split(".") if isinstance(path, str) else path:
            if isinstance(value, list):
                value = value[int(step)] if int(step) < len(value) else None
            else:
                value = None if value is None else value.get(step)
        return value

    def has(self, path: Path) -> bool:
        """Whether something other than null, or than an empty list, object or text, stands at the path."""
        value = self.at(path)
        return value is not None and value not in ([], {}, "")

    def mark(self, path: Path, form: str) -> Markup:
        """The value at the path, escaped and formatted, in an element that says where it came from."""
        if self.at(path) is None:
            return Markup("not known")
        # bdi: a name of somebody else's making must not turn around the text beside it
        element = "bdi" if form in _FREE_TEXT else "span"
        return Markup(f'<{element} data-path="{{}}" data-format="{{}}">{{}}</{element}>').format(
            _dotted(path), form, written(self.at(path), form)
        )

    def same(self, first: Path, second: Path, form: str) -> bool:
        """Whether two values look the same as they are written."""
        return written(self.at(first), form) == written(self.at(second), form)


def _dotted(path: Path) -> str:
    """Steps joined with dots; `~` and `.` inside a step are written `~0` and `~1`."""
    if isinstance(path, str):
        return path
    return ".".join(str(step).replace("~", "~0").replace(".", "~1") for step in path)


def _printable(value: Any) -> Any:
    if isinstance(value, str):
        return _UNPRINTABLE.sub("\N{REPLACEMENT CHARACTER}", value)
    if isinstance(value, dict):
        return {_printable(key): _printable(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_printable(inner) for inner in value]
    return value
