"""Answers for one collection from a device: noise first, the ledger second, the network last.

    client = entropie.Client("https://collector.example/v1/collections/<id>", "ledger.json", entropie.Policy())
    client.preview()  # what would leave this device, in words
    client.report("tea")

Between the draw and the collector's confirmation a device may die at any moment: the answer is on the disk before it is
sent, a retry sends the same bytes, and the same question is never drawn twice.
"""

from __future__ import annotations

import datetime
import hashlib
import http.client
import json
import os
import random
import re
import urllib.parse
from dataclasses import dataclass, field
from time import sleep

import msgspec

from entropie.collector import device, wire
from entropie.collector.document import MOST_DOCUMENT_BYTES, Collection, read
from entropie.collector.kept import Answer, Keeper, Kept
from entropie.errors import EntropieError, InvalidInput, InvalidParameter, printable
from entropie.mechanisms.ledger import Budget
from entropie.theory import checks
from entropie.words import digits, percent, plural, stated

_ADDRESS = re.compile(r"(?P<base>.*)/v1/collections/(?P<id>[0-9a-f]{64})/?")
_SAFE_HOSTS = ("localhost", "127.0.0.1", "::1")
_TIMEOUT_SECONDS = 30.0
_FIRST_WAIT_SECONDS, _LONGEST_WAIT_SECONDS = 0.5, 60.0
_LONGEST_QUESTION = 200
_PERMANENT = {
    400: "does not understand the answer",
    404: "does not know this collection",
    410: "takes no answers for this collection now",
    413: "says that the answer is too large",
    415: "does not take answers in this form",
}


class Refused(EntropieError):
    """Nothing leaves this device: policy, budget or opt-out say so, or the collection takes no answers."""


class NotSent(EntropieError):
    """The answer is drawn and kept, but the collector has not confirmed it; the same bytes are sent later."""


@dataclass(frozen=True, slots=True)
class Policy:
    """What a user allows, against an attacker who holds everybody's answers and knows everybody's data.

    min_error       error rate of the attacker, at least
    max_certainty   certainty about one person, at most
    max_epsilon     epsilon of all answers in the ledger, at most
    """

    min_error: float = 0.9
    max_certainty: float = 0.5
    max_epsilon: float = 8.0

    def __post_init__(self) -> None:
        for name in ("min_error", "max_certainty"):
            share = checks.share_value(name, getattr(self, name), "a share from 0 to 1")
            object.__setattr__(self, name, share)
        object.__setattr__(self, "max_epsilon", checks.epsilon_value(self.max_epsilon))


