"""A table with one row per person before a limit: whom the verdict looks at, what narrows it, what leaves it open.

Whoever knows all columns named finds a person in a group of k with probability 1/k. Everybody was counted, so that the
share is exact for these people, and the risk of any one person is known: that of the smallest group.
"""

from __future__ import annotations

from collections.abc import Iterator

from entropie.document.measured import ShareInterval
from entropie.document.verdict import Declared, Measure
from entropie.gate.groups import LEAST_PEOPLE, Group
from entropie.gate.people import declared_statements
from entropie.mitigate.attribute_risk import AttributeRisk, ColumnAttacker
from entropie.words import count, listed, plural

_FEW = 6  # columns that a sentence lists by name


def everything_known(document: AttributeRisk) -> ColumnAttacker:
    """The attacker who is judged: all columns named, of everybody."""
    risk, people = document.together, document.people
    success, alone = (ShareInterval(share, share, share) for share in (risk.success, risk.unique_share))
    return ColumnAttacker("columns", document.knows, len(risk.columns), 1, True, people, people, success, alone)


def groups_of(document: AttributeRisk, measure: Measure) -> list[Group]:
    """Everybody, and for the worst also those in the smallest groups, down to the smallest of all."""
    who = everything_known(document)
    parts = document.exposed if measure == "worst" else document.exposed[-1:]
    return [
        Group(who, part.share, part.people, part.reidentified, part.reidentified, 1.0, exact=True) for part in parts
    ]


def limits_of(document: AttributeRisk, declared: Declared) -> list[str]:
    """Everything that narrows what was looked at."""
    return [*_narrowed(document, declared)]


def _narrowed(document: AttributeRisk, declared: Declared) -> Iterator[str]:
    found = document.input
    left = [column.name for column in found.unnamed if not column.identifier]
    if left:
        columns = plural(len(left), "column")
        yield f"Not judged: {columns} that an attacker is taken not to know ({_some(left)}); --columns names more."
    if found.id_column is None and not declared.one_id_per_person:
        yield (
            "That nobody has several rows was not checked (--id names the column of the person, "
            "--one-id-per-person declares it)."
        )
    dropped = sum(found.dropped.values())
    if dropped:
        rows = "row was" if dropped == 1 else "rows were"
        yield f"{count(dropped)} {rows} excluded ({', '.join(found.dropped)})."


def unsettled_by(document: AttributeRisk) -> list[str]:
    """What keeps a number within the limit from being enough."""
    return [*_open(document)]


def _open(document: AttributeRisk) -> Iterator[str]:
    if document.people < LEAST_PEOPLE:
        people = plural(document.people, "person", "people")
        yield f"The table has {people}, and fewer than {LEAST_PEOPLE} decide nothing."
    if document.together.groups == 1:
        yield (
            "The columns named have the same value for everybody and tell nobody apart: nothing was judged. Name the "
            "columns that an attacker may know (--columns)."
        )
    telling = [column.name for column in document.input.unnamed if column.identifier]
    if telling:
        each = "has" if len(telling) == 1 else "have"
        yield (
            f"{_some(telling)} {each} another value for nearly everybody and identifies people by itself if it is "
            "released: drop it from the file, or name it in --columns."
        )


def told(document: AttributeRisk, declared: Declared) -> list[str]:
    """What was declared, who was counted, and what the ids are taken to be."""
    people = (
        f"All {plural(document.people, 'person', 'people')} in the table were counted; the shares are exact for them."
    )
    ids = f"The ids in {document.input.id_column} are taken to say nothing about who people are."
    return [*declared_statements(declared), people, *([ids] if document.input.id_column is not None else [])]


def _some(names: list[str]) -> str:
    return listed(names) if len(names) <= _FEW else f"{', '.join(names[:_FEW])} and {len(names) - _FEW} more"
