"""Real assessments for the report, and changes of them; all of them keep to the document's types."""

from __future__ import annotations

from typing import Any

from real_documents import PEOPLE, real

from entropie.attack.matchers import MATCHERS as MATCHERS_OF_THE_PACKAGE
from entropie.gate.judge import Gate
from entropie.gate.waiver import Waiver
from entropie.measures.intervals import share_interval
from entropie.request import About, Limits

MATCHERS = ("--matcher", "visit", "--matcher", "bayes", "--known-events", "1", "--known-events", "5")
EVERYTHING = (*MATCHERS, "--protect", "0.8", "--window", "4d", "--min-events", "5")
ABOUT = About("Bus study", "City of Example", "A. Analyst", "planning of bus lines", "a university", "2026-10")
DECLARED = {"attacker": "a business partner", "population": 8_400_000, "context": "a data room"}
LIMITS: dict[str, dict[str, Any]] = {
    "PASS": {"limit": 0.97, "limit_name": "house rule", "fail_on": "average"},
    "PASS (limited)": {"limit": 0.97, "limit_name": "house rule", "fail_on": "average"},
    "FAIL": {"profile": "ema"},
    "INCONCLUSIVE": {"limit": 0.6, "limit_name": "house rule", "fail_on": "average"},
}


def around(value: float, half: float) -> dict[str, float]:
    return {"value": value, "low": max(0.0, value - half), "high": min(1.0, value + half)}


def plain() -> dict[str, Any]:
    """What `assess` alone writes."""
    return fixed(real(*MATCHERS))


def full(decision: str = "FAIL", waiver: Waiver | None = None, **limits: Any) -> dict[str, Any]:
    """Everything that can be asked for, judged."""
    gate = Gate.of(Limits(**(limits or {**LIMITS[decision], **DECLARED})))
    document = risky({**fixed(real(*EVERYTHING)), "about": ABOUT.to_json()})
    if decision == "PASS":
        document = by_all_matchers(document)
    judged = Gate(gate.profile, gate.measure, gate.declared, waiver).applied(document)
    assert limits or judged["verdict"]["decision"] == decision
    return judged


def risky(document: dict[str, Any], average: float = 0.5, worst: float = 0.9) -> dict[str, Any]:
    """With shares of one's choice: all attackers re-identify as many people, and as many of the 20 most exposed."""
    for row in document["attackers"]:
        people, share = row["targets"], average
        row["reidentified"] = interval(share, people)
        row["tail"] = [
            {"share": 20 / people, "people": 20, "reidentified": interval(worst, 20)},
            {"share": 1.0, "people": people, "reidentified": interval(share, people)},
        ]
        row["look_alikes"] = None
    return document


def by_all_matchers(document: dict[str, Any]) -> dict[str, Any]:
    """As if no matcher had been left out."""
    missing = [name for name in MATCHERS_OF_THE_PACKAGE if name not in {one["matcher"] for one in document["attacks"]}]
    more = [{**document["attacks"][0], "matcher": name} for name in missing]
    return {**document, "attacks": [*document["attacks"], *more]}


def interval(share: float, people: int) -> dict[str, float]:
    return share_interval(share, people).to_json()


def rejudged(document: dict[str, Any], **limits: Any) -> dict[str, Any]:
    """The same held against a limit once more, after a change."""
    return Gate.of(Limits(**limits)).applied(document)


def fixed(document: dict[str, Any]) -> dict[str, Any]:
    """Without what differs from run to run."""
    document["provenance"] |= {"date": "2026-11-16T10:30:00+00:00", "seconds": 71.6, "command": "entropie assess x"}
    document["input"]["source"] = "data/checkins.csv"
    document["review"] = {"date": "2027-11-16"}
    for attack in (*document["attacks"], *document["attackers"]):
        attack["seconds"] = 1.0
    assert document["users"] == PEOPLE
    return document


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
    document = full()
    for item in document["identifying_items"]["shown"]:
        item["item"] = payload
    document["input"] |= {
        "source": payload,
        "time_format": payload,
        "dropped": {payload: 3},
        "columns": {payload: {"column": payload, "how": payload}},
    }
    document["provenance"] |= {"command": payload, "version": payload}
    document["about"] = dict.fromkeys(document["about"], payload)
    document["declared"] |= {"attacker": payload, "context": payload}
    verdict = document["verdict"]
    verdict |= {"sentence": payload, "headline": payload, "whom": payload, "rests_on": [payload, payload]}
    verdict["profile"] |= {"name": payload, "title": payload, "source": payload, "note": payload}
    verdict["waiver"] = {
        "reason": payload, "expires": "2027-01-31", "granted_by": payload, "applies": True, "reason_without_effect": None
    }  # fmt: skip
    document["windows"][1] |= {"identification_error": None, "pse_bits": None, "matcher": None, "reason": payload}
    document["protection_goal"] |= {"sentence": payload, "recommendation": payload, "details": payload}
    for row in document["protection"]:
        row |= {"sentence": payload, "sends": payload}
        row["attack"]["matcher"] = payload
        if row["guarantee"]:
            row["guarantee"]["assumes"] = payload
    for named in (*document["attackers"], *document["attacks"], *document["by_known_events"]):
        named["matcher"] = payload
    for named in (document["headline"], document["verdict"]):
        named |= {"attacker": payload, "knows": payload}
    document["verdict"]["limits"] = document["verdict"]["unsettled"] = [payload]
    return document
