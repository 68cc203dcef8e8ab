"""What is measured on a table with one row per person beyond bits: the measures of the literature, by their names."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, field

from entropie.document.base import AtLeastOne, Count, Part, Sha256, Share, Size
from entropie.document.measured import Interval, ShareInterval


class ClassSizes(Part, frozen=True):
    """How many classes, and people in them, have a size from one number to another."""

    at_least: AtLeastOne
    at_most: Annotated[int | None, Meta(description="null for the largest ones.")]
    classes: Count
    people: Count


class Anonymity(Part, frozen=True):
    """k-anonymity over the quasi-identifiers: a class is all who share their combination."""

    columns: tuple[str, ...]
    k: Annotated[int, Meta(ge=1, description="The smallest class.")]
    classes: AtLeastOne
    sizes: tuple[ClassSizes, ...]
    meaning: str


class RecordRisk(Part, frozen=True):
    """The risk of records by a name that users of ARX know.

    prosecutor   knows that somebody is in the table: one of all in their class
    journalist   does not know it: one of all in their class of the population
    marketer     wants as many as possible and does not care who
    """

    attacker: Literal["prosecutor", "journalist", "marketer"]
    basis: Literal["table", "population", "estimated"]
    highest: Annotated[Share | None, Meta(description="Of any record; null for the marketer, and where estimated.")]
    average: Share
    interval: Annotated[ShareInterval | None, Meta(description="Of the average, where it is an estimate.")]
    threshold: Share
    at_risk: Annotated[Share | None, Meta(description="Records above the threshold; null for the marketer.")]
    meaning: str


class Recursive(Part, frozen=True):
    """Recursive (c, l)-diversity holds for every c above this one."""

    different: Annotated[int, Meta(ge=2)] = field(name="l")
    c: Size


class Inference(Part, frozen=True):
    """How well a sensitive column is guessed from the quasi-identifiers by whoever has the table.

    in_table        share of people guessed right from their own class of the table
    left_out        the same for people left out: the guess is made from the other people alone
    baseline        share guessed right without any column
    over_baseline   (in_table - baseline)/(1 - baseline); null where the baseline is always right
    over_left_out   (in_table - left_out)/(1 - left_out): what being in the table adds
    tolerance       a number counts as right so near the truth; null for categories, which must be equal
    people          who was guessed, all of whom have a value
    """

    in_table: ShareInterval
    left_out: ShareInterval
    baseline: ShareInterval
    over_baseline: Interval | None
    over_left_out: Interval | None
    tolerance: float | None
    people: AtLeastOne
    meaning: str


class SensitiveColumn(Part, frozen=True):
    """What the classes give away about a sensitive column.

    distinct_l   different values in the class that has the fewest
    entropy_l    2 to the entropy of the class that has the least
    recursive    for every l up to distinct_l (five at most)
    t            the largest distance of a class from the whole table
    distance     ordered: earth mover's over the order of numbers; equal: half the sum of differences
    disclosed    share of people whose class has a single value
    """

    column: str
    values: AtLeastOne
    distinct_l: AtLeastOne
    entropy_l: Annotated[float, Meta(ge=1)]
    recursive: tuple[Recursive, ...]
    t: Share
    distance: Literal["ordered", "equal"]
    disclosed: Share
    inference: Inference
    meaning: str


class PopulationFile(Part, frozen=True):
    """The table beside a file of the whole population.

    k_map           the smallest class of the population that anybody of the table is in
    delta_min/max   delta-presence: of those who share a combination in the population, the share that is in the table
    unique_share    share of the table's people who are alone with their combination in the population
    bits            entropy of the combinations of the population
    """

    name: str
    sha256: Sha256 | None
    people: AtLeastOne
    dropped: dict[str, Count]
    classes: AtLeastOne
    k_map: AtLeastOne
    delta_min: Share
    delta_max: Share
    unique_share: Share
    bits: Size
    meaning: str


class Fitted(Part, frozen=True):
    """One way to estimate what cannot be counted, and its test: fitted to parts of the people, it predicts them all.

    unique   share of the table's people alone with their combination in the population
    success  share named by picking anybody of the population who fits
    a, b     of the curve B(a, b + N - 1)/B(a, b)
    half     what half of the people predict for all of them; eighth likewise
    found    what is true of all of them: the share alone in the table
    good     whether both come close
    """

    method: Literal["ranks", "Pitman-Yor"]
    unique: ShareInterval | None
    success: ShareInterval | None
    a: Size
    b: float
    half: Share
    eighth: Share
    found: Share
    good: bool


class PopulationEstimate(Part, frozen=True):
    """What is to be expected among a population of which only the size is known.

    unique    share of the table's people alone with their combination in the population; null where it cannot be told
    success   share re-identified by picking anybody of the population who fits; likewise
    k_map     expected size of the smallest class of the population that anybody of the table is in
    reason    why nothing is estimated
    """

    people: AtLeastOne
    unique: ShareInterval | None
    success: ShareInterval | None
    k_map: float | None
    fits: tuple[Fitted, ...]
    reason: str | None
    meaning: str


class Linkability(Part, frozen=True):
    """How many rows of one part of the columns are joined to the right row of the other by whoever has the table.

    linked          share of people joined right
    linked_half     the same among half of the people, to compare with the control
    left_out        control: people left out, joined by what the other half's rows say about everybody
    among           people in a half
    chance          joined at random
    over_left_out   (linked_half - left_out)/(1 - left_out); null where the control is always right
    """

    left: tuple[str, ...]
    right: tuple[str, ...]
    linked: ShareInterval
    linked_half: ShareInterval
    left_out: ShareInterval
    among: AtLeastOne
    chance: Share
    over_left_out: Interval | None
    meaning: str
