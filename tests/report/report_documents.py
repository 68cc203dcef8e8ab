"""Made-up assessments with every part a real one may have; the numbers are invented but fit together."""

from __future__ import annotations

import copy
import itertools
import math
from statistics import NormalDist
from typing import Any

NORMAL = NormalDist()
USERS, ITEMS, EVENTS = 1511, 3628, 98466
MATCHERS = {"markov": 0.628, "visit": 0.499, "tfidf": 0.516, "cosine": 0.559, "bayes": 0.474, "pitman_yor": 0.4298}


def around(value: float, half: float) -> dict[str, float]:
    return {"value": value, "low": max(0.0, value - half), "high": min(1.0, value + half)}


def bits_around(value: float, half: float) -> dict[str, float]:
    return {
        "value": value,
        "low": value - half,
        "high": value + half,
        "resolvable": 17.8,
        "unmatched_genuine_share": 0.1059,
    }


def det(equal: float) -> list[list[float]]:
    shift = -2.0 * NORMAL.inv_cdf(equal)
    points = [[1.0, 0.0]]
    for step in range(60):
        far = 10.0 ** (-step / 10.0 - 0.05)
        points.append([far, NORMAL.cdf(NORMAL.inv_cdf(1.0 - far) - shift)])
    return [*points, [0.0, 1.0]]


def laws(equal: float) -> dict[str, list[float]]:
    shift = -2.0 * NORMAL.inv_cdf(equal)
    edges = [-4.0 + 0.25 * step for step in range(41)]

    def shares(mean: float) -> list[float]:
        inside = [NORMAL.cdf(b - mean) - NORMAL.cdf(a - mean) for a, b in itertools.pairwise(edges)]
        return [share / sum(inside) for share in inside]

    return {"edges": edges, "genuine": shares(shift), "impostor": shares(0.0)}


def attack(matcher: str, error: float) -> dict[str, Any]:
    equal = 0.22 * error
    ranks = sorted({round(10 ** (step / 8.0)) for step in range(26)} | {USERS})
    ranks = [k for k in ranks if k <= USERS]

    def within(k: int) -> float:
        return 1.0 - error * (1.0 - math.log(k) / math.log(USERS))

    def group(number: int) -> dict[str, Any]:
        share = (1.0 - error) * 2.0 * (1.0 - (number + 0.5) / 10.0)
        return {
            "from": number / 10.0,
            "to": (number + 1) / 10.0,
            "people": 151,
            "right": around(min(0.96, share), 0.04),
        }

    return {
        "matcher": matcher,
        "knowledge": "partial",
        "users": USERS,
        "targets": USERS,
        "impostors": USERS * (USERS - 1),
        "identification_error": around(error, 0.025),
        "guessing_error": 1.0 - 1.0 / USERS,
        "lift": (1.0 - error) * USERS,
        "top_k": [
            {
                "k": k,
                "error": 1.0 - within(k),
                "low": max(0.0, 1.0 - within(k) - 0.025),
                "high": min(1.0, 1.0 - within(k) + 0.025),
            }
            for k in (1, 2, 5, 10, 20, 50, 100)
        ],
        "pse_bits": bits_around(11.0 - 9.0 * error, 0.3),
        "pse_finite_bits": around(0.9, 0.05) | {"value": 6.9, "low": 6.7, "high": 7.1},
        "pse_paper_bits": {"value": 6.1, "jitter": 0.0001, "seed": 0},
        "equal_error_rate": {
            **around(equal, 0.009),
            "far": equal + 0.0004,
            "frr": equal - 0.0004,
            "interpolated": equal,
        },
        "det": det(equal),
        "frr_at_far": [
            {"far": 0.01, "frr": 0.353, "low": 0.329, "high": 0.378},
            {"far": 0.001, "frr": 0.571, "low": 0.546, "high": 0.596},
            {"far": 0.0001, "frr": None, "low": None, "high": None},
        ],
        "laws": laws(equal),
        "rank_curve": [[k, within(k)] for k in ranks],
        "exposure": {
            "groups": [group(number) for number in range(10)],
            "most_exposed": {"share": 0.1, "people": 151, "right": group(0)["right"]},
        },
        "null_baseline": {
            "identification_error": around(0.9987, 0.001),
            "pse_bits": bits_around(0.01, 0.02) | {"unmatched_genuine_share": 0.0},
            "pse_finite_bits": {"value": 0.01, "low": -0.02, "high": 0.03},
            "equal_error_rate": {
                **around(0.499, 0.01),
                "far": 0.499,
                "frr": 0.499,
                "interpolated": 0.499,
            },
        },
        "seconds": 0.81,
    }


