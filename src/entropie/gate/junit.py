"""Verdicts as JUnit XML, which build servers show as tests: red is what has an exit code other than 0.

A limit that is not met is a `failure`, and so is what the data cannot tell (its type says INCONCLUSIVE); an `error` is
what could not be judged; `skipped` is what nothing was asked of, or what does not stop a pipeline and is no PASS.
"""

from __future__ import annotations

import datetime
import os
from collections.abc import Sequence
from xml.etree import ElementTree

from entropie.atomic import write_file
from entropie.errors import printable
from entropie.gate.judged import Judged

_GOOD = ("PASS", "PASS (limited)", "WAIVED", "not risen", "fallen", "unchanged")


def junit(judged: Sequence[Judged], suite: str, now: datetime.datetime | None = None) -> str:
    """One suite with a case for each verdict. No letter of a name is markup, and none is one that XML may not hold."""
    whole = ElementTree.Element("testsuites", _counts(judged) | {"name": "entropie"})
    inside = ElementTree.SubElement(whole, "testsuite", _counts(judged) | {"name": printable(suite), "skipped": "0"})
    moment = now or datetime.datetime.now(datetime.UTC)
    inside.set("timestamp", moment.replace(tzinfo=None).isoformat(timespec="seconds"))
    inside.set("skipped", str(sum(_state(one) == "skipped" for one in judged)))
    for one in judged:
        _case(inside, one)
    ElementTree.indent(whole)
    return ElementTree.tostring(whole, encoding="unicode", xml_declaration=False).join(
        ('<?xml version="1.0" encoding="UTF-8"?>\n', "\n")
    )


def write_junit(path: str | os.PathLike[str], judged: Sequence[Judged], suite: str) -> None:
    """Write it whole or not at all."""
    write_file(path, junit(judged, suite))


def _state(one: Judged) -> str:
    """failure, error, skipped, or nothing for a test that is passed."""
    if one.code:
        return "error" if one.code not in (1, 3) else "failure"
    return "" if one.decision in _GOOD else "skipped"


def _counts(judged: Sequence[Judged]) -> dict[str, str]:
    return {
        "tests": str(len(judged)),
        "failures": str(sum(_state(one) == "failure" for one in judged)),
        "errors": str(sum(_state(one) == "error" for one in judged)),
        "time": f"{sum(one.seconds for one in judged):.3f}",
    }


def _case(suite: ElementTree.Element, one: Judged) -> None:
    facts = {"classname": f"entropie.{one.kind}", "name": printable(one.name), "time": f"{one.seconds:.3f}"}
    case = ElementTree.SubElement(suite, "testcase", facts)
    told = "\n".join(map(printable, (one.sentence, *one.details)))
    state = _state(one)
    if state:
        marked = {"message": printable(one.sentence)}
        if state != "skipped":
            marked["type"] = one.decision
        ElementTree.SubElement(case, state, marked).text = told
    else:
        ElementTree.SubElement(case, "system-out").text = told
