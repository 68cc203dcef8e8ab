"""One thing that was judged, as pipelines read it: its name, the decision, the number it rests on, the exit code.

Assessments, comparisons, sweeps and the entries of a suite all become this value; what is written for pipelines
(`entropie.gate.junit`, `entropie.gate.markdown`) is made from it and from nothing else.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

from entropie.document.measured import ShareInterval
from entropie.gate.judge import exit_code

WORST_FIRST = (70, 2, 1, 3, 0)
"""Exit codes by how much they matter: an error of the program, what could not be judged, a limit not met, what is left
open, nothing."""


def worst(codes: Iterable[int]) -> int:
    """The one exit code of several."""
    return min(codes, key=WORST_FIRST.index, default=0)


@dataclass(frozen=True, slots=True)
class Judged:
    """What was decided.

    kind       the command that judged it
    decision   PASS, PASS (limited), FAIL, INCONCLUSIVE, WAIVED, NO LIMIT, ERROR; of a comparison its outcome
    code       the exit code: whatever is not 0 stops a pipeline
    sentence   the decision and the number it rests on
    details    what it rests on, in sentences
    risk       the number judged, and the limit; None where there is none
    """

    name: str
    kind: str
    decision: str
    code: int
    sentence: str
    details: tuple[str, ...] = ()
    risk: ShareInterval | None = None
    limit: float | None = None
    seconds: float = 0.0

    @classmethod
    def of_assessment(cls, document: Mapping[str, Any], name: str | None = None, kind: str = "assess") -> Judged:
        """From a plain document that has a `verdict`."""
        found = document["input"]
        named = name or _file_name(found.get("source") or found.get("name"))
        verdict, seconds = document["verdict"], document["provenance"]["seconds"]
        if verdict is None:
            return cls(named, kind, "NO LIMIT", 0, "No limit was named, so nothing was judged.", seconds=seconds)
        waived = verdict["waiver"] is not None and verdict["waiver"]["applies"]
        return cls(
            name=named,
            kind=kind,
            decision="WAIVED" if waived else verdict["decision"],
            code=exit_code(verdict),
            sentence=re.split(r" {2,}", verdict["headline"], maxsplit=1)[-1],  # behind the decision
            details=(verdict["sentence"], *verdict["rests_on"]),
            risk=_ends(verdict["judged_risk"]),
            limit=verdict["limit"],
            seconds=seconds,
        )

    @classmethod
    def of_comparison(cls, document: Mapping[str, Any], code: int) -> Judged:
        """From a plain comparison; the exit code depends on what was asked for."""
        sides = [_file_name(document[side]["source"]) for side in ("old", "new")]
        return cls(
            name=sides[0] if sides[0] == sides[1] else f"{sides[0]}, {sides[1]}",
            kind="compare",
            decision=document["outcome"],
            code=code,
            sentence=document["sentence"],
            details=(*document["warnings"], document["assumption"]),
            risk=_ends(document["new"]["identification_risk"]),
        )

    @classmethod
    def of_sweep(cls, document: Mapping[str, Any], code: int) -> Judged:
        """From a plain sweep: whether a combination meets the limit, and which."""
        chosen = document["as_it_is"] if document["chosen"] is None else document["rows"][document["chosen"]]
        return cls(
            name=_file_name(document["input"].get("source")),
            kind="sweep",
            decision={0: "PASS", 1: "FAIL", 3: "INCONCLUSIVE"}[code],
            code=code,
            sentence=document["sentences"][0],
            details=tuple(document["sentences"][1:]),
            risk=_ends(chosen["risk"]),
            limit=document["profile"]["limit"],
            seconds=document["provenance"]["seconds"],
        )

    @classmethod
    def failed(cls, name: str, kind: str, sentence: str, seconds: float = 0.0, code: int = 2) -> Judged:
        """What could not be judged."""
        return cls(name, kind, "ERROR", code, sentence, seconds=seconds)


def _ends(interval: Mapping[str, float]) -> ShareInterval:
    return ShareInterval(interval["value"], interval["low"], interval["high"])


def _file_name(source: str | None) -> str:
    return (PurePath(source).name or source) if source else "unnamed"