@dataclass(frozen=True, slots=True)
class Address:
    """Where a collection is: every request goes there, and carries nothing but its body."""

    scheme: str
    host: str
    port: int | None
    path: str
    id: str

    @classmethod
    def of(cls, url: str) -> Address:
        """The address that a URL names; it ends in the collection's id."""
        parts = urllib.parse.urlsplit(url)
        found = _ADDRESS.fullmatch(parts.path)
        try:
            port = parts.port
        except ValueError:
            found = None
        if not found or not parts.hostname or parts.query or parts.fragment or parts.username is not None:
            raise InvalidParameter(
                "The address must end in /v1/collections/ and the 64 digits of the id, and hold no more."
            )
        if parts.scheme != "https" and not (parts.scheme == "http" and parts.hostname in _SAFE_HOSTS):
            raise InvalidParameter("The address must begin with https://, so that nobody on the way reads the answer.")
        return cls(parts.scheme, parts.hostname, port, f"{found['base']}/v1/collections/{found['id']}", found["id"])

    @property
    def text(self) -> str:
        """The address as people read it."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}{'' if self.port is None else f':{self.port}'}{self.path}"

    def ask(self, method: str, more: str = "", body: bytes | None = None) -> tuple[int, bytes, str | None]:
        """One request: status, body, and after how many seconds to try again."""
        kind = http.client.HTTPSConnection if self.scheme == "https" else http.client.HTTPConnection
        connection = kind(self.host, self.port, timeout=_TIMEOUT_SECONDS)
        try:
            headers = {} if body is None else {"Content-Type": wire.MEDIA_TYPE}
            connection.request(method, self.path + more, body, headers)
            answer = connection.getresponse()
            return answer.status, answer.read(MOST_DOCUMENT_BYTES + 1), answer.getheader("Retry-After")
        finally:
            connection.close()


@dataclass(frozen=True, slots=True)
class Sent:
    """What became of an answer; `repeated`: it had been drawn before."""

    confirmed: bool
    repeated: bool


@dataclass(slots=True)
class Client:
    """One collection on this device; made, it has checked the document and drawn nothing.

    url        address of the collection, which ends in its id
    ledger     file that keeps what was drawn; one for all collections of a person
    policy     what the person allows
    attempts   how often an answer is tried before `NotSent`
    """

    url: str
    ledger: str | os.PathLike[str]
    policy: Policy
    attempts: int = 5
    collection: Collection = field(init=False)
    _address: Address = field(init=False, repr=False)
    _keeper: Keeper = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._address, self._keeper = Address.of(self.url), Keeper(self.ledger)
        self.collection = self._fetched()

    def preview(self) -> str:
        """In words: what leaves this device, what it is worth to an attacker, what it costs."""
        return previewed(self.collection, self.policy, self._keeper.read(), self._address.text)

    def report(self, value: str, question: str = "") -> Sent:
        """Answer a question: drawn once, kept, and only then sent. Later answers to the same question are the first."""
        if not isinstance(question, str) or len(question) > _LONGEST_QUESTION:
            raise InvalidParameter.of("question", f"text of at most {_LONGEST_QUESTION} characters", question)
        code = self.collection.code_of(value)
        with self._keeper.changing() as kept:
            if kept.opted_out:
                raise Refused("You have opted out on this device; nothing was drawn or sent.")
            before = kept.answer(self.collection.id, question)
            answer = before or self._drawn(kept, code, question)
        if not answer.confirmed:
            self._deliver(answer)
        return Sent(confirmed=True, repeated=before is not None)

    def send(self) -> int:
        """Send again what the collector has not confirmed; how many answers that were."""
        kept = self._keeper.read()
        pending = [] if kept.opted_out else [one for one in kept.of(self.collection.id) if not one.confirmed]
        for answer in pending:
            self._deliver(answer)
        return len(pending)

    def opt_out(self) -> None:
        """Draw and send nothing from now on, for every collection of this ledger."""
        self._opt(True)

    def opt_in(self) -> None:
        """Take part again; what was spent stays spent."""
        self._opt(False)

    def _opt(self, out: bool) -> None:
        with self._keeper.changing() as kept:
            self._keeper.keep(msgspec.structs.replace(kept, opted_out=out))

    def _fetched(self) -> Collection:
        try:
            status, content, _ = self._address.ask("GET")
        except (OSError, http.client.HTTPException):
            raise Refused("The collector cannot be reached; nothing was drawn or sent.") from None
        if status != 200:
            raise Refused(f"The collector {_PERMANENT.get(status, f'answered {status}')}; nothing was drawn or sent.")
        if hashlib.sha256(content).hexdigest() != self._address.id:
            raise InvalidInput(f"The document must have the id {self._address.id}; the collector sent another one.")
        return read(content)

    def _drawn(self, kept: Kept, code: int, question: str) -> Answer:
        """A new answer, on the disk with its price."""
        self._check(kept)
        record = device.report(self.collection, code)
        answer = Answer(self.collection.id, question, record.hex(), confirmed=False)
        named = hashlib.sha256(f"{self.collection.id} {question}".encode()).hexdigest()
        self._keeper.keep(kept.debited(answer, kept.spent.add_kept(self.collection.device, named, record)))
        return answer

    def _check(self, kept: Kept) -> None:
        """Refuse before anything is drawn."""
        collection, today = self.collection, datetime.datetime.now(datetime.UTC).date()
        found = objections(self.policy, collection)
        if not collection.is_open(today):
            found.append(f"Answers are taken from {collection.opens} to {collection.closes}.")
        if len(kept.of(collection.id)) >= collection.reports:
            found.append(f"All {plural(collection.reports, 'answer')} per person of this collection are given.")
        spent = kept.spent
        if not spent.allows(collection.device, Budget(collection.users, epsilon=self.policy.max_epsilon)):
            left = max(0.0, self.policy.max_epsilon - spent.epsilon)
            price = digits(collection.device.epsilon)
            found.append(
                f"The answer costs epsilon {price}; {digits(left)} of {digits(self.policy.max_epsilon)} is left."
            )
        if found:
            raise Refused(f"{' '.join(found)} Nothing was drawn or sent.")

    def _deliver(self, answer: Answer) -> None:
        """Send the same bytes until the collector confirms them."""
        last = "cannot be reached"
        for attempt in range(self.attempts):
            try:
                status, body, after = self._address.ask("POST", "/reports", bytes.fromhex(answer.record))
            except (OSError, http.client.HTTPException):
                status, body, after = 0, b"", None
            if status == 200 and _taken(body):
                with self._keeper.changing() as kept:
                    self._keeper.keep(kept.confirmed(answer.record))
                return
            if status in _PERMANENT:
                raise Refused(f"The collector {_PERMANENT[status]}; the answer is kept and not drawn again.")
            last = f"answered {status} without confirming" if status else "cannot be reached"
            if attempt + 1 < self.attempts:
                sleep(wait_seconds(attempt, after, random.random()))
        raise NotSent(
            f"The collector {last}; the answer is kept on this device and the same bytes are sent again later."
        )


def wait_seconds(attempt: int, retry_after: str | None, chance: float) -> float:
    """How long to wait: random below a bound that doubles, and no less than was asked for."""
    after = retry_after or ""
    asked = int(after) if re.fullmatch("[0-9]{1,5}", after) else 0
    return min(_LONGEST_WAIT_SECONDS, asked + chance * _FIRST_WAIT_SECONDS * 2.0 ** min(attempt, 10))


def objections(policy: Policy, collection: Collection) -> list[str]:
    """Sentences on what the policy forbids about a collection; none where it allows it."""
    held, found = collection.guarantee_for(collection.users).all_reports, []
    if held.bayes_error < policy.min_error:
        shown = percent(held.bayes_error, beside=policy.min_error)
        found.append(
            f"The error rate of an attacker is at least {shown}, your policy asks for {stated(policy.min_error)}."
        )
    if held.posterior_max > policy.max_certainty:
        shown = percent(held.posterior_max, beside=policy.max_certainty)
        found.append(f"Certainty about one person is up to {shown}, your policy allows {stated(policy.max_certainty)}.")
    return found


def previewed(collection: Collection, policy: Policy, kept: Kept, address: str) -> str:
    """The lines that a person reads before anything is drawn."""
    mechanism, people = collection.device, plural(collection.users, "person", "people")
    held = collection.guarantee_for(collection.users)
    hashes = getattr(mechanism, "hash_size", None)
    what = f"the number of one of {plural(mechanism.domain_size, 'item')}"
    if hashes is not None:
        functions = plural(collection.functions, "public hash function")
        what = f"the number of one of {functions} and one of its {plural(hashes, 'value')}"
    given, reports = len(kept.of(collection.id)), collection.reports
    store, alone = held.all_reports, held
    lines = [
        f"Question: {printable(collection.title)}",
        f"Sent to: {address}",
        f"What leaves this device: 24 bytes. They are {what}, and 16 random bytes so that the answer is counted once.",
        (
            f"With probability {percent(mechanism.theta)} the number is the true answer, else it is drawn at random. "
            "It is drawn once and kept: asked again, this device sends the same."
        ),
        (
            "Not sent: names, account, cookies, times. The receiver sees the network address; an operator who keeps "
            "it can link answers to it."
        ),
        (
            f"Whoever holds the answers of {people} ({plural(reports, 'answer')} each) and knows their data, names the "
            f"wrong sender in at least {percent(store.bayes_error)} of cases; certainty about one person is at most "
            f"{percent(store.posterior_max)}."
        ),
        (
            f"Whoever sees yours alone: at least {percent(alone.bayes_error)}; at most {percent(alone.posterior_max)}. "
            f"Both rest on the operator's word that {people} take part."
        ),
        (
            f"Cost: epsilon {digits(mechanism.epsilon)} per answer. Spent on this device: "
            f"{digits(kept.spent.epsilon)} of {digits(policy.max_epsilon)}; answers given here: {given:,} of "
            f"{reports:,}."
        ),
    ]
    if kept.opted_out:
        lines.append("You have opted out on this device: nothing is drawn or sent.")
    return "\n".join(lines)


def _taken(body: bytes) -> bool:
    """Whether the collector's answer says that it has the record, new or for the second time."""
    try:
        counts = json.loads(body)
        return bool(counts["accepted"] + counts["duplicate"] == 1 and counts["invalid"] == 0)
    except (ValueError, KeyError, TypeError):
        return False