def bare() -> dict[str, Any]:
    """An assessment from before there were verdicts, protection and pictures."""
    document = plain()
    for key in ("by_known_events", "attacker_levels", "identifying_items", "declared", "review", "windows"):
        document.pop(key, None)
    for one in document["attacks"]:
        for key in ("laws", "rank_curve", "exposure"):
            del one[key]
    document["provenance"].pop("date")
    return document


def plain() -> dict[str, Any]:
    """What `assess` alone writes."""
    attacks = [attack(matcher, error) for matcher, error in MATCHERS.items()]
    strongest = 5
    return {
        "schema": "entropie.assessment/1",
        "input": {
            "source": "data/checkins.parquet",
            "sha256": "8d3dce87d52915f739fe1e547dcca214a7072453cee03cdfdeda64949eed3366",
            "rows": 106012,
            "events": 105961,
            "users": 3785,
            "items": 3628,
            "dropped": {"the time is missing": 12, "rating below the minimum": 39},
            "duplicates": 3,
            "columns": {
                "user": {"column": "user", "how": "given"},
                "item": {"column": "venue", "how": "guessed"},
                "time": {"column": "time", "how": "given"},
            },
            "time_format": "integer",
            "order_only": False,
            "min_events": 10,
            "dropped_users": 2274,
            "dropped_events": 7495,
        },
        "split": {
            "rule": "halves",
            "knowledge": "partial",
            "train_events": None,
            "target_events": None,
            "dropped_users": 0,
            "converge": False,
        },
        "users": USERS,
        "items": ITEMS,
        "events": EVENTS,
        "attacks": attacks,
        "guessing_error": 1.0 - 1.0 / USERS,
        "name_bits": math.log2(USERS),
        "pie_bits": 6.91,
        "pie_null_bits": 5.81,
        "strongest": strongest,
        "headline": {
            "matcher": "pitman_yor",
            "identification_error": around(0.4298, 0.0335),
            "chosen_among": 6,
            "null_identification_error": 0.99868,
        },
        "by_known_events": [
            {
                "train_events": known,
                "matcher": "pitman_yor",
                "identification_error": around(error, 0.025),
                "pse_bits": bits_around(2.0 + 6.0 * (1 - error), 0.3),
            }
            for known, error in ((1, 0.86), (2, 0.78), (5, 0.64), (10, 0.55), (20, 0.48), (None, 0.4298))
        ],
        "attacker_levels": [
            {
                "level": "weak",
                "knows": "One earlier event of each person.",
                "matcher": "bayes",
                "identification_error": around(0.86, 0.018),
            },
            {
                "level": "medium",
                "knows": "The first half of each person's events.",
                "matcher": "pitman_yor",
                "identification_error": around(0.4298, 0.025),
            },
            {
                "level": "strong",
                "knows": "The very events that are attacked.",
                "matcher": "markov",
                "identification_error": around(0.012, 0.006),
            },
        ],
        "identifying_items": {
            "smallest_group": 10,
            "shown": [
                {
                    "item": f"{name}",
                    "people": 410 - 17 * number,
                    "share_of_events": 0.012 - 0.0005 * number,
                    "bits": 0.0461 - 0.002 * number,
                }
                for number, name in enumerate(
                    ("Grand Central", "Penn Station", "Union Square", "Office, 5th floor", "Café ≤ 3 €", "2nd Ave Deli")
                )
            ],
            "rare": {"items": 2950, "share_of_events": 0.412, "bits": 4.31},
            "other": {"items": 672, "share_of_events": 0.531, "bits": 2.35},
        },
        "convergence": None,
        "protection": [],
        "verdict": None,
        "provenance": {
            "version": "0.1.0",
            "python": "3.11.7",
            "command": "entropie assess data/checkins.parquet --user user --item venue --time time",
            "seed": 0,
            "replicates": 1000,
            "seconds": 71.6,
            "date": "2026-11-16T09:30:00+00:00",
        },
    }


