"""An assessment as a Prometheus text file, for a node exporter's textfile collector or any other scraper.

Gauges only, in base units: shares from 0 to 1 end in `_ratio`, information in `_bits`, times in `_seconds`.
Written by hand: prometheus_client takes 125 ms to import (it brings an HTTP server) and would save about 30 lines.
"""

from __future__ import annotations

import contextlib
import datetime
import math
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from entropie.atomic import write_file
from entropie.document import Document
from entropie.document.measured import BitsInterval, ShareInterval
from entropie.document.verdict import Verdict
from entropie.errors import InvalidInput, printable
from entropie.gate.judge import EXIT_CODES
from entropie.gate.profiles import OWN
from entropie.mitigate.attribute_risk import AttributeRisk, document_of

_RUN = re.compile(r'^entropie_assessment_info\{[^\n]*\brun="([0-9a-f]+)"', re.MULTILINE)
Labels = Mapping[str, str]
Sample = tuple[Labels, float]


@dataclass(frozen=True, slots=True)
class Gauge:
    """One metric family: a name, what it means, and its samples."""

    name: str
    help: str
    samples: tuple[Sample, ...]

    def lines(self) -> list[str]:
        """The family in the text format."""
        return [
            f"# HELP {self.name} {_escaped(self.help, quotes=False)}",
            f"# TYPE {self.name} gauge",
            *(f"{self.name}{_labels(labels)} {_value(value)}" for labels, value in self.samples),
        ]


def exposition(document: dict[str, Any]) -> str:
    """The text format of all gauges of an assessment's plain document."""
    return "\n".join(line for gauge in _gauges(document_of(document)) for line in gauge.lines()) + "\n"


def write_metrics(path: str | os.PathLike[str], document: dict[str, Any]) -> None:
    """Write the gauges; a scraper sees the old file or the new one, never half of it."""
    write_file(path, exposition(document))


def is_about(path: str | os.PathLike[str], document: dict[str, Any]) -> bool:
    """Whether a file of gauges is of the run that made this document; also where it is no file of ours, or gone."""
    with contextlib.suppress(OSError, ValueError):
        found = _RUN.search(Path(path).read_text(encoding="utf-8"))
        return found is None or found[1] == document["provenance"]["run"]
    return True


def _gauges(document: Document | AttributeRisk) -> Iterable[Gauge]:
    """What both kinds have in common, with what is of one kind alone."""
    risk, exposed, chance = _risks(document)
    yield _info(document)
    yield Gauge(
        "entropie_identification_risk_ratio",
        "Share of people the strongest attack re-identifies, with the ends of its 95 % interval.",
        _bounds(risk),
    )
    yield Gauge(
        "entropie_most_exposed_risk_ratio",
        "Share re-identified among the most exposed people an attack can pick out, with its 95 % interval.",
        _bounds(exposed),
    )
    yield _plain("entropie_guessing_risk_ratio", "Share of people re-identified by chance.", chance)
    yield from _of_events(document) if isinstance(document, Document) else _of_table(document)
    yield _plain("entropie_name_bits", "What it takes to single out one of the people.", document.name_bits)
    if document.verdict is not None:
        yield from _verdict_gauges(document.verdict)
    yield _plain(
        "entropie_assessment_timestamp_seconds",
        "When the assessment was made, in seconds since 1970.",
        document.provenance.date.timestamp(),
    )
    yield _plain(
        "entropie_assessment_duration_seconds",
        "How long the assessment took.",
        document.provenance.seconds,
    )
    if document.review is not None:
        yield _plain(
            "entropie_review_timestamp_seconds",
            "When the assessment is to be reviewed, in seconds since 1970.",
            _midnight(document.review.date),
        )


def _risks(document: Document | AttributeRisk) -> tuple[ShareInterval, ShareInterval, float]:
    """The risk on average, that of the most exposed, and that by chance."""
    if isinstance(document, Document):
        return document.headline.risk, document.headline.most_exposed.right, 1.0 - document.guessing_error
    return document.exposed[-1].reidentified, document.exposed[0].reidentified, document.guessing_success


