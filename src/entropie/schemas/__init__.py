"""JSON Schemas (draft 2020-12) of every document that the command line prints or writes.

Those of assessments and comparisons come from their types; the others are files beside this one.
"""

from __future__ import annotations

import json
from importlib import resources
from typing import Any

from entropie.errors import InvalidParameter

__all__ = ["names", "schema"]

_SUFFIX = ".json"
_TYPED = {
    "assessment": "assessment.json, also printed by `assess --json` and `demo --json`",
    "comparison": "printed by `compare --json`",
}


def names() -> tuple[str, ...]:
    """The documents that have a schema, such as 'assessment'."""
    files = (entry.name for entry in resources.files(__name__).iterdir())
    return tuple(sorted([*_TYPED, *(name.removesuffix(_SUFFIX) for name in files if name.endswith(_SUFFIX))]))


def schema(name: str) -> dict[str, Any]:
    """The schema of one document, complete in itself.

    >>> schema("assessment")["$schema"]
    'https://json-schema.org/draft/2020-12/schema'
    """
    if name not in names():
        raise InvalidParameter.of("name", f"one of {', '.join(names())}", name)
    if name in _TYPED:
        return _generated(name)
    text = resources.files(__name__).joinpath(name + _SUFFIX).read_text(encoding="utf-8")
    found: dict[str, Any] = json.loads(text)
    return found


def _generated(name: str) -> dict[str, Any]:
    from entropie.document import Document, schema_of
    from entropie.gate.comparison import Comparison

    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:entropie:schema:{name}:1",
        "title": _TYPED[name],
        **schema_of(Document if name == "assessment" else Comparison),
    }
