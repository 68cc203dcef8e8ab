"""The test vectors that every client passes: made here by the package, committed in clients/vectors.json.

`UPDATE_VECTORS=1 pytest tests/collector/test_client_vectors.py` writes them anew; a difference that nobody wanted is a
client that draws otherwise than the collector counts.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import collector_made as made

from entropie.collector import device, stream
from entropie.collector.document import Collection

FILE = Path(__file__).resolve().parents[2] / "clients" / "vectors.json"
NAMES = ("tea", "Café", "Cafe\u0301", "東京", "\U0001f600", "a\u200bb", " ", "x" * 300)
VALUES: tuple[Any, ...] = (
    {"b": 1, "a": [True, None, ""], "\u00e9": "\u007f", "Z": "\U0001f600", "\uffff": 0, "\U00010000": 1},
    {"text": 'quote " back \\ slash / tab \t line \n feed \f back \b null \x00 escape \x1b'},
    {"numbers": [0, -1, 2**53 - 1, -(2**53 - 1)], "text": str(2**64)},
    [],
    {},
)


def collections() -> dict[str, Collection]:
    """Both mechanisms, from two answers to 2^40, one report and several, names and open domains, all edges of theta."""
    drinks, places = made.drinks(), made.places()
    mechanism = json.loads(drinks.canonical)["mechanism"]

    def truth(numerator: int) -> Collection:
        return made.fixed(drinks, mechanism={**mechanism, "theta_numerator": str(numerator)})

    return {
        "drinks": drinks,
        "places": places,
        "two": made.drinks(items=2, epsilon=1.0),
        "one function": made.places(pool=1),
        "odd pool": made.places(pool=1000),
        "large": made.places(size=2**40, hash_size=100_003, epsilon=9.0),
        "wide": made.places(size=50, hash_size=1000, epsilon=4.0),
        "several": made.fixed(drinks, reports_per_person="5"),
        "several hashed": made.fixed(places, reports_per_person="3"),
        "few people": made.fixed(drinks, people="3"),
        "one person": made.fixed(drinks, people="1"),
        "many people": made.fixed(places, people=str(10**12)),
        "no truth": truth(0),
        "little truth": truth(1),
        "nearly all truth": truth(2**64 - 1),
        "all truth": truth(2**64),
        "names": made.fixed(
            drinks, items=["<img src=x onerror=alert(1)>", "Café", "\u202egnp.exe", "東京 \U0001f600", '"\\\t']
        ),
    }


def bytes_of(name: str, size: int) -> bytes:
    """Bytes that everybody can make again."""
    blocks = (hashlib.sha256(f"{name} {block}".encode()).digest() for block in range(size // 32 + 1))
    return b"".join(blocks)[:size]


def drawn(name: str, collection: Collection) -> list[dict[str, str]]:
    """Streams and records: some random, and the two extremes of every draw."""
    size, found = collection.device.domain_size, []
    for place in range(6):
        code = (0, size - 1, size // 2, 1, size // 3, size - 2)[place]
        content = bytes_of(f"{name} {place}", 400)
        if place == 4:
            content = bytes(400)  # the smallest of everything
        if place == 5:
            content = b"\xff" * 40 + content  # the largest, often rejected
        read = stream.from_bytes(content)
        record = device.report(collection, code, read)
        left = _left(read)
        found.append({"code": str(code), "stream": content[: len(content) - left].hex(), "record": record.hex()})
    return found


def _left(read: stream.Stream) -> int:
    """How many bytes a draw has left over: they are cut off, so that reading one more byte is an error."""
    left = 0
    try:
        while read.take(1):
            left += 1
    except EOFError:
        return left
    return left


def guaranteed(collection: Collection) -> dict[str, float | None]:
    """What the package guarantees; null where epsilon is infinite."""
    held = collection.guarantee_for(collection.users).to_json()
    return {
        "theta": held["mechanism"]["theta"],
        "epsilon": held["mechanism"]["epsilon"],
        "alone_error": held["bayes_error"],
        "alone_certainty": held["posterior_max"],
        "all_error": held["all_reports"]["bayes_error"],
        "all_certainty": held["all_reports"]["posterior_max"],
    }


def refused() -> dict[str, str]:
    """Documents that every client refuses."""
    good = json.loads(made.drinks().canonical)
    hashed = json.loads(made.places().canonical)
    fields = {
        "unknown field": {**good, "more": "1"},
        "missing field": {key: value for key, value in good.items() if key != "limits"},
        "another schema": {**good, "schema": "entropie.parameters"},
        "a later version": {**good, "version": 2},
        "version as text": {**good, "version": "1"},
        "people as number": {**good, "people": 10000},
        "people 0": {**good, "people": "0"},
        "people 10^13": {**good, "people": str(10**13)},
        "leading zero": {**good, "people": "010"},
        "no reports": {**good, "reports_per_person": "0"},
        "closes before it opens": {**good, "closes": "2019-12-31"},
        "no such day": {**good, "closes": "2119-02-29"},
        "day with time": {**good, "closes": "2119-02-28T00:00:00Z"},
        "fewer items": {**good, "items": good["items"][:-1]},
        "an item twice": {**good, "items": [*good["items"][:-1], good["items"][0]]},
        "an item twice in normal form": {**good, "items": [*good["items"][:-2], "Caf\u00e9", "Cafe\u0301"]},
        "an empty item": {**good, "items": [*good["items"][:-1], ""]},
        "a blank item": {**good, "items": [*good["items"][:-1], " \t"]},
        "half a character": {**good, "items": [*good["items"][:-1], "\ud800"]},
        "no title": {**good, "title": ""},
        "a long title": {**good, "title": "x" * 201},
        "short seed": {**good, "seed": good["seed"][1:]},
        "seed in capitals": {**good, "seed": good["seed"].upper()},
        "pool without hashing": {**good, "pool_size": "256"},
        "hashing without pool": {**hashed, "pool_size": None},
        "pool 0": {**hashed, "pool_size": "0"},
        "pool too large": {**hashed, "pool_size": str(2**21)},
        "limit above 1": {**good, "limits": {**good["limits"], "bayes_error": "1.1"}},
        "limit as number": {**good, "limits": {**good["limits"], "certainty": 0}},
        "limits too many": {**good, "limits": {**good["limits"], "more": None}},
        "no list": {**good, "limits": {**good["limits"], "list_size": "0"}},
    }
    for name, base, change in (
        ("theta above 1", good, {"theta_numerator": str(2**64 + 1)}),
        ("theta negative", good, {"theta_numerator": "-1"}),
        ("one item", good, {"domain_size": "1"}),
        ("another mechanism", good, {"kind": "identity"}),
        ("no mechanism", good, {"kind": None}),
        ("hash size 1", hashed, {"hash_size": "1"}),
        ("not a prime", hashed, {"prime": "1001"}),
        ("prime below the items", hashed, {"prime": "97"}),
        ("prime beyond 2^62", hashed, {"prime": str(2**63 - 25)}),
        ("strong pseudoprime", hashed, {"prime": "3215031751"}),
    ):
        fields[name] = {**base, "mechanism": {**base["mechanism"], **change}}
    texts = {name: _canonical(value) for name, value in fields.items()}
    text = _canonical(good)
    return texts | {
        "white space": text.replace(",", ", "),
        "line end": text + "\n",
        "a key twice": text.replace('"version":1}', '"version":1,"version":1}'),
        "unsorted": json.dumps(dict(reversed(good.items())), separators=(",", ":")),
        "not ASCII": text.replace("Drinks", "Dr\u00efnks"),
        "capital escape": text.replace("Drinks", "Dr\\u00EFnks"),
        "needless escape": text.replace("Drinks", "\\u0044rinks"),
        "cut off": text[:-1],
        "no object": "[]",
        "nothing": "",
    }


def vectors() -> dict[str, Any]:
    """All of them."""
    found = collections()
    return {
        "canonical": [
            {"json": json.dumps(value, indent=1), "canonical": _canonical(value), "sha256": _sha256(_canonical(value))}
            for value in VALUES
        ],
        "collections": {
            name: {
                "document": one.canonical.decode(),
                "id": one.id,
                "guarantee": guaranteed(one),
                "draws": drawn(name, one),
                "names": [] if one.items else [{"name": text, "code": str(one.code_of(text))} for text in NAMES],
            }
            for name, one in found.items()
        },
        "refused": {name: {"document": text, "id": _sha256(text)} for name, text in refused().items()},
    }


def _canonical(value: Any) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True)


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
