"""The collection document: canonical bytes, id, what is refused, what everybody derives from it."""

from __future__ import annotations

import datetime
import hashlib
import json

import pytest
from collector_made import FAR_AWAY, LONG_AGO, SEED, drinks, fixed, places
from hypothesis import given, settings
from hypothesis import strategies as st

from entropie.collector.document import Limits, create, pool_size_for, read, share_text
from entropie.errors import EntropieError, InvalidInput, Unreachable
from entropie.mechanisms.local_hashing import LocalHashing
from entropie.mechanisms.randomized_response import RandomizedResponse


def test_the_document_is_its_bytes_and_its_id_their_hash():
    made = drinks()
    assert read(made.canonical) == made
    assert made.id == hashlib.sha256(made.canonical).hexdigest()
    assert made.canonical == (
        b'{"closes":"2120-01-01","items":["drink 0","drink 1","drink 2","drink 3","drink 4"],"limits":'
        b'{"bayes_error":null,"certainty":null,"list_error":null,"list_size":"1"},"mechanism":{"domain_size":"5",'
        b'"kind":"rr","schema":"entropie.parameters","theta_numerator":"10348292405075850221","version":1},'
        b'"opens":"2020-01-01","people":"10000","pool_size":null,"reports_per_person":"1","schema":'
        b'"entropie.collection","seed":"' + SEED.encode() + b'","title":"Drinks","version":1}'
    )


@settings(max_examples=40)
@given(st.lists(st.text(min_size=1, max_size=12), min_size=2, max_size=5))
def test_any_names_keep_their_bytes(names):
    device = RandomizedResponse(domain_size=len(names), epsilon=1.0)
    try:
        made = create(device, title="t", people=9, opens=LONG_AGO, closes=FAR_AWAY, items=names)
    except InvalidInput:
        return  # half characters, white space alone, the same name twice
    assert read(made.canonical).items == names
    assert made.canonical.isascii()
    assert [made.code_of(name) for name in names] == list(range(len(names)))


@settings(max_examples=60)
@given(st.data())
def test_no_other_bytes_are_read(data):
    """One byte changed, added or removed: refused in a sentence, or another document with another id."""
    made = drinks()
    place = data.draw(st.integers(0, len(made.canonical)))
    inserted = data.draw(st.binary(max_size=2))
    removed = data.draw(st.integers(0, 2))
    content = made.canonical[:place] + inserted + made.canonical[place + removed :]
    try:
        other = read(content)
    except EntropieError:
        return
    assert other.canonical == content
    assert (other.id == made.id) == (content == made.canonical)


@pytest.mark.parametrize(
    "changes",
    [
        {"people": "0"},
        {"people": "01"},
        {"people": 10},
        {"version": 2},
        {"closes": "2019-12-31"},
        {"closes": "2020-13-01"},
        {"items": ["a", "b"]},
        {"items": ["e\u0301", "\u00e9", "c", "d", "e"]},
        {"items": ["a", "b", "c", "d", "\ud800"]},
        {"pool_size": "256"},
        {"seed": "00"},
        {"title": ""},
        {"limits": {"bayes_error": "0.90", "certainty": None, "list_error": None, "list_size": "1"}},
        {"limits": {"bayes_error": "1.1", "certainty": None, "list_error": None, "list_size": "1"}},
        {"limits": {"bayes_error": None, "certainty": None, "list_error": None, "list_size": "0"}},
        {"unknown": 1},
    ],
)
def test_what_breaks_a_rule_is_refused(changes):
    with pytest.raises(EntropieError):
        fixed(drinks(), **changes)


def test_white_space_and_repeated_keys_are_refused():
    made = drinks()
    for content in (
        made.canonical + b"\n",
        json.dumps(json.loads(made.canonical)).encode(),
        made.canonical.replace(b'"people"', b'"people":"1","people"'),
    ):
        with pytest.raises(InvalidInput):
            read(content)


def test_creation_is_refused_below_the_limit():
    device = RandomizedResponse(domain_size=100, epsilon=4.0)
    asked = {"title": "t", "people": 1000, "opens": LONG_AGO, "closes": FAR_AWAY}
    held = device.guarantee(users=1000).all_reports
    create(device, **asked, limits=Limits(share_text("x", held.bayes_error - 1e-6), None, None, "1"))
    with pytest.raises(Unreachable, match="error rate"):
        create(device, **asked, limits=Limits(share_text("x", held.bayes_error + 1e-6), None, None, "1"))
    with pytest.raises(Unreachable, match="Certainty"):
        create(device, **asked, limits=Limits(None, share_text("x", held.posterior_max - 1e-6), None, "1"))
    with pytest.raises(Unreachable, match="10 guesses"):
        create(device, **asked, limits=Limits(None, None, "0.999", "10"))


def test_the_guarantee_does_not_rest_on_average_collisions():
    """With a fixed pool two items may never collide: what is guaranteed is what holds with no collision at all."""
    made = places()
    given = made.guarantee_for(50)
    assert given.mechanism.collision_probability is None
    assert given.alpha_bits >= made.device.guarantee(users=50).alpha_bits


@pytest.mark.parametrize("reports", [1, 100, 10_000, 1_000_000, 10**9])
def test_the_pool_adds_little_variance(reports):
    device = LocalHashing(domain_size=500, hash_size=16, epsilon=2.0)
    size = pool_size_for(device, reports)
    c = float(device.family.collision_probability)
    added = c / ((1 - c) * size)
    assert size & (size - 1) == 0
    assert size == 2**20 or added <= 0.05 * device.rates.l2(0.0, reports)


def test_days_are_both_included():
    made = fixed(drinks(), opens="2026-01-02", closes="2026-01-03")
    days = [datetime.date(2026, 1, day) for day in (1, 2, 3, 4)]
    assert [made.is_open(day) for day in days] == [False, True, True, False]


def test_shares_are_written_with_the_digits_they_have():
    assert [share_text("x", value) for value in (0.9, 1, 0, 0.05, "0.95", None)] == [
        "0.9",
        "1",
        "0",
        "0.05",
        "0.95",
        None,
    ]
