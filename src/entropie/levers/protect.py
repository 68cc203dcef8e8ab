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
from entropie.levers.obfuscation import (
    REPETITIONS,
    Senders,
    Utility,
    attack_on,
    best_hashing,
    best_response,
    exact_utility,
    measure_utility,
)
from entropie.measures.identification import identification_error
from entropie.measures.intervals import LEVEL, REPLICATES, Interval
from entropie.measures.summary import measure_outcome
from entropie.mechanisms.identity import Identity
from entropie.mechanisms.local_hashing import LocalHashing
from entropie.mechanisms.mechanism import Mechanism
from entropie.mechanisms.randomized_response import RandomizedResponse
from entropie.theory import checks, fano
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

GUESSES = 10
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

    promise   what is proved whatever the attacker knows; None where nothing is
    attack    what our own attack got in a simulated collection
    utility   what remains of the distribution
    """

    name: Literal["as it is", "pseudonyms alone", "randomized response", "local hashing"]
    mechanism: Mechanism | None
    reports_per_user: int
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
    error_known_all    the exact error of an attacker who knows everybody's habits in these data (one event only)
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

    def to_json(self) -> dict[str, Any]:
        """The documented object `protection_goal`."""
        return {**dataclasses.asdict(self), "noise_needed": self.noise_needed}


@dataclass(frozen=True, slots=True)
class Protection:
    """Ways to protect these data for a wanted error, side by side."""

    goal: ProtectionGoal
    rows: tuple[ProtectionRow, ...]

    @property
    def recommended(self) -> ProtectionRow:
        """The row that meets the goal and keeps the most of the top-20 items."""
        return next(row for row in self.rows if row.recommended)

    def to_json(self) -> dict[str, Any]:
        """The keys `protection` and `protection_goal` of assessment.json."""
        return {
            "protection": [row.to_json() for row in self.rows],
            "protection_goal": self.goal.to_json(),
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
    senders = Senders.of(split, reports_per_user)
    response = best_response(senders, wanted_error, max_epsilon)
    tell("protecting: calibration", 0.1)
    hashing = best_hashing(senders, wanted_error, response.epsilon if max_epsilon is None else max_epsilon)
    tell("protecting: pseudonyms", 0.3)
    plain = _strongest_plain(senders, seed, replicates, threads)
    goal = _goal(traces if not split.dropped_users else traces.take(split.users), senders, wanted_error, plain)
    rows = [] if as_it_is is None else [_untouched_row(senders, as_it_is)]
    rows.append(_pseudonyms_row(senders, plain, goal))
    for share, (name, mechanism) in zip(
        (0.5, 0.75), (("randomized response", response), ("local hashing", hashing)), strict=True
    ):
        tell(f"protecting: {name}", share)
        rows.append(_noisy_row(name, mechanism, senders, seed, repetitions, replicates, threads))  # type: ignore[arg-type]
    return Protection(goal, _with_choice(rows, goal))


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
    level = 1.0 - (1.0 - LEVEL) / len(outcomes)
    measures = measure_outcome(outcomes[name], users=senders.users, seed=seed, replicates=replicates)
    return AttackFigure(name, identification_error(outcomes[name].credit, level=level), measures.pse.to_json())


def _goal(traces: Traces, senders: Senders, wanted_error: float, plain: AttackFigure) -> ProtectionGoal:
    """Compare what pseudonyms alone give with the goal: proved, exact for these data, or only measured."""
    users, t = senders.users, senders.reports_per_user
    wanted = checks.bayes_error_value(wanted_error)
    pie = pie_bits(traces)
    from_pie = fano.bayes_error(min(t * pie, math.log2(users)), users)
    known_all = single_datum_error(traces) if t == 1 else None
    plain_promise = _pseudonyms_promise(senders)
    of_any_data = 0.0 if plain_promise is None else plain_promise.bayes_error
    measured = plain.identification_error.low
    basis: Basis | None = None
    if of_any_data >= wanted:
        basis = "all data"
    elif max(from_pie, known_all or 0.0) >= wanted <= plain.identification_error.value:
        # The first event may say more than one drawn at random: then the attack counts.
        basis = "these data"
    elif measured >= wanted:
        basis = "measured"
    goal = ProtectionGoal(wanted, pie, from_pie, known_all, of_any_data, measured, basis, "")
    return dataclasses.replace(goal, sentence=_goal_sentence(goal, plain, users, t))


def _goal_sentence(goal: ProtectionGoal, plain: AttackFigure, users: int, reports: int) -> str:
    wanted, error = _percent(goal.bayes_error), plain.identification_error
    one = "One event says" if reports == 1 else f"Each of the {reports} events says"
    bits = f"{one} {goal.pie_bits:.2f} bits about who did it; {math.log2(users):.2f} bits name anybody here."
    promised = f"by Fano's inequality that leaves an error of at least {_percent(goal.error_from_pie)}"
    if goal.error_known_all is not None:
        exact = _percent(goal.error_known_all)
        promised += f", exactly {exact} for an event drawn at random and an attacker who knows all habits"
    ours = f"our own attack on pseudonyms erred in {_percent(error.value)} ({_ends(error)}, 95 % interval)"
    meets = {
        "all data": f"No noise is needed for {wanted}: there are so few items that pseudonyms alone leave an error "
        f"of at least {_percent(goal.error_of_any_data)} whatever the data (proved).",
        "these data": f"No noise is needed for {wanted} while people behave as in these data.",
        "measured": f"Pseudonyms alone meet {wanted} against our own attack, which is measured and not proved: a "
        "better informed attacker may do better, and only noise rules that out.",
        None: f"Noise is needed for {wanted}: pseudonyms alone do not reach it.",
    }
    return _unbroken(f"{meets[goal.basis]} {bits} In these data {promised}; {ours}.")


def _untouched_row(senders: Senders, figure: AttackFigure) -> ProtectionRow:
    error = figure.identification_error
    sentence = (
        f"As they are, with all events of a person under one pseudonym, our attack got {_percent(1.0 - error.value)} "
        f"({_ends_right(error)}, 95 % interval); nothing is promised and nothing is lost."
    )
    return ProtectionRow(
        "as it is", None, senders.reports_per_user, None, figure, exact_utility(senders), False, _unbroken(sentence)
    )


def _pseudonyms_row(senders: Senders, figure: AttackFigure, goal: ProtectionGoal) -> ProtectionRow:
    t, error = senders.reports_per_user, figure.identification_error
    what = "one event" if t == 1 else f"{t} events"
    sentence = (
        f"With pseudonyms alone ({what} per person, sent as it is without a name) our attack got "
        f"{_percent(1.0 - error.value)} ({_ends_right(error)}, 95 % interval); counts stay exact."
    )
    if goal.error_of_any_data > 0.0:
        sentence += f" No attacker can beat {_percent(1.0 - goal.error_of_any_data)} on average (proved)."
    elif goal.error_known_all is not None and goal.error_known_all < figure.identification_error.value:
        sentence += (
            " Nothing is proved about all attackers; one who knew everybody's habits would get "
            f"{_percent(1.0 - goal.error_known_all)}."
        )
    else:
        sentence += " Nothing is proved about all attackers."
    identity, promise, exact = Identity(senders.domain_size), _pseudonyms_promise(senders), exact_utility(senders)
    return ProtectionRow("pseudonyms alone", identity, t, promise, figure, exact, False, _unbroken(sentence))


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
    figure = AttackFigure(_MODELS, error, measures.pse.to_json())
    return ProtectionRow(
        name, mechanism, t, promise, figure, utility, False, _noisy_sentence(name, mechanism, promise, error, utility)
    )


def _noisy_sentence(
    name: str, mechanism: RandomizedResponse | LocalHashing, promise: Guarantee, error: Interval, utility: Utility
) -> str:
    budget = f"epsilon {mechanism.epsilon:.4g}" if math.isfinite(mechanism.epsilon) else "no limit on epsilon"
    buckets = f" to {mechanism.hash_size:,} values" if isinstance(mechanism, LocalHashing) else ""
    top = utility.top_20
    return _unbroken(
        f"With {name}{buckets} at {budget}, no attacker can beat {_percent(1.0 - promise.bayes_error)} on average "
        f"(proved; assumes {_assumptions(promise)}), nor {_percent(1.0 - promise.list_error)} with "
        f"{promise.list_size} guesses; our attack got {_percent(1.0 - error.value)} ({_ends_right(error)}, 95 % "
        f"interval); the top-{top.items} items keep a relative error of {_percent(top.value)} "
        f"({_percent(top.low)} to {_percent(top.high)} in repeated collections)."
    )


def _with_choice(rows: Sequence[ProtectionRow], goal: ProtectionGoal) -> tuple[ProtectionRow, ...]:
    """Mark the row with the smallest top-20 error among those that meet the goal; noise always does, by proof."""
    meeting = [row for row in rows if isinstance(row.mechanism, RandomizedResponse | LocalHashing)]
    if not goal.noise_needed:
        meeting = [row for row in rows if isinstance(row.mechanism, Identity)] + meeting
    best = min(meeting, key=lambda row: math.inf if row.utility is None else row.utility.top_20.value)
    return tuple(dataclasses.replace(row, recommended=row is best) for row in rows)


def _promise_json(promise: Guarantee) -> dict[str, Any]:
    return {
        "bayes_error": promise.bayes_error,
        "alpha_bits": promise.alpha_bits,
        "list_size": promise.list_size,
        "list_error": promise.list_error,
        "posterior_max": promise.posterior_max,
        "assumes": _assumptions(promise),
    }


def _assumptions(promise: Guarantee) -> str:
    t = promise.reports_per_user
    reports = "one report each" if t == 1 else f"at most {t} reports each"
    devices = "" if math.isinf(promise.mechanism.epsilon) else ", devices that add the noise as told"
    return f"{promise.users:,} equally likely people, {reports}{devices}"


def _unbroken(sentence: str) -> str:
    """Keep numbers and their percent signs on one line."""
    return sentence.replace(" %", "\N{NO-BREAK SPACE}%")


def _ends(error: Interval) -> str:
    return f"{_percent(error.low)} to {_percent(error.high)}"


def _ends_right(error: Interval) -> str:
    return f"{_percent(1.0 - error.high)} to {_percent(1.0 - error.low)}"


def _percent(share: float) -> str:
    """A share in percent with three significant digits, more where it is close to 100 %."""
    edge = min(share, 1.0 - share)
    if edge <= 0.0:
        return f"{share * 100:.3g} %"
    digits = min(9, max(1, 1 - math.floor(math.log10(edge * 100))))
    return f"{share * 100:.{digits}f} %"
