"""The assessment as the templates see it: values found by path, each shown with the path it came from."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from markupsafe import Markup

from entropie.errors import InvalidInput
from entropie.report.words import written

__all__ = ["SCHEMA", "Document"]

SCHEMA = "entropie.assessment/1"
Path = str | Sequence[str | int]
_UNPRINTABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]")
_MISSING: Any = object()


class Document:
    """An `assessment.json`, checked to be one, without characters that no page can hold."""

    def __init__(self, document: Any) -> None:
        schema = document.get("schema") if isinstance(document, dict) else None
        if schema != SCHEMA:
            raise InvalidInput(
                f"A report needs a document of schema {SCHEMA}, got {schema!r} instead; `entropie assess` writes one."
            )
        self.content: dict[str, Any] = _printable(document)
        for path in ("attacks", "strongest", "headline.identification_error", "users", "provenance", "input", "split"):
            self.value(path)
        best = self.content["strongest"]
        if type(best) is not int or not 0 <= best < len(self.content["attacks"]):
            raise InvalidInput(f"The document's `strongest` must be the index of an attack, got {best!r} instead.")

    def value(self, path: Path) -> Any:
        """What stands at the path; a sentence where nothing does."""
        found = self._find(path)
        if found is _MISSING:
            raise InvalidInput(f"The document lacks `{_dotted(path)}`; make it anew with `entropie assess`.")
        return found

    def get(self, path: Path) -> Any:
        """What stands at the path, or None."""
        found = self._find(path)
        return None if found is _MISSING else found

    def has(self, path: Path) -> bool:
        """Whether something other than null, or than an empty list, object or text, stands at the path."""
        found = self._find(path)
        return found is not _MISSING and found is not None and found not in ([], {}, "")

    def mark(self, path: Path, form: str) -> Markup:
        """The value at the path, escaped and formatted, in an element that says where it came from."""
        dotted = _dotted(path)
        shown = written(self.value(path), form, dotted)
        # bdi: a name of somebody else's making must not turn around the text beside it
        element = "bdi" if form in ("text", "name", "file_name") else "span"
        return Markup(f'<{element} data-path="{{}}" data-format="{{}}">{{}}</{element}>').format(dotted, form, shown)

    def same(self, first: Path, second: Path, form: str) -> bool:
        """Whether two values look the same as they are written."""
        return written(self.value(first), form, _dotted(first)) == written(self.value(second), form, _dotted(second))

    def _find(self, path: Path) -> Any:
        found: Any = self.content
        for step in _steps(path):
            if isinstance(found, dict) and step in found:
                found = found[step]
            elif isinstance(found, list) and str(step).isdigit() and int(step) < len(found):
                found = found[int(step)]
            else:
                return _MISSING
        return found


def _steps(path: Path) -> Sequence[str | int]:
    return path.split(".") if isinstance(path, str) else path


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
