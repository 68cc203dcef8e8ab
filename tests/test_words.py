"""How numbers are written for people: the digits that matter, never a false 0, 100 or limit."""

from __future__ import annotations

import doctest

import pytest
from hypothesis import given
from hypothesis import strategies as st

from entropie import words


def plain(text: str) -> str:
    return text.replace("\N{NO-BREAK SPACE}", " ")


def test_the_examples_hold():
    assert doctest.testmod(words).failed == 0


@pytest.mark.parametrize(
    ("share", "text"),
    [(0.5702, "57 %"), (0.956, "96 %"), (0.9896, "99 %"), (0.9952, "99.5 %"), (0.99984, "99.98 %"), (0.053, "5.3 %"),
     (0.09, "9 %"), (0.008, "0.8 %"), (0.000236, "0.02 %"), (0.0, "0 %"), (1.0, "100 %"), (1.09, "109 %"), (1e-9, "0.0000001 %")],
)  # fmt: skip
def test_shares(share, text):
    assert plain(words.percent(share)) == text


@given(st.floats(1e-9, 1 - 1e-9))
def test_no_share_is_rounded_to_nothing_or_to_all(share):
    assert plain(words.percent(share)) not in ("0 %", "100 %")


@given(st.floats(0.001, 0.999), st.floats(-0.01, 0.01))
def test_a_share_beside_a_limit_never_looks_equal_to_it(limit, gap):
    share = limit + gap
    if 0.0 < share < 1.0 and abs(share - limit) > 1e-9:
        assert words.percent(share, beside=limit) != words.stated(limit)


@given(st.floats(0, 1), st.floats(0, 1))
def test_order_is_kept(first, second):
    low, high = sorted((first, second))
    shown = [float(plain(words.percent(share)).removesuffix(" %").replace(",", "")) for share in (low, high)]
    assert shown[0] <= shown[1]


@pytest.mark.parametrize(
    ("value", "text"), [(0.84, "0.8 s"), (12.3, "12 s"), (59.7, "1 min 0 s"), (200, "3 min 20 s"), (7500, "2 h 5 min")]
)
def test_times(value, text):
    assert plain(words.seconds(value)) == text


@pytest.mark.parametrize(("value", "text"), [(1234, "1.23 kB"), (5e6, "5 MB"), (1.6e10, "16 GB"), (3.56e14, "356 TB")])
def test_sizes(value, text):
    assert plain(words.size(value)) == text


@pytest.mark.parametrize(
    ("value", "text"), [(0.0, "0"), (1234.5, "1,230"), (0.01234, "0.0123"), (99.96, "100"), (float("inf"), "infinite")]
)
def test_numbers(value, text):
    assert words.digits(value) == text
