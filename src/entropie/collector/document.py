r"""The collection document: what is asked, of how many people, with how much noise. Immutable; its id is its SHA-256.

    {"closes":"2027-01-31","items":["tea","coffee"],"limits":{"bayes_error":"0.9","certainty":"0.5","list_error":null,
     "list_size":"1"},"mechanism":{"domain_size":"2","kind":"rr","schema":"entropie.parameters",
     "theta_numerator":"1844674407370955161","version":1},"opens":"2026-12-01","people":"10000","pool_size":null,
     "reports_per_person":"1","schema":"entropie.collection","seed":"<64 hexadecimal digits>","title":"Hot drinks",
     "version":1}

Canonical form: keys sorted, no white space, only the characters from space to ~ (every other as \uXXXX, one or two
UTF-16 units, lower-case digits; \b \f \n \r \t \" \ by these short forms), every key present, null where there is
nothing. Whole numbers are decimal strings, shares are decimal strings such as "0.95", days are "YYYY-MM-DD"; `version`
alone is a number. The document is exactly these bytes: no line end follows, so that `sha256sum FILE` is its id. A
reader computes the id from the bytes that it got and refuses any other form.

Derived quantities, such as epsilon or the guaranteed error rate, are not in the document: everybody computes them.
`opens` and `closes` are days in UTC, both included. `mechanism` is the parameter document of randomized response or
local hashing; theta is `theta_numerator` / 2^64, rounded down. `items` lists the names, whose codes are their places,
from 0; it is null for an open domain, where a name is hashed to its code (pool.py). `pool_size` is K, the number of
hash functions in the pool; null for randomized response.
"""

from __future__ import annotations

import datetime
import hashlib
import json
import math
import secrets
from functools import cached_property
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from entropie.collector.pool import code_of_name, normal_form
from entropie.document.base import Part, converted, parsed
from entropie.errors import InvalidInput, InvalidParameter, Unreachable, option
from entropie.mechanisms.local_hashing import LocalHashing
from entropie.mechanisms.parameters import Digits, Hashing, Response, from_fields, to_document
from entropie.mechanisms.randomized_response import RandomizedResponse
from entropie.theory import checks
from entropie.theory.crowd import Crowd
from entropie.theory.guarantee import Guarantee, guarantee
from entropie.words import percent, stated

SCHEMA = "entropie.collection"
VERSION = 1
MOST_DOCUMENT_BYTES = 16 * 10**6
MOST_NAME_BYTES = 1_000
MOST_CELLS = 2**62
LARGEST_POOL = 2**20
SMALLEST_POOL = 2**8
_POOL_SHARE = 0.05
"""What the pool may add to the variance of a rare item where its size is chosen for it."""

ShareText = Annotated[
    str, Meta(pattern=r"^(0|1|0\.[0-9]{0,11}[1-9])$", description="A share from 0 to 1, as decimal text.")
]
Seed = Annotated[str, Meta(pattern="^[0-9a-f]{64}$", description="32 random bytes that everybody knows.")]
Title = Annotated[str, Meta(min_length=1, max_length=200)]
Name = Annotated[str, Meta(min_length=1)]
Device = RandomizedResponse | LocalHashing


class Limits(Part, frozen=True):
    """What the collection guarantees at least, against an attacker who holds everybody's reports; null: no limit.

    bayes_error   the attacker's error rate, at least
    certainty     certainty about one person, at most
    list_error    the error rate of an attacker who names `list_size` people, at least
    """

    bayes_error: ShareText | None
    certainty: ShareText | None
    list_error: ShareText | None
    list_size: Digits