def full(decision: str = "FAIL") -> dict[str, Any]:
    """Everything: verdict, declared context, protection, frontier, windows."""
    document = plain()
    limit = {"FAIL": 0.09, "PASS": 0.75, "INCONCLUSIVE": 0.56}[decision]
    document["declared"] = {
        "attacker": "A journalist with a season of public check-ins.",
        "population": 8400000,
        "context": "Shared with a university under contract.",
        "attempt_probability": 0.95,
    }
    document["verdict"] = {
        "decision": decision,
        "profile": {
            "name": "ema",
            "title": "EMA Policy 0070 and Health Canada",
            "limit": limit,
            "speaks_of": "maximum",
            "source": "European Medicines Agency, External guidance on Policy 0070, 2018.",
        },
        "measure": "average",
        "measured_risk": around(0.5702, 0.0335),
        "attempt_probability": 0.95,
        "judged_risk": around(0.5417, 0.0318),
        "limit": limit,
        "sentence": f"The combined risk of 54.2 % is judged against the limit of {limit:.2f}.",
        "waiver": {
            "reason": "Pilot with consenting staff.",
            "expires": "2027-03-31",
            "granted_by": "M. Okafor",
            "applies": True,
        }
        if decision == "FAIL"
        else None,
    }
    document["review"] = {"date": "2027-11-16"}
    document["protection_goal"] = {
        "bayes_error": 0.9,
        "pie_bits": 6.91,
        "noise_needed": True,
        "sentence": "Noise is needed: one event alone carries 6.91 bits of the 10.56 that name anyone.",
    }
    document["protection"] = protection()
    document["frontier"] = [
        {
            "mechanism": mechanism,
            "bayes_error": wanted,
            "attack_error": around(wanted + 0.02 * (1 - wanted) * (3 - scale), 0.012),
            "relative_error_top_20": scale * 0.02 * wanted / (1.002 - wanted),
            "epsilon": 9.0 - 6.0 * wanted,
            "hash_size": None if mechanism == "rr" else 512,
            "recommended": mechanism == "glh" and wanted == 0.9,
        }
        for mechanism, scale in (("rr", 1.6), ("glh", 1.0))
        for wanted in (0.5, 0.7, 0.8, 0.9, 0.95, 0.99)
    ]
    document["windows"] = [
        {
            "from": f"2012-{month:02d}-01",
            "to": f"2012-{month:02d}-28",
            "users": 900 + 31 * month,
            "events": 12000 + 217 * month,
            "matcher": "pitman_yor",
            "identification_error": around(0.5 - 0.01 * month, 0.03),
            "pse_bits": bits_around(6.5 + 0.12 * month, 0.35),
        }
        for month in range(4, 10)
    ]
    return document


def current(decision: str = "FAIL") -> dict[str, Any]:
    """The full document with what later versions write beside it."""
    document = full(decision)
    document["headline"]["most_exposed"] = {
        "matcher": "bayes",
        "share": 0.1,
        "people": 151,
        "right": around(0.953, 0.03),
    }
    document["input"]["obfuscated"] = False
    for row in (*document["by_known_events"], *document["attacker_levels"]):
        row["matchers_tried"] = 6
    for place, item in enumerate(document["identifying_items"]["shown"]):
        item["bits_per_event"] = 8.82 - 0.11 * place
    document["verdict"]["people_needed"] = 10431 if decision == "INCONCLUSIVE" else None
    if document["verdict"]["waiver"] is not None:
        document["verdict"]["waiver"]["reason_without_effect"] = None
    document["protection"][2]["guarantee"] |= {"list_size": 10, "list_error": 0.887}
    for place, row in enumerate(document["protection"]):
        row |= {"sends": "one event per person", "events_sent": USERS}
        if place == 0:
            row |= {"sends": "every event", "events_sent": 48871}
    document["protection_goal"]["recommendation"] = "local hashing, because 10 guesses name few people."
    for window in document["windows"]:
        window |= {"complete": True, "reason": None}
    return document


def with_small_windows(*, attacked: int = 2, hours: bool = False) -> dict[str, Any]:
    """Windows of which only the first ones, and the last where there are three or more, have enough people."""
    document = full()
    hourly = [(f"2023-11-15T{hour:02d}:00Z", f"2023-11-15T{hour + 6:02d}:00Z") for hour in (0, 6, 12)]
    hourly.append(("2023-11-15T18:00Z", "2023-11-16T00:00Z"))
    for place, window in enumerate(document["windows"][:4]):
        if hours:
            window["from"], window["to"] = hourly[place]
        small = place >= attacked and not (attacked >= 2 and place == 3)
        window |= {"complete": place < 3, "reason": None}
        if small:
            reason = "8 people have 10 events or more in this window, 30 are needed."
            window |= {"users": 8, "identification_error": None, "pse_bits": None, "matcher": None, "reason": reason}
    del document["windows"][4:]
    return document


