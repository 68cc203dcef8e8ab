"""JSON Schemas (draft 2020-12) of every document that the command line prints or writes, made from their types."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from entropie.document.base import schema_of
from entropie.errors import InvalidParameter

_DOCUMENTS = {
    "assessment": ("assessment.json, also printed by `assess --json` and `demo --json`", "document", "Document"),
    "attributes": ("attributes.json, also printed by `attributes --json`", "table", "TableAssessment"),
    "calibration": (
        "printed by `calibrate --json`",
        "mechanisms.calibrate",
        "CalibrationDocument",
        "UnreachableDocument",
    ),
    "check": ("check.json, also printed by `check --json`", "document.suite", "Check"),
    "collect": ("printed by `collect new --json`", "document.printed", "CollectionMade"),
    "collection": ("the collection document that `collect new` writes", "collector.document", "Collection"),
    "comparison": ("printed by `compare --json`", "gate.comparison", "Comparison"),
    "table-comparison": ("printed by `compare --json` for two tables", "gate.table_comparison", "TableComparison"),
    "doctor": ("printed by `doctor --json`", "collector.examine", "Examination"),
    "estimate": ("printed by `estimate --json`", "document.printed", "Estimated"),
    "generalisation": (
        "generalisation.json, also printed by `generalise --json`",
        "release.table_plan",
        "Generalisation",
    ),
    "guarantee": ("printed by `guarantee --json`", "theory.guarantee", "Guarantee"),
    "ledger": ("made by `Ledger.to_document`, kept by a client", "document.ledger", "LedgerDocument"),
    "manifest": ("OUT.manifest.json, also printed by `apply --json`", "release.apply", "Manifest"),
    "matrix": ("printed by `guarantee --matrix FILE --json`", "theory.matrix", "MatrixGuarantee"),
    "numbers": ("printed by `guarantee --group T:N --json`", "mechanisms.numbers", "NumbersGuarantee"),
    "merge": ("printed by `collect merge --json`", "document.printed", "StoresMerged"),
    "obfuscate": ("printed by `obfuscate --json`", "document.printed", "Obfuscated"),
    "parameters": ("FILE.parameters.json, what device and collector share", "mechanisms.parameters", "Parameters"),
    "plan": ("printed by `plan --json`", "document.printed", "PlannedHere", "PlannedOnCluster"),
    "records": ("printed by `collect reports --json`", "document.printed", "ReportsTaken"),
    "release": ("plan.json, what `sweep` found and `apply` does", "release.plan", "ReleasePlan"),
    "scores": ("printed by `scores --json`", "document.measured", "Scores"),
    "score-systems": ("scores.json, also printed by `scores --json` for several systems", "page.scores", "Systems"),
    "status": ("served by the collector's dashboard for each collection", "collector.status", "Status"),
    "sweep": ("sweep.json, also printed by `sweep --json`", "release.result", "Sweep"),
    "table-manifest": ("OUT.manifest.json of a table with one row per person", "release.table_file", "TableManifest"),
    "table-release": ("plan.json, what `generalise` found and `apply` does", "release.table_plan", "TablePlan"),
}
"""What each is, and the module and the types that it comes from."""


def names() -> tuple[str, ...]:
    """The documents that have a schema, such as 'assessment'."""
    return tuple(_DOCUMENTS)


def schema(name: str) -> dict[str, Any]:
    """The schema of one document, complete in itself.

    >>> schema("assessment")["$schema"]
    'https://json-schema.org/draft/2020-12/schema'
    """
    if name not in names():
        raise InvalidParameter.among("name", names(), name)
    title, module, *kinds = _DOCUMENTS[name]
    home = import_module(f"entropie.{module}")
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:entropie:schema:{name}:1",
        **schema_of(*(getattr(home, kind) for kind in kinds)),
        "title": title,
    }