class Collection(Part, frozen=True, dict=True):
    """One collection; checked on construction."""

    closes: datetime.date
    items: list[Name] | None
    limits: Limits
    mechanism: Response | Hashing
    opens: datetime.date
    people: Digits
    pool_size: Digits | None
    reports_per_person: Digits
    schema: Literal["entropie.collection"]
    seed: Seed
    title: Title
    version: Literal[1]

    def __post_init__(self) -> None:
        checks.whole_number("people", self.users, at_most=10**12)
        checks.whole_number("reports_per_person", self.reports, at_most=10**6)
        checks.whole_number("list_size", int(self.limits.list_size))
        if self.closes < self.opens:
            raise InvalidParameter.of("closes", f"a day from {self.opens} on, on which it opens", str(self.closes))
        _check_names([self.title, *(self.items or [])])
        if self.items is not None and len(self.items) != self.device.domain_size:
            raise InvalidInput(
                f"The collection lists {len(self.items)} items, its mechanism is for {self.device.domain_size}; "
                "they must agree."
            )
        if (self.pool_size is None) != isinstance(self.device, RandomizedResponse):
            raise InvalidInput("Field `pool_size` goes with local hashing, and only with it.")
        if self.pool_size is not None:
            checks.whole_number("pool_size", int(self.pool_size), at_most=LARGEST_POOL)
        if self.cells > MOST_CELLS:
            raise InvalidInput(f"The collection has {self.cells} cells, at most 2^62 can be told apart; hash to fewer.")

    @cached_property
    def device(self) -> Device:
        """The mechanism that devices run."""
        fields = {
            name: value
            for name, value in msgspec.to_builtins(self.mechanism).items()
            if name not in ("schema", "version")
        }
        made = from_fields(fields)
        assert isinstance(made, RandomizedResponse | LocalHashing)
        return made

    @property
    def users(self) -> int:
        """The people that are expected: n."""
        return int(self.people)

    @property
    def reports(self) -> int:
        """Reports of each person: t."""
        return int(self.reports_per_person)

    @property
    def functions(self) -> int:
        """Hash functions in the pool: K; 1 where nothing is hashed."""
        return 1 if self.pool_size is None else int(self.pool_size)

    @property
    def cells(self) -> int:
        """Cells that a report may name: k, or K * g."""
        device = self.device
        return device.domain_size if isinstance(device, RandomizedResponse) else self.functions * device.hash_size

    @property
    def seed_bytes(self) -> bytes:
        """The public seed."""
        return bytes.fromhex(self.seed)

    @cached_property
    def canonical(self) -> bytes:
        """The document: exactly these bytes."""
        return _canonical(msgspec.to_builtins(self))

    @cached_property
    def id(self) -> str:
        """SHA-256 of the document, in hexadecimal."""
        return hashlib.sha256(self.canonical).hexdigest()

    @cached_property
    def codes(self) -> dict[str, int]:
        """Codes of the listed names, in normal form; empty for an open domain."""
        return {normal_form(name): code for code, name in enumerate(self.items or [])}

    def code_of(self, name: str) -> int:
        """The code of a name."""
        if self.items is None:
            return code_of_name(self.seed_bytes, name, self.device.domain_size)
        code = self.codes.get(normal_form(name))
        if code is None:
            raise InvalidInput("The name is not among the items of the collection; send one that is listed.")
        return code

    def is_open(self, day: datetime.date) -> bool:
        """Whether reports are taken on this day in UTC."""
        return self.opens <= day <= self.closes

    def guarantee_for(self, people: int) -> Guarantee:
        """What is guaranteed when this many people send `reports_per_person` reports, linked to each other.

        The pool is fixed and public. Its functions collide more or less often than the family does on average, so the
        bounds that rest on the average are not used: what is said here holds for every pool.
        """
        crowd = Crowd(people, self.reports, min(int(self.limits.list_size), people))
        channel = msgspec.structs.replace(self.device.channel, collision_probability=None)
        return guarantee(channel, crowd, self.device.truth)

    def broken_limits(self, people: int) -> list[str]:
        """Sentences on the limits that do not hold for this many people; none where all do."""
        held, limits = self.guarantee_for(people).all_reports, self.limits
        found = []
        for name, limit, value in (
            ("error rate of the attacker", limits.bayes_error, held.bayes_error),
            (f"error rate of an attacker with {limits.list_size} guesses", limits.list_error, held.list_error),
        ):
            if limit is not None and value < float(limit):
                shown = percent(value, beside=float(limit))
                found.append(f"The {name} is at least {shown}, the limit is {stated(float(limit))}.")
        if limits.certainty is not None and held.posterior_max > float(limits.certainty):
            most = float(limits.certainty)
            shown = percent(held.posterior_max, beside=most)
            found.append(f"Certainty about one person is at most {shown}, the limit is {stated(most)}.")
        return found

    def influence(self, fake: int, reports: int) -> float:
        """How far `fake` reports among `reports` in all can move the estimate of an item, at most: m/(theta N).

        It is the distance to the estimate from the honest reports alone. Local hashing divides by theta (1-c).
        """
        gain = self.device.rates.gain
        return math.inf if gain <= 0.0 or reports < 1 else fake / (gain * reports)


