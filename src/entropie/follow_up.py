"""What is done with assessments that have been made, of events or of a table: read, compared, shown again."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from entropie import document as documents
from entropie.assessment import Assessment
from entropie.contents import read_bytes
from entropie.document.base import converted, parsed
from entropie.errors import InvalidInput, interruptible, printable
from entropie.gate import comparison, table_comparison
from entropie.gate.comparison import Comparison
from entropie.gate.table_comparison import TableComparison
from entropie.mitigate.attribute_risk import FILE, SCHEMA, AttributeRisk, document_of
from entropie.table import TableAssessment

AnyAssessment = Assessment | TableAssessment | Mapping[str, Any] | str | os.PathLike[str]
"""An assessment as it is at hand: the result, its document, or the file or folder it was written to."""


@interruptible
def compare(
    old: AnyAssessment, new: AnyAssessment, *, tolerance_error: float | str = 0.0
) -> Comparison | TableComparison:
    """Say whether the risk rose from one assessment to another, by more than a tolerance (a share of people).

    Both are of events, or both of tables.
    """
    before, after = _document(old), _document(new)
    match document_of(before), document_of(after):
        case AttributeRisk() as first, AttributeRisk() as second:
            return table_comparison.compare(first, second, tolerance_error)
        case (AttributeRisk(), _) | (_, AttributeRisk()):
            raise InvalidInput("One assessment is of events and the other of a table; compare two of a kind.")
    return comparison.compare(before, after, tolerance_error)


@interruptible
def report(assessment: AnyAssessment, path: str | os.PathLike[str] = "report.html") -> Path:
    """Write the report of an assessment: one HTML page without script. Returns where it is."""
    from entropie.page import write_report

    write_report(_document(assessment), path)
    return Path(path)


def file_of(place: str | os.PathLike[str]) -> Path:
    """The file of an assessment: itself, or the one in the folder it was written to."""
    path = Path(place)
    return path / FILE if path.is_dir() and (path / FILE).is_file() else documents.file_of(path)


def read(place: str | os.PathLike[str]) -> dict[str, Any]:
    """The plain document of an assessment on file or in a folder, checked whole."""
    path = file_of(place)
    name = f"Assessment {printable(str(path))}"
    content = read_bytes(path, name, "make one with `entropie assess`")
    if SCHEMA.encode() not in content[:_HEAD]:
        return documents.read(path)
    values: dict[str, Any] = parsed(content, name, _AGAIN)
    converted(values, AttributeRisk, name, _AGAIN)
    return values


_HEAD, _AGAIN = 1000, "make it anew with `entropie attributes --out`"


def _document(assessment: AnyAssessment) -> dict[str, Any]:
    if isinstance(assessment, Assessment | TableAssessment):
        return assessment.document
    return dict(assessment) if isinstance(assessment, Mapping) else read(assessment)
