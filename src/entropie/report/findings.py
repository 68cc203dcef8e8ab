"""What the page concludes from the document: comparisons of its numbers, and never a number of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from entropie.report.document import Document

__all__ = ["Findings", "find"]


@dataclass(frozen=True, slots=True)
class Findings:
    """Yes or no, or where to look; the templates put them into words.

    undeclared      the decision without the declared probability of an attempt, None where nothing was declared
    other_measure   what was judged is not the risk that the profile speaks of
    on_exposed      the decision on the most exposed people, where the profile speaks of them and the average was judged
    left_out        fewer people were assessed than the input has
    exposed         path of the group at the highest risk, None where the document has none
    stands_out      that group's interval lies above the average's: the risk is shown to differ
    chooses         the attacker gains by choosing clear matches: the first group's interval lies above the last one's
    one_event       one event says more about its person than chance shows by itself
    attacked        places of the windows that were attacked
    """

    undeclared: str | None
    other_measure: bool
    on_exposed: str | None
    left_out: bool
    exposed: str | None
    stands_out: bool
    chooses: bool
    one_event: bool
    attacked: Sequence[int]


def find(document: Document, best: str) -> Findings:
    """All conclusions on a document whose strongest attack stands at the path `best`."""
    exposed = _exposed(document, best)
    return Findings(
        undeclared=_undeclared(document),
        other_measure=_other_measure(document),
        on_exposed=_on_exposed(document, exposed),
        left_out=_left_out(document),
        exposed=exposed,
        stands_out=exposed is not None and _stands_out(document, exposed),
        chooses=_chooses(document.get(f"{best}.exposure.groups") or []),
        one_event=_above(document.value("pie_bits"), document.value("pie_null_bits")),
        attacked=[
            place
            for place, window in enumerate(document.get("windows") or [])
            if window["identification_error"] is not None and window["pse_bits"] is not None
        ],
    )


def _undeclared(document: Document) -> str | None:
    if not document.has("verdict.attempt_probability"):
        return None
    return _decision(document.value("verdict.measured_risk"), 1.0, document.value("verdict.limit"))


def _other_measure(document: Document) -> bool:
    spoken, judged = document.get("verdict.profile.speaks_of"), document.get("verdict.measure")
    return (spoken, judged) in (("maximum", "average"), ("average", "worst"))


def _on_exposed(document: Document, exposed: str | None) -> str | None:
    if exposed is None or not _other_measure(document) or document.value("verdict.measure") != "average":
        return None
    chance = document.value("verdict.attempt_probability") if document.has("verdict.attempt_probability") else 1.0
    return _decision(document.value(f"{exposed}.right"), chance, document.value("verdict.limit"))


def _decision(risk: dict[str, float], chance: float, limit: float) -> str:
    """The gate's own rule: both ends of the interval against the limit."""
    if risk["high"] * chance <= limit:
        return "PASS"
    return "FAIL" if risk["low"] * chance > limit else "INCONCLUSIVE"


def _left_out(document: Document) -> bool:
    return document.has("input.users") and document.value("input.users") > document.value("users")


def _exposed(document: Document, best: str) -> str | None:
    """Documents of earlier versions know the strongest attack's group alone."""
    for path in ("headline.most_exposed", f"{best}.exposure.most_exposed"):
        if document.has(path):
            return path
    return None


def _stands_out(document: Document, exposed: str) -> bool:
    if document.value(f"{exposed}.share") >= 1.0:
        return False
    average_high = 1.0 - document.value("headline.identification_error.low")
    return bool(document.value(f"{exposed}.right.low") > average_high)


def _above(value: Any, other: Any) -> bool:
    """Whether both are numbers and the first is larger; what is no number is told where it is written."""
    return isinstance(value, int | float) and isinstance(other, int | float) and value > other


def _chooses(groups: list[dict[str, Any]]) -> bool:
    return len(groups) > 1 and groups[0]["right"]["low"] > groups[-1]["right"]["high"]
