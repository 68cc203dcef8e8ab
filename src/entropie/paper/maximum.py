"""Figure 2: PSE with maximum knowledge, whole traces and 1 to 5 events, and how much of it is the sample's size."""

from __future__ import annotations

import math

from entropie import words
from entropie.paper.attacks import attack_step
from entropie.paper.biometrics import biometric_rows, biometric_steps
from entropie.paper.charts import Rows, Spec, axis, horizontal, lines
from entropie.paper.figure import Results
from entropie.paper.published import BIOMETRIC_BITS, published_bits
from entropie.paper.ratings import FEW_EVENTS, at_hand, in_file_order
from entropie.paper.settings import Settings
from entropie.paper.sources import Kind
from entropie.paper.steps import Step

name = "2"
title = "PSE with maximum knowledge"
claim = (
    "12.5 bits for one check-in, 19.92 for five and 19.96 for whole traces; 3.1, 15.3 and 18.85 for "
    "ratings; fingerprint 19.97, face 11.2, finger vein 23.2."
)
kinds: tuple[Kind, ...] = ("check-ins", "ratings")
shown = (
    "purpose", "data", "matcher", "events", "users", "pse_bits", "pse_low_bits", "pse_high_bits",
    "resolvable_bits", "unmatched_share", "pse_finite_bits", "pse_paper_bits", "pse_paper_wide_bits",
    "published_bits", "error",
)  # fmt: skip

_REAL_RATINGS = "ratings in the order of the file and by time"
EVENTS = ("1", "2", "3", "4", "5", "whole")
_SHRUNK = (4, 16, 64)
"""Parts of the people for whom the attack is run again, to see whether the bits depend on their number."""


