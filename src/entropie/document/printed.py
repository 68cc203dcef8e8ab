"""What the commands print that write no document of their own: `obfuscate`, `estimate`, `plan`, `collect`."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import UNSET, Meta, UnsetType

from entropie.document.base import AtLeastOne, Count, Part, Sha256, Share, Size, Unlimited


class Obfuscated(Part, frozen=True):
    """Reports made from a column of items."""

    rows: Count
    out: str
    shuffled: Annotated[bool, Meta(description="The rows are in random order.")]
    kept: Annotated[list[str], Meta(description="Columns that were kept unchanged.")]
    parameters: str
    parameters_id: Sha256
    dictionary: str | None
    epsilon: Unlimited
    theta: Share
    simulated: Annotated[bool, Meta(description="Made with a seed: protects nobody.")]
    seconds: Size


class EstimatedItem(Part, frozen=True):
    """The share of one item, which may be negative."""

    code: Count
    share: float
    standard_error: Size
    low: float
    high: float
    significant: bool
    consistent_share: Annotated[
        Share | UnsetType, Meta(description="Of a distribution: at least 0, sum 1, not unbiased.")
    ] = UNSET
    likely_share: Annotated[
        Share | UnsetType, Meta(description="Of the most likely distribution: at least 0, sum 1, not unbiased.")
    ] = UNSET
    likely_standard_error: Annotated[
        Unlimited | UnsetType,
        Meta(description="Of likely_share; null at 0, and where many items have a share."),
    ] = UNSET
    item: str | UnsetType = UNSET


class Estimated(Part, frozen=True):
    """The largest shares estimated from reports."""

    parameters_id: Sha256
    reports: Count
    domain_size: Count
    level: Annotated[Share, Meta(description="Confidence level of the intervals.")]
    threshold: Annotated[Size, Meta(description="Share above which an estimate stands out from noise.")]
    significant_items: Count
    estimates: list[EstimatedItem]
    out: str | None
    counts: str | None
    likely_is_closer: Annotated[
        bool | UnsetType,
        Meta(description="Whether consistent_share is likely_share, which halves favour."),
    ] = UNSET


class PlannedMachines(Part, frozen=True):
    """What the work runs on."""

    executors: Count
    cores_per_executor: Count
    cores: Count
    memory_bytes_per_executor: Count
    bytes_per_second_per_executor: Count


class PlannedBlocks(Part, frozen=True):
    """How each attack is cut."""

    user_blocks: AtLeastOne
    target_splits: AtLeastOne
    users_per_block: AtLeastOne
    bytes_per_block: AtLeastOne
    cells: AtLeastOne


class CoreHours(Part, frozen=True):
    """Over all attacks."""

    read: Size
    encode: Size
    models: Size
    scoring: Size
    merging: Size
    attackers: Size
    measures: Size
    total: Size


class Hours(Part, frozen=True):
    """From start to end."""

    start: Size
    ingest: Size
    grid: Size
    last_tasks: Size
    total: Size


class ClusterHours(Hours, frozen=True):
    """The same where data are moved between machines."""

    moving: Size


class NothingMoved(Part, frozen=True):
    """One machine moves nothing."""

    total: Count


class ShuffleBytes(NothingMoved, frozen=True):
    """What is moved between executors."""

    events: Count
    models: Count
    results: Count


class MemoryBytes(Part, frozen=True):
    """What one machine needs and has."""

    block: Count
    process: Count
    machine: Count


class ClusterMemory(Part, frozen=True):
    """What the machines of a cluster need and have."""

    block: Count
    executor: Count
    executor_tasks: Count
    task: Count
    last_task: Count
    driver: Count


class Fits(Part, frozen=True):
    """Whether the memory suffices."""

    block: bool
    last_task: bool
    process: bool


class Planned(Part, frozen=True):
    """What an assessment would take."""

    schema: Literal["entropie.plan/1"]
    users: Annotated[int, Meta(ge=2)]
    targets: Annotated[int, Meta(ge=2, description="People attacked.")]
    events: Annotated[int, Meta(ge=4)]
    items: AtLeastOne
    matchers: Annotated[list[str], Meta(min_length=1)]
    known_events: list[AtLeastOne]
    attacks: Annotated[AtLeastOne, Meta(description="Attacks of all matchers.")]
    distinct_share: Annotated[float, Meta(gt=0, le=1, description="Distinct items per event of a person.")]
    people_per_event: Annotated[float, Meta(gt=0, description="People who have the item of a random event.")]
    machines: PlannedMachines
    blocks: PlannedBlocks
    pairs_per_attack: Annotated[int, Meta(ge=4)]
    matched_pairs: Annotated[Size, Meta(description="Over all attacks: features of targets times people with them.")]
    core_hours: CoreHours
    scoring_core_hours: Annotated[dict[str, Size], Meta(min_length=1, description="By matcher.")]
    disk_bytes_per_executor: Count
    fits: Fits
    sentences: Annotated[list[str], Meta(min_length=2)]


class PlannedHere(Planned, frozen=True, tag_field="engine", tag="local"):
    """On one machine."""

    hours: Hours
    shuffle_bytes: NothingMoved
    memory_bytes: MemoryBytes


class PlannedOnCluster(Planned, frozen=True, tag_field="engine", tag="spark"):
    """On a cluster."""

    hours: ClusterHours
    shuffle_bytes: ShuffleBytes
    memory_bytes: ClusterMemory


class CollectionMade(Part, frozen=True):
    """A collection document, and what it guarantees against an attacker who holds all reports."""

    id: Sha256
    out: str
    people: AtLeastOne
    reports_per_person: AtLeastOne
    cells: AtLeastOne
    epsilon: Unlimited
    bayes_error: Annotated[Share, Meta(description="Error rate of the attacker, at least.")]
    list_error: Annotated[Share, Meta(description="The same with as many guesses as declared.")]
    certainty: Annotated[Share, Meta(description="About one person, at most.")]
    influence_of_one: Annotated[Unlimited, Meta(description="How far one fake report moves a share, at most.")]


class ReportsTaken(Part, frozen=True):
    """Records in files that became reports, each once."""

    reports: Count
    duplicate: Count
    invalid: Count


class StoresMerged(Part, frozen=True):
    """A store made of others."""

    out: str
    reports: Annotated[dict[str, Count], Meta(description="By the id of the collection.")]
