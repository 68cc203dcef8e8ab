"""Protection in words: what is sent, what is proved, what is advised and by which rule."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from entropie.measures.intervals import Interval
from entropie.mechanisms.local_hashing import LocalHashing
from entropie.mechanisms.randomized_response import RandomizedResponse
from entropie.mitigate.obfuscation import Senders, Utility
from entropie.theory.guarantee import Guarantee

if TYPE_CHECKING:
    from entropie.mitigate.protect import ProtectionGoal, ProtectionRow

__all__ = [
    "assumptions",
    "goal_sentence",
    "noisy_sentence",
    "people_needed",
    "pseudonyms_sentence",
    "recommendation",
    "sends",
    "untouched_sentence",
]

LOST = 0.5
"""Beyond this relative error of the most frequent items, hardly anything useful is left."""
USEFUL = 0.1
"""A relative error of the most frequent items that most uses can live with."""


def sends(reports_per_user: int) -> str:
    """What each person hands over when she sends so many reports."""
    return "one event per person" if reports_per_user == 1 else f"up to {reports_per_user} events per person"


def people_needed(users: int, error: float, wanted: float = USEFUL) -> float:
    """How many people bring a relative error down to the wanted one at the same noise: it falls as 1/sqrt(people)."""
    return users * (error / wanted) ** 2


def goal_sentence(
    goal: ProtectionGoal, senders: Senders, plain: Interval, as_it_is: Interval | None, target_events: int
) -> str:
    """Whether noise is needed, on what ground, and what the rows compare."""
    wanted, users = _percent(goal.bayes_error), senders.users
    meets = {
        "all data": f"No noise is needed for {wanted}: there are so few items that pseudonyms alone leave an error "
        f"of at least {_percent(goal.error_of_any_data)} whatever the data (proved).",
        "these data": f"No noise is needed for {wanted} while people behave as in these data.",
        "measured": f"Pseudonyms alone meet {wanted} against our own attack, which is measured and not proved: a "
        "better informed attacker may do better, and only noise rules that out.",
        None: f"Noise is needed for {wanted}: pseudonyms alone do not reach it.",
    }
    bits = (
        f"One event, drawn at random from a person's history, says {goal.pie_bits:.2f} bits about who did it; "
        f"{math.log2(users):.2f} bits name anybody here."
    )
    parts = [meets[goal.basis], bits, _bound(goal, senders, plain), _sent(senders, plain, as_it_is, target_events)]
    return _unbroken(" ".join(parts))


def _bound(goal: ProtectionGoal, senders: Senders, plain: Interval) -> str:
    """What the bits leave to an attacker, unless our attack on other events does better, and that attack."""
    t = senders.reports_per_user
    attacked = "the first event" if t == 1 else f"the first {t} events"
    seen = (
        " that each person sends, which the attacker has already seen," if senders.first_seen else " that each sends,"
    )
    ours = f"erred in {_percent(plain.value)} ({_ends(plain)}, 95 % interval)"
    if goal.bound_is_beaten(plain.value):
        return (
            f"That gives no bound here: it is for an event drawn at random, while our own attack is on "
            f"{attacked}{seen} and {ours}."
        )
    many = "such an event" if t == 1 else f"{t} such events"
    bound = f"From {many} an attacker errs in at least {_percent(goal.error_from_pie)} of cases by Fano's inequality"
    if goal.error_known_all is not None:
        bound += f", in exactly {_percent(goal.error_known_all)} if she knows all habits"
    return f"{bound}. Our own attack on pseudonyms is on {attacked}{seen} not on one drawn at random; it {ours}."


def _sent(senders: Senders, plain: Interval, as_it_is: Interval | None, target_events: int) -> str:
    """What is sent in all rows, and what of the difference is owed to that."""
    less = f"{sends(senders.reports_per_user)} ({senders.reports:,} in all), without times"
    if as_it_is is None:
        return f"All rows send {less}."
    text = f"All rows but the first send {less}; the first, 'as it is', sends every event attacked ({target_events:,})"
    if plain.value > as_it_is.value:
        text += (
            ": most of the fall of the risk from 'as it is' to 'pseudonyms alone' comes from sending less, not from "
            "the pseudonyms"
        )
    return text + "."


def untouched_sentence(error: Interval) -> str:
    """The row of the data as they are."""
    return _unbroken(
        f"As they are, with every event of a person under one pseudonym, our attack got {_percent(1.0 - error.value)} "
        f"({_ends_right(error)}, 95 % interval); nothing is promised and nothing is lost."
    )


def pseudonyms_sentence(senders: Senders, error: Interval, goal: ProtectionGoal) -> str:
    """The row of events sent without noise."""
    what = sends(senders.reports_per_user)
    text = (
        f"With pseudonyms alone ({what}, sent as it is without a name) our attack got {_percent(1.0 - error.value)} "
        f"({_ends_right(error)}, 95 % interval); counts stay exact."
    )
    if goal.error_of_any_data > 0.0:
        text += f" No attacker can beat {_percent(1.0 - goal.error_of_any_data)} on average (proved)."
    elif goal.error_known_all is not None and not goal.bound_is_beaten(error.value):
        text += (
            " Nothing is proved about all attackers; one who knew everybody's habits would get "
            f"{_percent(1.0 - goal.error_known_all)} of events drawn at random."
        )
    else:
        text += " Nothing is proved about all attackers."
    return _unbroken(text)


def noisy_sentence(
    name: str, mechanism: RandomizedResponse | LocalHashing, promise: Guarantee, error: Interval, utility: Utility
) -> str:
    """The row of one mechanism."""
    budget = f"epsilon {mechanism.epsilon:.4g}" if math.isfinite(mechanism.epsilon) else "no limit on epsilon"
    buckets = f" to {mechanism.hash_size:,} values" if isinstance(mechanism, LocalHashing) else ""
    top = utility.top_20
    return _unbroken(
        f"With {name}{buckets} at {budget} ({sends(promise.reports_per_user)}), no attacker can beat "
        f"{_percent(1.0 - promise.bayes_error)} on average (proved; assumes {assumptions(promise)}), nor "
        f"{_percent(1.0 - promise.list_error)} with {promise.list_size} guesses; our attack got "
        f"{_percent(1.0 - error.value)} ({_ends_right(error)}, 95 % interval); the top-{top.items} items keep a "
        f"relative error of {_percent(top.value)} ({_percent(top.low)} to {_percent(top.high)} in repeated "
        "collections)."
    )


def recommendation(chosen: ProtectionRow, other: ProtectionRow | None, goal: ProtectionGoal, users: int) -> str:
    """What is advised and by which rule; plainly, where hardly anything useful is left."""
    what = f"{chosen.name}, {chosen.sends}"
    grounds = {
        "all data": "its promise is proved for all data with so few items",
        "these data": "these data say so little about people that it suffices while they behave alike",
        "measured": "it meets the goal against our own attack; that is measured, not proved",
    }
    if chosen.name == "pseudonyms alone" and goal.basis is not None:
        return f"{what}, because {grounds[goal.basis]}. Rule: no noise where none is needed for the goal."
    assert chosen.promise is not None
    assert chosen.utility is not None
    top, guesses = chosen.utility.top_20, chosen.promise.list_size
    text = (
        f"{what}, because its promise meets the goal. Rule: of the mechanisms that do, the one with the smallest "
        f"error of the most frequent items, unless {guesses} guesses may name more than twice as "
        f"many people as under another."
    )
    if other is not None and other.promise is not None and other.utility is not None:
        theirs, named = other.utility.top_20.value, _percent(1.0 - other.promise.list_error)
        if theirs < top.value:
            text += (
                f" {other.name.capitalize()} would leave an error of {_percent(theirs)} instead of "
                f"{_percent(top.value)}, but {guesses} guesses might then name {named} of people instead of "
                f"{_percent(1.0 - chosen.promise.list_error)}."
            )
    if top.value > LOST:
        text += (
            f" With only {users:,} people hardly anything useful survives: the top-{top.items} items are wrong by "
            f"{_percent(top.value)} of their share on average. More people would help: at this noise the error falls "
            f"with the square root of their number, so that about {_rounded(people_needed(users, top.value))} people "
            f"would bring it to {USEFUL * 100:g} %. A smaller wanted error would help, too."
        )
    return _unbroken(text)


def assumptions(promise: Guarantee) -> str:
    """What a promise rests on."""
    t = promise.reports_per_user
    reports = "one report each" if t == 1 else f"at most {t} reports each"
    devices = "" if math.isinf(promise.mechanism.epsilon) else ", devices that add the noise as told"
    return f"{promise.users:,} equally likely people, {reports}{devices}"


def _rounded(number: float) -> str:
    """Two significant digits: more would claim a precision that is not there."""
    scale = 10.0 ** max(0, math.floor(math.log10(number)) - 1)
    return f"{math.ceil(number / scale) * scale:,.0f}"


def _unbroken(sentence: str) -> str:
    """Keep numbers and their percent signs on one line."""
    return sentence.replace(" %", "\N{NO-BREAK SPACE}%")


def _ends(error: Interval) -> str:
    return f"{_percent(error.low)} to {_percent(error.high)}"


def _ends_right(error: Interval) -> str:
    return f"{_percent(1.0 - error.high)} to {_percent(1.0 - error.low)}"


def _percent(share: float) -> str:
    """A share in percent with three significant digits, more where it is close to 100 %; errors may be beyond it."""
    if share > 1.0:
        return f"{share * 100:,.0f} %"
    edge = min(share, 1.0 - share)
    if edge <= 0.0:
        return f"{share * 100:.3g} %"
    digits = min(9, max(1, 1 - math.floor(math.log10(edge * 100))))
    return f"{share * 100:.{digits}f} %"