def protection() -> list[dict[str, Any]]:
    def row(name: str, error: float, top: float | None, **more: Any) -> dict[str, Any]:
        utility = None
        if top is not None:
            utility = {
                "top_20": {"relative_error": top, "low": top * 0.9, "high": top * 1.1},
                "top_100": {"relative_error": 8.5 * top},
                "distribution": {"l2": 0.00123 * (1 + top), "l1": 0.31 * top},
            }
        return {
            "name": name,
            "mechanism": None,
            "reports_per_user": 1,
            "guarantee": None,
            "attack": {"matcher": "bayes", "identification_error": around(error, 0.012), "pse_bits": None},
            "utility": utility,
            "recommended": False,
            "sentence": f"{name}: the attack errs for {error:.1%} of people.",
            **more,
        }

    assumes = "every person sends one report and the attacker knows everything but who sent it"
    return [
        row("as it is", 0.4298, 0.0),
        row("pseudonyms alone", 0.871, 0.0),
        row(
            "randomized response",
            0.93,
            0.41,
            mechanism={
                "kind": "rr",
                "domain_size": ITEMS,
                "hash_size": None,
                "prime": None,
                "epsilon": 5.912,
                "theta": 0.0927,
            },
            guarantee={"bayes_error": 0.9, "alpha_bits": 0.873, "assumes": assumes},
        ),
        row(
            "local hashing",
            0.921,
            0.22,
            mechanism={
                "kind": "glh",
                "domain_size": ITEMS,
                "hash_size": 512,
                "prime": 3631,
                "epsilon": 4.2,
                "theta": 0.113,
            },
            guarantee={
                "bayes_error": 0.9,
                "alpha_bits": 0.851,
                "list_size": 10,
                "list_error": 0.512,
                "assumes": assumes,
            },
            recommended=True,
        ),
    ]


PAYLOADS = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "'\"><svg onload=alert(1)>",
    "</script><script>alert(1)</script>",
    "<!--<script>",
    "]]><script>alert(1)</script>",
    "{{ 7*7 }}{% raw %}",
    "javascript:alert(1)",
    "<a href=javascript:alert(1)>x</a>",
    "<iframe srcdoc='<script>parent.alert(1)</script>'>",
    "</style><style>body{display:none}</style>",
    "</title><h1>taken</h1>",
    "<base href=http://127.0.0.1:9/>",
    "<meta http-equiv=refresh content='0;url=http://127.0.0.1:9/'>",
    "<link rel=stylesheet href=http://127.0.0.1:9/x.css>",
    "<img src=http://127.0.0.1:9/x.png>",
    "<svg><image href='http://127.0.0.1:9/x.png'/></svg>",
    "<math><mtext></mtext><mglyph><svg><mtext><style><path id='</style><img onerror=alert(1) src>'>",
    "\u202egnp.exe",
    "\u2028alert(1)\u2029",
    "\x00<script\x00>alert(1)</script>",
    "\ud800 lone",
    '=HYPERLINK("http://127.0.0.1:9/")',
    "x" * 5000,
)


def hostile(payload: str) -> dict[str, Any]:
    """The full document with `payload` wherever somebody else's text may stand."""
    document = copy.deepcopy(current())
    for item in document["identifying_items"]["shown"]:
        item["item"] = payload
    document["input"]["source"] = payload
    document["input"]["time_format"] = payload
    document["input"]["dropped"] = {payload: 3}
    document["input"]["columns"] = {payload: {"column": payload, "how": payload}}
    document["provenance"]["command"] = payload
    document["provenance"]["version"] = payload
    document["declared"].update(attacker=payload, context=payload)
    document["verdict"].update(sentence=payload)
    document["verdict"]["profile"].update(name=payload, title=payload, source=payload, speaks_of=payload)
    document["verdict"]["waiver"].update(reason=payload, granted_by=payload)
    document["windows"][2] |= {"identification_error": None, "pse_bits": None, "matcher": None, "reason": payload}
    document["protection_goal"].update(sentence=payload, recommendation=payload)
    for row in document["protection"]:
        row.update(name=payload, sentence=payload, sends=payload)
        row["attack"]["matcher"] = payload
        if row["guarantee"]:
            row["guarantee"]["assumes"] = payload
    for level in document["attacker_levels"]:
        level.update(level=payload, knows=payload, matcher=payload)
    for one in document["attacks"]:
        one.update(matcher=payload)
    for point in document["by_known_events"]:
        point.update(matcher=payload)
    for point in document["frontier"]:
        point.update(mechanism=payload)
    document["headline"]["matcher"] = payload
    return document
