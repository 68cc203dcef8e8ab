"""What a verdict rests on that is less than the whole: every choice that narrows the attackers, their data or the
number judged. Each is one sentence; with any of them a PASS is a limited one.
"""

from __future__ import annotations

from collections.abc import Iterator

from entropie.attack.known import CONTAINED, NAME
from entropie.attack.matchers import MATCHERS
from entropie.attack.profile.candidates import HABIT_PAIRS
from entropie.attack.profile.conjunctions import MOST_EVENTS
from entropie.attack.profile.rows import TOGETHER
from entropie.document import Document
from entropie.document.verdict import Declared
from entropie.errors import printable
from entropie.gate.groups import LEAST_PEOPLE, judged_rows, takes_for_reports
from entropie.gate.people import known_events
from entropie.words import count, listed, plural

SCOPE = {
    "profile": "who knows earlier behaviour",
    "crowd": "who knows the crowd of all targets",
    "joint": "who matches all targets one to one",
    "points": "who knows a few events of the release itself",
}
"""The attackers judged unless told otherwise."""

POINTS = 4
"""Random events known to the attacker of points: the convention of the literature on unicity (Y.-A. de Montjoye et al.,
Unique in the Crowd, Scientific Reports 3, 2013: four points single out 95 % of people)."""

_FEWEST_EVENTS = 2  # the fewest that can be cut into known and attacked ones
_NAMED = 5


def limits_of(document: Document, declared: Declared) -> list[str]:
    """Every narrowing of attackers and data, first that a parameter document is believed."""
    return [
        *_of_the_parameters(document, declared),
        *_of_the_attackers(document),
        *_of_what_they_know(document),
        *_of_the_people(document),
        *_of_the_data(document),
    ]


def _of_the_parameters(document: Document, declared: Declared) -> Iterator[str]:
    if takes_for_reports(document):
        source = "Declared, not checked" if declared.made_by_mechanism else "Taken from the parameters"
        yield f"{source}: the data are reports of the mechanism, and nobody but who receives them knows any of them."


def _of_the_attackers(document: Document) -> Iterator[str]:
    all_rows = judged_rows(document)
    rows = [row for row in all_rows if row.targets >= LEAST_PEOPLE]
    judged = {row.attacker for row in rows or all_rows}  # that all of them had too few people is said elsewhere
    if takes_for_reports(document):
        judged.add("points")
    missing = [who for name, who in SCOPE.items() if name not in judged]
    if missing:
        yield f"Not judged: an attacker {listed(missing)}."
    known = [row.points for row in rows if row.attacker == "points" and row.points is not None]
    if known and max(known) < POINTS:
        yield f"The attacker knew {plural(max(known), 'event')} of the release, not {POINTS}."
    run = {attack.matcher for attack in document.attacks}
    left_out = [name for name in MATCHERS if name not in run]
    if left_out:
        tried = len(MATCHERS) - len(left_out)
        were = "was" if tried == 1 else "were"
        yield f"Only {tried} of {len(MATCHERS)} ways to compare traces {were} tried (--matcher)."
    if any(row.people * row.targets > HABIT_PAIRS for row in rows if row.attacker == "profile"):
        yield "Habits were compared with people who have some alike, not with everybody: too many for that (--targets)."
    if _too_many_for_conjunctions(document):
        yield f"Conjunctions (a place at an hour) were not looked at: more than {count(MOST_EVENTS)} events."


def _too_many_for_conjunctions(document: Document) -> bool:
    """Whether whoever knows earlier behaviour, or holds a file, did not look at conjunctions for their number."""
    if any(row.matcher == TOGETHER for row in document.attackers):
        return False
    judged, held = {row.attacker for row in judged_rows(document)}, document.input.known
    apart = document.split.knowledge != "maximum" and document.split.rule != "history"
    known = held is not None and (held.same_events_share or 0.0) < CONTAINED and NAME in judged
    return known or ("profile" in judged and apart and document.events > MOST_EVENTS)


def _of_what_they_know(document: Document) -> Iterator[str]:
    split = document.split
    if split.train_events is not None and split.knowledge != "maximum":
        yield f"The attacker was limited to {known_events(split)}; one who knows more may re-identify more people."
    if split.target_events is not None:
        yield f"Only the first {plural(split.target_events, 'event')} of what is released of each person were attacked."
    if document.input.obfuscated and not any(row.attacker == "reports" for row in judged_rows(document)):
        yield (
            "The risk is understated: these data are reports of a mechanism, which the attack does not know. "
            "`entropie guarantee` says what holds against every attacker."
        )


def _of_the_people(document: Document) -> Iterator[str]:
    """So many may be a group that known events do not tell apart and earlier behaviour would."""
    late = document.split.dropped_users
    few = document.assessed - document.users - late
    if few >= LEAST_PEOPLE and (document.input.min_events or 0) > _FEWEST_EVENTS:
        yield (
            f"{plural(few, 'person', 'people')} with fewer than {document.input.min_events} events were attacked by "
            f"known events alone (--min-events {_FEWEST_EVENTS})."
        )
    if late >= LEAST_PEOPLE:
        cut = document.split.cut
        when = "in the later half" if cut is None else f"before or after {cut}"
        mend = "" if cut is None else " (--rule halves)"
        yield f"{plural(late, 'person', 'people')} with no events {when} were attacked by known events alone{mend}."


def _of_the_data(document: Document) -> Iterator[str]:
    unused = document.input.unused
    if unused:
        names = listed([printable(name) for name in unused[:_NAMED]])
        more = "" if len(unused) <= _NAMED else f" and {len(unused) - _NAMED} more"
        columns = plural(len(unused), "column")
        yield f"No attacker looked at {columns} ({names}{more}): leave out what is not released."
    usual = [row for row in judged_rows(document) if row.attacker in SCOPE]
    for row in sorted(usual, key=lambda row: row.targets / row.people)[:1]:
        if row.targets < row.people:
            yield f"{count(row.targets)} of {count(row.people)} people were attacked, drawn at random."
    if document.input.time_assumed == "order":
        yield "Numbers in the time column were taken for the order of events alone (--time-format names their unit)."
    if document.input.time_assumed == "declared order":
        yield "Declared, not checked: the times say the order of events alone (--time-format order)."