def _of_events(document: Document) -> Iterable[Gauge]:
    bits = document.best.pse_bits
    yield Gauge(
        "entropie_score_information_bits",
        "What the strongest attack's scores say about who a person is (PSE), with the ends of its 95 % interval; no "
        "more than the data can show.",
        _bounds(bits.shown),
    )
    yield _plain(
        "entropie_score_information_lower_bound",
        "1 where the scores say more than the data can show: the bits are then a lower bound. 0 elsewhere.",
        float(bits.over),
    )
    yield _plain(
        "entropie_event_information_bits",
        "What one event says about who a person is (PIE), exact for these data.",
        document.pie_bits,
    )
    yield _plain("entropie_people", "Number of people attacked.", document.users)
    yield _plain("entropie_items", "Number of items attacked.", document.items)
    yield _plain("entropie_events", "Number of events attacked.", document.events)


def _of_table(document: AttributeRisk) -> Iterable[Gauge]:
    yield _plain(
        "entropie_column_information_bits",
        "What all columns named say about who a person is, exact for these people.",
        document.together.bits,
    )
    yield _plain(
        "entropie_unique_ratio", "Share of people who share their values with nobody.", document.together.unique_share
    )
    yield _plain(
        "entropie_smallest_group",
        "People in the smallest group that shares its values.",
        document.together.smallest_group,
    )
    yield _plain("entropie_people", "Number of people in the table.", document.people)
    yield _plain("entropie_columns", "Number of columns that an attacker may know.", len(document.columns))


def _verdict_gauges(verdict: Verdict) -> Iterable[Gauge]:
    labels = {"profile": verdict.profile.name, "measure": verdict.measure}
    if verdict.profile.name == OWN:
        labels["limit_name"] = verdict.profile.title
    yield Gauge("entropie_limit_ratio", "The limit the risk is held against.", ((labels, verdict.limit),))
    yield Gauge(
        "entropie_judged_risk_ratio",
        "The risk held against the limit, times the declared probability of an attempt, with its 95 % interval.",
        _bounds(verdict.judged_risk, labels),
    )
    yield Gauge(
        "entropie_verdict",
        "1 for the decision that was made, 0 for the others.",
        tuple(({**labels, "decision": name}, float(name == verdict.decision)) for name in EXIT_CODES),
    )
    yield Gauge(
        "entropie_verdict_limits",
        "What narrows the assessment; with any of them a PASS is a limited one.",
        ((labels, float(len(verdict.limits))),),
    )
    yield Gauge("entropie_waived", "1 while a waiver holds, 0 without one.", ((labels, float(verdict.waived)),))
    if verdict.waiver is not None:
        yield Gauge(
            "entropie_waiver_expiry_timestamp_seconds",
            "The end of the waiver's last day, in seconds since 1970.",
            ((labels, _midnight(verdict.waiver.expires) + 86_400.0),),
        )


def _info(document: Document | AttributeRisk) -> Gauge:
    labels = {
        "version": document.provenance.version,
        "run": document.provenance.run,
        "matcher": document.best.matcher if isinstance(document, Document) else "columns",
        "source": (document.input.source if isinstance(document, Document) else document.input.name) or "",
        "input_sha256": document.input.sha256 or "",
    }
    return Gauge("entropie_assessment_info", "What was assessed, and by what.", ((labels, 1.0),))


def _plain(name: str, text: str, value: float) -> Gauge:
    return Gauge(name, text, (({}, value),))


def _bounds(ends: ShareInterval | BitsInterval, labels: Labels | None = None) -> tuple[Sample, ...]:
    return tuple(({**(labels or {}), "bound": name}, getattr(ends, name)) for name in ("value", "low", "high"))


def _midnight(day: datetime.date) -> float:
    return datetime.datetime.combine(day, datetime.time(), datetime.UTC).timestamp()


def _labels(labels: Labels) -> str:
    pairs = ",".join(f'{name}="{_escaped(value, quotes=True)}"' for name, value in labels.items())
    return f"{{{pairs}}}" if pairs else ""


def _escaped(text: str, *, quotes: bool) -> str:
    """Backslash, line feed and, inside labels, the quote; other controls and turns of direction are spelled out."""
    text = "\\n".join(printable(line).replace("\\", "\\\\") for line in text.split("\n"))
    return text.replace('"', '\\"') if quotes else text


def _value(number: float) -> str:
    if not math.isfinite(number):
        raise InvalidInput(f"A metric must be a finite number, got {number!r} instead; check the assessment.")
    return repr(float(number))
