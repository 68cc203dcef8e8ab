"""An assessment as a Prometheus text file, for a node exporter's textfile collector or any other scraper.

Gauges only, in base units: shares from 0 to 1 end in `_ratio`, information in `_bits`, times in `_seconds`.
"""

from __future__ import annotations

import datetime
import math
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from entropie.atomic import replacing
from entropie.errors import InvalidInput
from entropie.gate import documents
from entropie.gate.documents import Document
from entropie.gate.profiles import OWN
from entropie.gate.review import assessment_moment
from entropie.gate.verdict import EXIT_CODES
from entropie.measures.intervals import Interval

__all__ = ["exposition", "write_metrics"]

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


def exposition(document: Document) -> str:
    """The text format of all gauges of an assessment's document."""
    return "\n".join(line for gauge in _gauges(document) if gauge.samples for line in gauge.lines()) + "\n"


def write_metrics(path: str | os.PathLike[str], document: Document) -> None:
    """Write the gauges; a scraper sees the old file or the new one, never half of it."""
    text = exposition(document)
    with replacing(path) as hidden:
        hidden.write_text(text, encoding="utf-8", newline="\n")


def _gauges(document: Document) -> Iterable[Gauge]:
    attack = document["attacks"][documents.strongest(document)]
    yield _info(document, attack["matcher"])
    yield Gauge(
        "entropie_identification_risk_ratio",
        "Share of people the strongest attack names rightly, with the ends of its 95 % interval.",
        _bounds(documents.average_risk(document)),
    )
    yield Gauge(
        "entropie_most_exposed_risk_ratio",
        "Share named rightly among the most exposed people an attack can pick out, with its 95 % interval.",
        _bounds(documents.most_exposed(document).right) if documents.tells_most_exposed(document) else (),
    )
    yield _plain(
        "entropie_guessing_risk_ratio",
        "Share of people that guessing names rightly.",
        1.0 - documents.number(document, "guessing_error"),
    )
    yield Gauge(
        "entropie_score_information_bits",
        "What the strongest attack's scores say about who a person is (PSE), with the ends of its 95 % interval; no "
        "more than the data can show.",
        _bounds(documents.score_bits(document).shown),
    )
    yield _plain(
        "entropie_score_information_lower_bound",
        "1 where the scores say more than the data can show: the bits are then a lower bound. 0 elsewhere.",
        float(documents.score_bits(document).over),
    )
    yield _plain(
        "entropie_event_information_bits",
        "What one event says about who a person is (PIE), exact for these data.",
        documents.number(document, "pie_bits"),
    )
    yield _plain(
        "entropie_name_bits", "What it takes to name one of the people.", documents.number(document, "name_bits")
    )
    for name in ("users", "items", "events"):
        shown = "people" if name == "users" else name
        yield _plain(f"entropie_{shown}", f"Number of {shown} attacked.", documents.number(document, name))
    yield from _verdict_gauges(document)
    yield from _time_gauges(document)


def _verdict_gauges(document: Document) -> Iterable[Gauge]:
    verdict = document.get("verdict")
    if verdict is None:
        return
    labels = {"profile": verdict["profile"]["name"], "measure": verdict["measure"]}
    if verdict["profile"]["name"] == OWN:
        labels["limit_name"] = verdict["profile"]["title"]
    yield Gauge("entropie_limit_ratio", "The limit the risk is held against.", ((labels, verdict["limit"]),))
    yield Gauge(
        "entropie_judged_risk_ratio",
        "The risk held against the limit, times the declared probability of an attempt, with its 95 % interval.",
        _bounds(documents.interval(verdict, "combined_risk"), labels),
    )
    yield Gauge(
        "entropie_verdict",
        "1 for the decision that was made, 0 for the others.",
        tuple(({**labels, "decision": name}, float(name == verdict["decision"])) for name in EXIT_CODES),
    )
    waiver = verdict["waiver"]
    applies = waiver is not None and waiver["applies"]
    yield Gauge("entropie_waived", "1 while a waiver holds, 0 without one.", ((labels, float(applies)),))
    if waiver is not None:
        yield Gauge(
            "entropie_waiver_expiry_timestamp_seconds",
            "The end of the waiver's last day, in seconds since 1970.",
            ((labels, _midnight(waiver["expires"]) + 86_400.0),),
        )


def _time_gauges(document: Document) -> Iterable[Gauge]:
    moment = assessment_moment(document)
    if moment is not None:
        yield _plain(
            "entropie_assessment_timestamp_seconds",
            "When the assessment was made, in seconds since 1970.",
            moment.timestamp(),
        )
    yield _plain(
        "entropie_assessment_duration_seconds",
        "How long the assessment took.",
        documents.number(document, "provenance", "seconds"),
    )
    if document.get("review"):
        yield _plain(
            "entropie_review_timestamp_seconds",
            "The day the assessment is to be looked at again, in seconds since 1970.",
            _midnight(document["review"]["date"]),
        )


def _info(document: Document, matcher: str) -> Gauge:
    labels = {
        "version": str(documents.entry(document, "provenance", "version")),
        "matcher": str(matcher),
        "source": str(document["input"].get("source") or ""),
        "input_sha256": str(document["input"].get("sha256") or ""),
    }
    return Gauge("entropie_assessment_info", "Always 1; the labels say what was assessed, and how.", ((labels, 1.0),))


def _plain(name: str, help_text: str, value: float) -> Gauge:
    return Gauge(name, help_text, (({}, value),))


def _bounds(interval: Interval, labels: Labels | None = None) -> tuple[Sample, ...]:
    ends = {"value": interval.value, "low": interval.low, "high": interval.high}
    return tuple(({**(labels or {}), "bound": name}, value) for name, value in ends.items())


def _midnight(day: str) -> float:
    at_midnight = datetime.datetime.combine(datetime.date.fromisoformat(day), datetime.time(), datetime.UTC)
    return at_midnight.timestamp()


def _labels(labels: Labels) -> str:
    pairs = ",".join(f'{name}="{_escaped(value, quotes=True)}"' for name, value in labels.items())
    return f"{{{pairs}}}" if pairs else ""


def _escaped(text: str, *, quotes: bool) -> str:
    """Backslash, line feed and, inside labels, the quote."""
    text = text.replace("\\", "\\\\").replace("\n", "\\n")
    return text.replace('"', '\\"') if quotes else text


def _value(number: float) -> str:
    if not math.isfinite(number):
        raise InvalidInput(f"A metric must be a finite number, got {number!r} instead; check the assessment.")
    return repr(float(number))
