"""What people watch: the numbers are those of the theory, the intervals hold, fake reports move no more than is said."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from collector_made import drinks, fixed, places
from facts_made import facts_of, honest, honest_cells
from jsonschema import Draft202012Validator
from msgspec.structs import replace

from entropie.collector.document import Limits
from entropie.collector.facts import observed
from entropie.collector.sqlite_store import SqliteStore
from entropie.collector.status import SHOWN_ITEMS, named, status
from entropie.collector.store import Batch, Hour
from entropie.schemas import schema

CHECK = Draft202012Validator(schema("status"))


def test_the_document_keeps_to_its_schema():
    for facts in (honest(drinks(), 0), honest(drinks(), 1), honest(places(), 500, hours=(Hour(1, 500, 2, 3),), hour=1)):
        document = status(facts).to_json()
        CHECK.validate(json.loads(json.dumps(document, allow_nan=False)))


def test_guarantees_by_attacker_are_those_of_the_collection():
    collection = drinks(people=1000, limits=Limits("0.5", "0.99", None, "1"))
    found = status(honest(collection, 40))
    alone, everything, knowing = found.guarantees
    declared, present = collection.guarantee_for(1000), collection.guarantee_for(40)
    assert (alone.error, alone.certainty) == (declared.bayes_error, declared.posterior_max)
    assert (everything.error, everything.certainty) == (
        declared.all_reports.bayes_error,
        declared.all_reports.posterior_max,
    )
    assert (knowing.people, knowing.error) == (40, present.all_reports.bayes_error)
    assert alone.error > everything.error > knowing.error
    assert (found.limits.error, found.limits.certainty) == (0.5, 0.99)


def test_people_are_the_fewest_who_can_have_sent_the_reports():
    collection = fixed(drinks(), reports_per_person="3")
    assert [status(honest(collection, reports)).came.people for reports in (0, 1, 3, 4)] == [0, 1, 1, 2]


def test_before_the_first_report_there_is_nothing_to_show():
    found = status(honest(drinks(), 0))
    assert found.estimates.missing == "No report has come yet."
    assert len(found.guarantees) == 2
    assert found.to_json()["influence"]["one_report"] is None


@pytest.mark.parametrize(
    "collection",
    [drinks(items=30), places(pool=256, epsilon=5.0), places(pool=4096)],
    ids=["rr", "glh, small pool", "glh"],
)
def test_95_percent_intervals_hold_at_least_93_percent_of_shares(collection):
    """The shares are those of the people drawn from, and some items are held by nobody."""
    rng = np.random.default_rng(11)
    size = collection.device.domain_size
    shares = np.zeros(size)
    shares[: size // 2] = 1.0 / np.arange(1, size // 2 + 1)
    shares /= shares.sum()
    held = runs = wrong = 0
    for _ in range(8):
        values = rng.choice(size, 6000, p=shares).astype(np.uint64)
        shown = status(facts_of(collection, honest_cells(collection, values, rng))).estimates.shown
        held += sum(one.low <= shares[one.code] <= one.high for one in shown)
        wrong += any(one.stands_out and shares[one.code] == 0.0 for one in shown)
        runs += len(shown)
    assert held / runs >= 0.93
    assert wrong <= 3  # 5 % of runs are allowed: more than 3 of 8 happen in less than 1 of 2,000


def test_a_small_pool_widens_the_intervals():
    few, many = (status(honest(places(pool=pool, epsilon=5.0), 5000)).estimates.shown[0] for pool in (256, 65_536))
    assert few.high - few.low > 1.1 * (many.high - many.low)


def test_names_and_order():
    found = status(honest(drinks(items=150), 3000)).estimates
    assert len(found.shown) == SHOWN_ITEMS
    assert found.shown[0].name == "drink 0"
    assert [one.share for one in found.shown] == sorted((one.share for one in found.shown), reverse=True)
    assert status(honest(places(), 300)).estimates.shown[0].name is None
    assert found.shown[0].stands_out
    assert found.shown[0].share >= found.detectable_share


@pytest.mark.parametrize("collection", [drinks(items=20), places(pool=256)], ids=["rr", "glh"])
def test_fake_reports_move_an_estimate_by_the_published_bound_and_no_more(collection):
    """All fake reports support one item: the most they can do. The bound is nearly reached."""
    rng, fake, item = np.random.default_rng(12), 300, 3
    values = rng.integers(0, collection.device.domain_size, 6000).astype(np.uint64)
    cells = honest_cells(collection, values, rng)
    sure = honest_cells(collection, np.full(20_000, item, np.uint64), rng)
    before = facts_of(collection, cells).estimates.probabilities
    supports = np.array([facts_of(collection, sure[i : i + 1]).supports[item] for i in range(2000)]) == 1
    forged = np.resize(sure[:2000][supports], fake)
    after = facts_of(collection, np.concatenate([cells, forged]))
    bound = collection.influence(fake, after.total)
    moved = after.estimates.probabilities - before
    assert abs(moved).max() <= bound
    assert moved[item] > 0.6 * bound
    assert status(after).influence.one_percent_of_reports == pytest.approx(collection.influence(100, 10_000))


@pytest.mark.parametrize("collection", [drinks(items=20), places(pool=256)], ids=["rr", "glh"])
def test_a_name_that_is_looked_up_has_the_estimate_of_its_code(collection):
    facts = honest(collection, 2000)
    whole = {one.code: one for one in status(facts).estimates.shown}
    names = ["drink 3", "drink 19", "drink 0"] if collection.items else ["tea", "Zürich", "<b>"]
    for name, one in zip(names, named(facts, names), strict=True):
        assert one == replace(whole[collection.code_of(name)], name=name)


def test_names_are_looked_up_where_there_are_too_many_items_to_show():
    collection = places(size=10**9, hash_size=32, epsilon=4.0, pool=4096)
    code = collection.code_of("tea")
    facts = facts_of(collection, honest_cells(collection, np.full(3000, code, np.uint64), np.random.default_rng(2)))
    assert status(facts).estimates.missing == "There are too many items to estimate all of them live; look up names."
    tea, other = named(facts, ["tea", "coffee"])
    assert tea.stands_out
    assert tea.low <= 1.0 <= tea.high
    assert not other.stands_out
    assert named(honest(drinks(), 0), ["drink 1"]) == ()


def test_facts_come_from_a_store(tmp_path):
    collection = drinks()
    store = SqliteStore(tmp_path / "store")
    store.create(collection.canonical)
    store.add([Batch(collection.id, (1, 2, 3, 3), (4, 4, 0, 0), invalid=2)])
    held = store.find(collection.id)
    found = status(observed(store, held, path=tmp_path / "store"))
    store.end()
    assert (found.came.reports, found.came.duplicate, found.came.invalid) == (3, 1, 2)
    assert found.hours[-1].accepted == 3
    assert found.estimates.shown[0].code == 4
    assert math.isfinite(found.influence.one_report)


def test_the_chart_of_hours_ends_with_this_hour() -> None:
    """A clock that was years ahead for a while leaves hours that nobody has seen yet; their reports count all the same."""
    hours = (Hour(100, 5, 1, 1), Hour(101, 7, 0, 0), Hour(300_000, 9, 2, 2))
    found = status(honest(places(), 21, hours=hours, hour=101))
    assert [one.accepted for one in found.hours] == [5, 7]
    assert (found.came.duplicate, found.came.invalid) == (3, 3)