def plan(settings: Settings) -> list[tuple[str, Kind, str, str, Step]]:
    """Every attack: what it is for (curve or size), data, matcher, events, step."""
    scale = settings.scale
    everybody = {"check-ins": scale.users, "ratings": scale.raters}
    attacks: list[tuple[str, Kind, str, str, Step]] = []

    def add(purpose: str, kind: Kind, matcher: str, events: str, users: int) -> None:
        few = None if events == "whole" else int(events)
        step = attack_step(kind, matcher, "maximum", users=users, target_events=few)
        attacks.append((purpose, kind, matcher, events, step))

    for kind in kinds:
        for matcher in ("markov", "visit"):
            for events in EVENTS:
                users = min(scale.sampled, everybody[kind]) if events == "whole" else everybody[kind]
                add("curve", kind, matcher, events, users)
        for part in _SHRUNK:
            add("size", kind, "markov", "5", everybody[kind] // part)
        add("size", kind, "markov", "whole", min(scale.sampled, everybody[kind]) // 8)
    return attacks


def steps(settings: Settings) -> list[Step]:
    """All attacks, and the score sets for reference."""
    real = [Step(_REAL_RATINGS, in_file_order, {}, 2.0)] if at_hand() else []
    return [*(step for *_, step in plan(settings)), *biometric_steps(settings), *real]


def data(settings: Settings, results: Results) -> Rows:
    """One row per attack, the published number and the largest resolvable value beside it."""
    rows = []
    for purpose, kind, matcher, events, step in plan(settings):
        found = results[step.name]
        row = {"purpose": purpose, "data": kind, "matcher": matcher, "events": events, **found}
        row["published_bits"] = published_bits(kind, matcher, events) if purpose == "curve" else None
        rows.append(row)
    for name, found in results.get(_REAL_RATINGS, {}).items():
        order, events = name.split()
        row = {"purpose": f"real, by {order}", "data": "ratings", "matcher": "markov", "events": events, **found}
        row["published_bits"] = published_bits("ratings", "markov", events)
        rows.append(row)
    return [*rows, *biometric_rows(settings, results)]


def specs(rows: Rows) -> dict[str, Spec]:
    """Bits against events by estimate, and against the number of people."""
    drawn = []
    for row in rows:
        if row["purpose"] == "curve" and row["matcher"] == "markov":
            for key, name in (
                ("pse_bits", "all pairs"),
                ("pse_paper_bits", "the paper's estimate"),
                ("resolvable_bits", "largest resolvable"),
                ("published_bits", "published"),
            ):
                drawn.append({"events": row["events"], "bits": row[key], "estimate": name, "data": row["data"]})
    x = {
        "field": "events",
        "type": "ordinal",
        "sort": list(EVENTS),
        "axis": {"title": "events attacked", "labelAngle": 0},
    }
    y = axis("bits", "PSE (bits)")
    curves = lines(
        drawn,
        x,
        y,
        "estimate",
        dash="data",
        description="PSE with maximum knowledge against the number of events attacked, by estimate and data.",
        more=horizontal(BIOMETRIC_BITS, y),
    )
    by_size = [
        {"people": row["users"], "bits": row[key], "estimate": name, "data": row["data"]}
        for row in rows
        if row["purpose"] in ("curve", "size") and row["matcher"] == "markov" and row["events"] == "5"
        for key, name in (
            ("pse_bits", "all pairs"),
            ("pse_paper_bits", "the paper's estimate"),
        )
    ]
    by_size += [{**row, "bits": math.log2(row["people"]), "estimate": "log2 of the people"} for row in by_size[::2]]
    sizes = lines(
        sorted(by_size, key=lambda row: row["people"]),
        axis("people", "people", log=True),
        y,
        "estimate",
        dash="data",
        description="PSE of five events against the number of people, by estimate, beside its logarithm.",
    )
    return {"": curves, "-people": sizes}


def findings(rows: Rows) -> list[str]:
    """How far the number of people or noise sets the bits, what they are, and what is not reproduced."""
    slopes = {kind: _slope(rows, kind) for kind in kinds}
    growth = " and ".join(f"{slope:.2f} ({kind})" for kind, slope in slopes.items())
    return [
        f"The paper's estimate for whole traces grows by {growth} bits per doubling of people: it measures the sample.",
        *(line for kind in kinds for line in _of_kind(rows, kind)),
        "Published for whole traces: 19.96 bits, 0.4 below log2 of its people (check-ins); 18.85, 1.4 above (ratings).",
        (
            "One event scores the same for all who have it: its PSE is -log2 of the chance that two people share it. "
            "The simulation was fitted to the published value for check-ins, not for ratings."
        ),
        *_order(rows),
    ]


def _slope(rows: Rows, kind: str) -> float:
    """Bits of the paper's estimate per doubling of the people, for whole traces."""
    few, many = (_row(rows, kind, purpose, "whole") for purpose in ("size", "curve"))
    return (many["pse_paper_bits"] - few["pse_paper_bits"]) / math.log2(many["users"] / few["users"])


def _of_kind(rows: Rows, kind: str) -> list[str]:
    """Markov on one kind of data: one event, whole traces, and five events by the paper's estimate."""
    one, five, whole = (_row(rows, kind, "curve", events) for events in ("1", "5", "whole"))
    name = kind.capitalize()
    return [
        (
            f"{name}, one event, {one['users']:,} people: {words.bits(one['pse_bits'])} bits (published "
            f"{words.bits(one['published_bits'])})."
        ),
        (
            f"{name}, whole traces, {whole['users']:,} people: at least {words.bits(whole['pse_bits'])} bits "
            f"(published {words.bits(whole['published_bits'])}); {words.percent(whole['unmatched_share'])} of them "
            f"have no impostor beside them, up to {whole['resolvable_bits']:.0f} bits can be resolved."
        ),
        (
            f"{name}, the paper's estimate: {words.bits(whole['pse_paper_bits'])} bits for whole traces (log2 of the "
            f"people: {words.bits(math.log2(whole['users']))}), {five['pse_paper_bits']:.0f} for five events "
            f"(log2: {words.bits(math.log2(five['users']))}), {five['pse_paper_wide_bits']:.0f} with ten "
            "times the noise that breaks ties."
        ),
    ]


def _order(rows: Rows) -> list[str]:
    """Real ratings in the order of the file meet the published values; by time they do not."""
    real = {
        order: [row for row in rows if row["purpose"] == f"real, by {order}"][: len(FEW_EVENTS)]
        for order in ("file", "time")
    }
    if not real["file"]:
        return []
    bits = {order: ", ".join(words.bits(row["pse_bits"]) for row in found) for order, found in real.items()}
    published = ", ".join(words.bits(row["published_bits"]) for row in real["file"])
    return [
        (
            f"Real ratings, one to five events, {real['file'][0]['users']:,} people of MovieLens latest-small: "
            f"{bits['file']} bits in file order, {bits['time']} by time (published: {published}). The published "
            "histories seem to be in file order, where most begin with the same few films."
        )
    ]


def _row(rows: Rows, kind: str, purpose: str, events: str) -> dict[str, float]:
    return next(
        row
        for row in rows
        if (row["purpose"], row["data"], row["matcher"], row["events"]) == (purpose, kind, "markov", events)
    )
