"""Protection for a wanted re-identification error: what is promised, what our attack still gets, what the data keep.

Rows side by side: the data as they are, pseudonyms alone, randomized response and local hashing, each calibrated to
these people and these items, drawn, estimated and attacked again.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from entropie.attack.features import item_rows
from entropie.attack.matchers import matcher
from entropie.attack.scoring import attack
from entropie.attack.single import pie_bits
from entropie.data.split import Split
from entropie.data.traces import Traces
from entropie.measures.best import level_among
from entropie.measures.identification import identification_error
from entropie.measures.intervals import REPLICATES, Interval
from entropie.measures.summary import measure_outcome
from entropie.mechanisms.identity import Identity
from entropie.mechanisms.local_hashing import LocalHashing
from entropie.mechanisms.mechanism import Mechanism
from entropie.mechanisms.randomized_response import RandomizedResponse
from entropie.mitigate.obfuscation import (
    GUESSES,
    REPETITIONS,
    Senders,
    Utility,
    attack_on,
    best_hashing,
    best_response,
    exact_utility,
    measure_utility,
    preferred,
    wanted_error_value,
)
from entropie.mitigate.protect_words import (
    assumptions,
    goal_sentence,
    noisy_sentence,
    pseudonyms_sentence,
    recommendation,
    sends,
    untouched_sentence,
)
from entropie.theory import fano
from entropie.theory.guarantee import Guarantee, mechanism_json

__all__ = [
    "AttackFigure",
    "Progress",
    "Protection",
    "ProtectionGoal",
    "ProtectionRow",
    "protect",
    "single_datum_error",
]

_PLAIN_MATCHERS = ("visit", "bayes", "pitman_yor")
_MODELS = "visit vectors through the mechanism"
Progress = Callable[[str, float], None]
Basis = Literal["all data", "these data", "measured"]


@dataclass(frozen=True, slots=True)
class AttackFigure:
    """One attack in a table: who matched, how often wrongly, and the bits of the scores where measured."""

    matcher: str
    identification_error: Interval
    pse_bits: dict[str, Any] | None

    def to_json(self) -> dict[str, Any]:
        """Plain values, keys as in assessment.json."""
        error = self.identification_error.to_json()
        return {"matcher": self.matcher, "identification_error": error, "pse_bits": self.pse_bits}


@dataclass(frozen=True, slots=True)
class ProtectionRow:
    """One way to hand over the data.

    sends        what each person hands over: every event, or one event per person
    events_sent  how many events that is of all people together
    promise      what is proved whatever the attacker knows; None where nothing is
    attack       what our own attack got in a simulated collection
    utility      what remains of the distribution
    """

    name: Literal["as it is", "pseudonyms alone", "randomized response", "local hashing"]
    mechanism: Mechanism | None
    reports_per_user: int
    sends: str
    events_sent: int
    promise: Guarantee | None
    attack: AttackFigure
    utility: Utility | None
    recommended: bool
    sentence: str

    def to_json(self) -> dict[str, Any]:
        """The documented object of one row."""
        noisy = isinstance(self.mechanism, RandomizedResponse | LocalHashing)
        return {
            "name": self.name,
            "mechanism": mechanism_json(self.mechanism.channel) if noisy else None,  # type: ignore[union-attr]
            "reports_per_user": self.reports_per_user,
            "sends": self.sends,
            "events_sent": self.events_sent,
            "promise": None if self.promise is None else _promise_json(self.promise),
            "attack": self.attack.to_json(),
            "utility": None if self.utility is None else self.utility.to_json(),
            "recommended": self.recommended,
            "sentence": self.sentence,
        }


@dataclass(frozen=True, slots=True)
class ProtectionGoal:
    """The wanted error, and the paper's rule: where one datum says little about its sender, no noise is needed.

    pie_bits           I(U;X): what one event, drawn from its person's history, says about who she is
    error_from_pie     what Fano's inequality makes of these bits (t times as many for t events)
    error_known_all    the exact error of an attacker who knows everybody's habits, for such an event (one only)
    error_of_any_data  what holds for all data of this size: 1 - k/n, where there are fewer items than people
    error_measured     pessimistic end of our own attack on pseudonyms
    basis              which of these meets the goal without noise; None where none does
    """

    bayes_error: float
    pie_bits: float
    error_from_pie: float
    error_known_all: float | None
    error_of_any_data: float
    error_measured: float
    basis: Basis | None
    sentence: str

    @property
    def noise_needed(self) -> bool:
        """Whether pseudonyms alone fall short of the goal."""
        return self.basis is None

    def bound_is_beaten(self, error: float) -> bool:
        """Whether an attack on the first events errs less than any attack can on events drawn at random."""
        return error < max(self.error_from_pie, self.error_known_all or 0.0) - 1e-9

    def to_json(self) -> dict[str, Any]:
        """The documented object `protection_goal`."""
        return {**dataclasses.asdict(self), "noise_needed": self.noise_needed}


@dataclass(frozen=True, slots=True)
class Protection:
    """Ways to protect these data for a wanted error, side by side."""

    goal: ProtectionGoal
    rows: tuple[ProtectionRow, ...]
    recommendation: str

    @property
    def recommended(self) -> ProtectionRow:
        """The row that meets the goal, chosen by the rule that `recommendation` names."""
        return next(row for row in self.rows if row.recommended)

    def to_json(self) -> dict[str, Any]:
        """The keys `protection` and `protection_goal` of assessment.json."""
        return {
            "protection": [row.to_json() for row in self.rows],
            "protection_goal": {**self.goal.to_json(), "recommendation": self.recommendation},
        }


def protect(
    traces: Traces,
    split: Split,
    wanted_error: float,
    *,
    seed: int = 0,
    threads: int | None = None,
    reports_per_user: int = 1,
    as_it_is: AttackFigure | None = None,
    max_epsilon: float | None = None,
    repetitions: int = REPETITIONS,
    replicates: int = REPLICATES,
    progress: Progress | None = None,
) -> Protection:
    """Calibrate, obfuscate and attack again: what protects these people to this error, and at what cost.

    Everybody sends the first `reports_per_user` events of her target. The attacker knows the mechanism and the
    training events. `as_it_is` is the attack on the plain events, shown in a row of its own. Local hashing is kept to
    the epsilon of randomized response, or both to `max_epsilon`.
    """
    tell = progress or (lambda stage, share: None)
    wanted_error = wanted_error_value(wanted_error)
    senders = Senders.of(split, reports_per_user)
    response = best_response(senders, wanted_error, max_epsilon)
    tell("protecting: calibration", 0.1)
    hashing = best_hashing(senders, wanted_error, response.epsilon if max_epsilon is None else max_epsilon)
    tell("protecting: pseudonyms", 0.3)
    plain = _strongest_plain(senders, seed, replicates, threads)
    goal = _goal(traces if not split.dropped_users else traces.take(split.users), senders, wanted_error, plain)
    before, attacked = None if as_it_is is None else as_it_is.identification_error, split.target.events
    words = goal_sentence(goal, senders, plain.identification_error, before, attacked)
    goal = dataclasses.replace(goal, sentence=words)
    rows = [] if as_it_is is None else [_untouched_row(senders, as_it_is, attacked)]
    rows.append(_pseudonyms_row(senders, plain, goal))
    for share, (name, mechanism) in zip(
        (0.5, 0.75), (("randomized response", response), ("local hashing", hashing)), strict=True
    ):
        tell(f"protecting: {name}", share)
        rows.append(_noisy_row(name, mechanism, senders, seed, repetitions, replicates, threads))  # type: ignore[arg-type]
    return _with_choice(rows, goal, senders.users)


def single_datum_error(traces: Traces) -> float:
    """The least error of naming who did one event, drawn from its person's history, by somebody who knows them all.

    Exact for these very data: 1 - sum over x of max over i of pi_i(x) / n.
    """
    active = np.flatnonzero(np.diff(traces.offsets) > 0)
    counts = item_rows(traces.take(active))
    shares = counts.weights / np.repeat(counts.totals(), np.diff(counts.offsets))
    largest = np.zeros(traces.domain_size)
    np.maximum.at(largest, counts.features, shares)
    return 1.0 - float(largest.sum()) / active.size


def _strongest_plain(senders: Senders, seed: int, replicates: int, threads: int | None) -> AttackFigure:
    """The best of several matchers on the very events, with an interval that allows for the choice."""
    sent = Traces(senders.sent.offsets, senders.sent.items, senders.domain_size)  # without times, which are not sent
    train = Traces(senders.train.offsets, senders.train.items, senders.domain_size)
    outcomes = {name: attack(matcher(name)(train, sent), threads=threads) for name in _PLAIN_MATCHERS}
    name = max(outcomes, key=lambda tried: float(outcomes[tried].credit.mean()))
    level = level_among(len(outcomes))
    measures = measure_outcome(outcomes[name], users=senders.users, seed=seed, replicates=replicates)
    return AttackFigure(name, identification_error(outcomes[name].credit, level=level), measures.pse.to_json())


def _goal(traces: Traces, senders: Senders, wanted: float, plain: AttackFigure) -> ProtectionGoal:
    """Compare what pseudonyms alone give with the goal: proved, exact for these data, or only measured."""
    users, t = senders.users, senders.reports_per_user
    pie = pie_bits(traces)
    from_pie = fano.bayes_error(min(t * pie, math.log2(users)), users)
    known_all = single_datum_error(traces) if t == 1 else None
    plain_promise = _pseudonyms_promise(senders)
    of_any_data = 0.0 if plain_promise is None else plain_promise.bayes_error
    measured, attacked = plain.identification_error.low, plain.identification_error.value
    goal = ProtectionGoal(wanted, pie, from_pie, known_all, of_any_data, measured, None, "")
    basis: Basis | None = None
    if of_any_data >= wanted:
        basis = "all data"
    elif max(from_pie, known_all or 0.0) >= wanted and not goal.bound_is_beaten(attacked):
        # The first event may say more than one drawn at random: then the attack counts.
        basis = "these data"
    elif measured >= wanted:
        basis = "measured"
    return dataclasses.replace(goal, basis=basis)


def _untouched_row(senders: Senders, figure: AttackFigure, events: int) -> ProtectionRow:
    return ProtectionRow(
        name="as it is",
        mechanism=None,
        reports_per_user=senders.reports_per_user,
        sends="every event",
        events_sent=events,
        promise=None,
        attack=figure,
        utility=exact_utility(senders),
        recommended=False,
        sentence=untouched_sentence(figure.identification_error),
    )


def _pseudonyms_row(senders: Senders, figure: AttackFigure, goal: ProtectionGoal) -> ProtectionRow:
    t = senders.reports_per_user
    return ProtectionRow(
        name="pseudonyms alone",
        mechanism=Identity(senders.domain_size),
        reports_per_user=t,
        sends=sends(t),
        events_sent=senders.reports,
        promise=_pseudonyms_promise(senders),
        attack=figure,
        utility=exact_utility(senders),
        recommended=False,
        sentence=pseudonyms_sentence(senders, figure.identification_error, goal),
    )


def _pseudonyms_promise(senders: Senders) -> Guarantee | None:
    """What few items promise by themselves; None where there are at least as many as people."""
    users, t = senders.users, senders.reports_per_user
    if senders.domain_size >= users:
        return None
    promise = Identity(senders.domain_size).guarantee(users=users, reports=t, list_size=min(GUESSES, users))
    return promise if promise.bayes_error > 1e-9 else None


def _noisy_row(
    name: Literal["randomized response", "local hashing"],
    mechanism: RandomizedResponse | LocalHashing,
    senders: Senders,
    seed: int,
    repetitions: int,
    replicates: int,
    threads: int | None,
) -> ProtectionRow:
    t = senders.reports_per_user
    promise = mechanism.guarantee(users=senders.users, reports=t, list_size=min(GUESSES, senders.users))
    utility, reports = measure_utility(mechanism, senders, seed=seed, repetitions=repetitions)
    outcome = attack_on(mechanism, senders, reports, threads=threads)
    measures = measure_outcome(outcome, users=senders.users, seed=seed, replicates=replicates)
    error = identification_error(outcome.credit)
    return ProtectionRow(
        name=name,
        mechanism=mechanism,
        reports_per_user=t,
        sends=sends(t),
        events_sent=senders.reports,
        promise=promise,
        attack=AttackFigure(_MODELS, error, measures.pse.to_json()),
        utility=utility,
        recommended=False,
        sentence=noisy_sentence(name, mechanism, promise, error, utility),
    )


def _with_choice(rows: Sequence[ProtectionRow], goal: ProtectionGoal, users: int) -> Protection:
    """Mark the advised row: pseudonyms alone where they suffice, else the mechanism that `preferred` picks."""
    noisy = [row for row in rows if isinstance(row.mechanism, RandomizedResponse | LocalHashing)]
    plain = [row for row in rows if isinstance(row.mechanism, Identity)]
    best = noisy[preferred([_price(row) for row in noisy])] if goal.noise_needed else plain[0]
    other = next((row for row in noisy if row is not best), None)
    marked = tuple(dataclasses.replace(row, recommended=row is best) for row in rows)
    return Protection(goal, marked, recommendation(best, other, goal, users))


def _price(row: ProtectionRow) -> tuple[float, float]:
    """Success within several guesses at most, and the relative error of the most frequent items."""
    assert row.promise is not None
    assert row.utility is not None
    return 1.0 - row.promise.list_error, row.utility.top_20.value


def _promise_json(promise: Guarantee) -> dict[str, Any]:
    return {
        "bayes_error": promise.bayes_error,
        "alpha_bits": promise.alpha_bits,
        "list_size": promise.list_size,
        "list_error": promise.list_error,
        "posterior_max": promise.posterior_max,
        "assumes": assumptions(promise),
    }
