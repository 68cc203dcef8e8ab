"""The risk of a table of attributes as a result: groups, columns, remedies, and what they amount to in sentences."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from entropie.document import Document, typed
from entropie.document.assessment import About, Review, TailGroup
from entropie.document.base import Count, Part, Provenance, Sha256, Share, Size, converted
from entropie.document.measured import ShareInterval
from entropie.document.table import (
    Anonymity,
    Linkability,
    PopulationEstimate,
    PopulationFile,
    RecordRisk,
    SensitiveColumn,
)
from entropie.document.verdict import Declared, Verdict
from entropie.mitigate.unnamed import UnnamedColumn
from entropie.notebook import html_table
from entropie.words import listed, percent, plural

FILE, SCHEMA = "attributes.json", "entropie.attributes/1"
SMALL_GROUP = 10
"""A combination that fewer people share singles them out, or nearly so."""
_HELPS = 0.8  # bands are advised where at most this share of the risk is left
_MOST = 0.5
_FEW = 6  # columns that a sentence lists by name


class GroupRisk(Part, frozen=True):
    """What knowing some columns of everybody gives an attacker.

    bits           information about who a person is, exact for these people: the entropy of the combinations
    bits_low/high  95 % interval for the people they are a sample of; no upper end where too many are alone
    success        expected share of people re-identified by picking anybody of those who fit: groups/people
    unique_share   people who share their combination with nobody
    small_share    people who share it with fewer than ten, themselves counted
    """

    columns: Annotated[tuple[str, ...], Meta(min_length=1)]
    bits: Size
    bits_low: Size
    bits_high: float | None
    groups: Count
    smallest_group: Count
    success: Share
    unique_share: Share
    small_share: Share


class ColumnRisk(Part, frozen=True):
    """One column: what it says alone, what it adds to the others, and what is left of that in bands.

    kind            numbers; codes written in digits, which bands would make no sense of; or categories
    can_be_banded   whether its values are numbers that bands can be made of on request
    identifier      whether it is different for everybody: it identifies people by itself and should be dropped
    alone           what its values say
    bands           how many bands are proposed for its numbers, and of which width; None where none are
    banded          what it says in these bands
    adds_bits       bits lost when it alone is dropped from all columns; adds_success likewise
    average_bits    the same averaged over all orders in which columns become known (Shapley); None for many columns
    """

    name: str
    kind: Literal["numbers", "codes", "categories"]
    can_be_banded: bool
    identifier: bool
    values: Count
    missing_share: Share
    alone: GroupRisk
    bands: int | None
    band_width: float | None
    banded: GroupRisk | None
    adds_bits: float
    adds_success: float
    average_bits: float | None


class Step(Part, frozen=True):
    """One column more for an attacker who learns the most identifying one next."""

    column: str
    adds_bits: float
    bits: float
    success: Share


class Remedy(Part, frozen=True):
    """Something to give up, and what that does to the risk of all columns together.

    bits_given_up   information of the column itself that is lost: the price
    success_drop    by how much the expected success falls: what is bought
    drop_per_bit    the second over the first; None where the column holds nothing
    """

    action: Literal["drop", "coarsen"]
    column: str
    how: str
    bits_given_up: float
    success: Share
    success_drop: float
    unique_share: Share
    drop_per_bit: float | None


class ColumnAttacker(Part, frozen=True):
    """An attacker who knows some random columns of everybody: columns as points; or all those named (`columns`).

    points         how many columns are known
    sets           over how many sets of so many columns the shares are averaged, and whether these are `all` of them
    reidentified   share of people named by picking anybody of those who fit
    unicity        share of people who alone fit
    """

    attacker: Literal["points", "columns"]
    knows: str
    points: Count
    sets: Count
    all: bool
    people: Count
    targets: Count
    reidentified: ShareInterval
    unicity: ShareInterval


class TableInput(Part, frozen=True):
    """What was read: the name of the table, its SHA-256 (null in memory), its people, rows excluded by reason.

    id_column   the column by which nobody was found to come twice; null where none was named
    unnamed     columns that were not assessed
    """

    name: str
    sha256: Sha256 | None
    people: Count
    dropped: dict[str, Count]
    id_column: str | None = None
    unnamed: tuple[UnnamedColumn, ...] = ()


class Made(Part, frozen=True):
    """By which version and which command."""

    version: str
    command: str | None


class AttributeRisk(Part, frozen=True, tag_field="schema", tag=SCHEMA):
    """What a table of attributes says about who its people are: sizes of groups and widths of bands, nobody's values.

    name_bits            bits that identify anybody here, and the most that so many people can show
    sets                 every set of up to so many columns, as they stand
    together             all columns as they stand; `knows` says them in a few words
    exposed              people in the smallest groups of all columns, from the smallest group on to everybody; exact
    identifiers          columns that are different for everybody
    without_identifiers  the columns left when those that identify people by themselves are dropped; null where none do
                         or none is left
    banded               these columns with numbers in the bands of `columns`; null where no bands are proposed
    attackers            people who know some random columns of everybody
    remedies             what to give up next: from banded, else without_identifiers, else together
    anonymity            k-anonymity of all columns as they stand, and so are all that follow
    record_risk          prosecutor, marketer and, beside a population, journalist
    sensitive            what is learnt about each sensitive column
    population           the table beside a file of the population; null without
    estimate             what is expected in a population of a given size; null without
    links                how well rows are joined from two sets of columns
    """

    input: TableInput
    people: Count
    name_bits: Size
    small_group: Count
    guessing_success: Share
    columns: tuple[ColumnRisk, ...]
    sets: tuple[GroupRisk, ...]
    together: GroupRisk
    identifiers: tuple[str, ...]
    without_identifiers: GroupRisk | None
    banded: GroupRisk | None
    greedy: tuple[Step, ...]
    attackers: tuple[ColumnAttacker, ...]
    remedies: tuple[Remedy, ...]
    anonymity: Anonymity
    record_risk: tuple[RecordRisk, ...]
    sensitive: tuple[SensitiveColumn, ...]
    population: PopulationFile | None
    estimate: PopulationEstimate | None
    links: tuple[Linkability, ...]
    knows: str
    sentences: tuple[str, ...]
    provenance: Provenance
    exposed: tuple[TailGroup, ...]
    declared: Declared | None = None
    verdict: Annotated[Verdict | None, Meta(description="null where no limit was named.")] = None
    review: Review | None = None
    about: About = About(None, None, None, None, None, None)

    def __post_init__(self) -> None:
        msgspec.structs.force_setattr(self, "knows", named(self.together))
        msgspec.structs.force_setattr(self, "sentences", self._told())

    @property
    def start(self) -> GroupRisk:
        """The table that the remedies start from: identifiers dropped, numbers in bands, where there are any."""
        return self.banded or self.without_identifiers or self.together

    def _told(self) -> tuple[str, ...]:
        """The risk of the table as it stands; what is left of it without identifiers, and in bands."""
        risk, chance = self.together, percent(1.0 / self.people)
        people = plural(self.people, "person", "people")
        some = [
            f", {percent(row.reidentified.value)} by {row.knows}"
            for row in self.attackers
            if row.points < len(risk.columns)
        ]
        first = (
            f"{percent(risk.success)} of {people} are re-identified by {named(risk)} (by chance: {chance})"
            f"{''.join(some[-1:])}; "
            f"{percent(risk.unique_share)} share their values with nobody."
        )
        sentences = [first]
        if self.without_identifiers is not None:
            rest = self.without_identifiers
            dropped = [name for name in self.identifiers if name not in rest.columns]
            sentences.append(
                f"Drop {listed(dropped)}, different for everybody: {percent(rest.success)} are still re-identified by "
                f"{named(rest)}."
            )
        if self.banded is not None:
            sentences.append(self._bands_sentence(self.banded, (self.without_identifiers or risk).success))
        return tuple(sentences)

    def _bands_sentence(self, banded: GroupRisk, before: float) -> str:
        """Whether to release bands: only where they lower the risk noticeably, and how much is left."""
        widths = [f"{width_text(one.band_width)} ({one.name})" for one in self.columns if one.band_width is not None]
        left = f"{percent(banded.success, beside=before)} are still re-identified instead of {percent(before)}"
        if banded.success >= before:
            return f"Bands of {listed(widths)} do not help: {percent(before)} are re-identified all the same."
        if banded.success > _HELPS * before:
            return f"Bands of {listed(widths)} hardly help: {left}."
        if banded.success > _MOST * before:
            return f"Bands of {listed(widths)} are not enough: {left}."
        return f"Release bands of {listed(widths)} instead of the numbers: {left}."

    def __repr__(self) -> str:
        head = f"Attributes of {plural(self.people, 'person', 'people')} in {plural(len(self.columns), 'column')}"
        return "\n".join([head, *(f"  {sentence}" for sentence in self.sentences)])

    def _repr_html_(self) -> str:
        headers = ("column", "values", "bits", "re-identified", "unique", "adds bits")
        rows = [
            (one.name, one.values, one.alone.bits, one.alone.success, one.alone.unique_share, one.adds_bits)
            for one in self.columns
        ]
        return html_table(" ".join(self.sentences), headers, rows)


def document_of(document: Any) -> Document | AttributeRisk:
    """A plain document of either kind, checked whole."""
    if isinstance(document, dict) and document.get("schema") == SCHEMA:
        return converted(document, AttributeRisk, "The document", "make it anew with `entropie attributes`")
    return typed(document)


def named(risk: GroupRisk) -> str:
    """The columns of a set; only their number where there are many."""
    return listed(risk.columns) if len(risk.columns) <= _FEW else f"{len(risk.columns)} columns"


def width_text(width: float) -> str:
    """The width of a band as people write it."""
    return f"{width:,.0f}" if width >= 1.0 and width == round(width) else f"{width:g}"