def read(content: bytes, name: str = "The collection document") -> Collection:
    """The collection of exactly these bytes; a document in any other form is refused, since its id would be another."""
    remedy = "take the one that `entropie collect new` wrote"
    if len(content) > MOST_DOCUMENT_BYTES:
        raise InvalidInput(f"{name} is larger than {MOST_DOCUMENT_BYTES // 10**6} MB; {remedy}.")
    made = converted(parsed(content, name, remedy), Collection, name, remedy)
    if made.canonical != content:
        raise InvalidInput(f"{name} is not in canonical form, so its id cannot be trusted; {remedy}.")
    return made


def create(
    device: Device,
    *,
    title: str,
    people: int,
    opens: datetime.date,
    closes: datetime.date,
    items: list[str] | None = None,
    reports_per_person: int = 1,
    limits: Limits | None = None,
) -> Collection:
    """A new collection with a seed of its own; refused where a limit does not hold for the declared people."""
    wanted = limits or Limits(None, None, None, "1")
    users = checks.whole_number("people", people, at_most=10**12)
    pool = None
    if isinstance(device, LocalHashing):
        pool = str(pool_size_for(device, users * reports_per_person))
    fields = {
        "closes": closes.isoformat(),
        "items": items,
        "limits": msgspec.to_builtins(wanted),
        "mechanism": json.loads(to_document(device)),
        "opens": opens.isoformat(),
        "people": str(users),
        "pool_size": pool,
        "reports_per_person": str(reports_per_person),
        "schema": SCHEMA,
        "seed": secrets.token_hex(32),
        "title": title,
        "version": VERSION,
    }
    made = read(_canonical(fields), "The collection")
    broken = made.broken_limits(made.users)
    if broken:
        raise Unreachable(f"{' '.join(broken)} Add noise (a smaller {option('epsilon')}), or ask more people.")
    return made


def pool_size_for(device: LocalHashing, reports: int) -> int:
    """A power of two that adds at most 5 % to the variance of a rare item's estimate, or the largest pool.

    With a fixed pool the share of functions under which two items collide is not c but c +- sqrt(c(1-c)/K), which
    moves an estimate by at most sqrt(c/((1-c)K)) in standard deviation, however many reports there are.
    """
    c, rare = float(device.family.collision_probability), device.rates.l2(0.0, max(1, reports))
    if c <= 0.0 or rare <= 0.0 or not math.isfinite(rare):
        return SMALLEST_POOL
    wanted = math.ceil(c / (1.0 - c) / (_POOL_SHARE * rare))
    return min(LARGEST_POOL, max(SMALLEST_POOL, 1 << max(0, wanted - 1).bit_length()))


def share_text(name: str, value: float | str | None) -> str | None:
    """A share as the document writes it, all digits and no more."""
    if value is None:
        return None
    number = checks.real_number(name, float(value), "a share from 0 to 1", 0.0, 1.0)
    return f"{number:.12f}".rstrip("0").rstrip(".") or "0"


def _canonical(fields: Any) -> bytes:
    return json.dumps(fields, sort_keys=True, separators=(",", ":"), ensure_ascii=True).encode("ascii")


def _check_names(names: list[str]) -> None:
    seen = set()
    for place, name in enumerate(names):
        which = "The title" if place == 0 else f"Item {place}"
        try:
            size = len(name.encode())
        except UnicodeEncodeError:
            raise InvalidInput(f"{which} holds half a character; write it in Unicode.") from None
        if size > MOST_NAME_BYTES or not name.strip() or "\0" in name:
            raise InvalidInput(f"{which} must be text of 1 to {MOST_NAME_BYTES} bytes, got {size} bytes.")
        normal = normal_form(name)
        if place and normal in seen:
            raise InvalidInput(f"{which} is listed twice; list every item once.")
        if place:
            seen.add(normal)
