"""Two ways to the information of a datum, from traces and from a joint law: they compute the same number."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from entropie.attack.single import pie_bits
from entropie.data.traces import Traces
from entropie.theory.joint import Joint
from entropie.theory.joint import pie_bits as joint_pie_bits


def random_traces(rng: np.random.Generator, users: int, longest: int, domain: int) -> Traces:
    """Traces of 1 to `longest` events with popular and rare items."""
    lengths = rng.integers(1, longest + 1, users)
    offsets = np.concatenate(([0], np.cumsum(lengths))).astype(np.int64)
    items = (domain * rng.random(offsets[-1]) ** 2).astype(np.uint32)
    return Traces(offsets, items, domain)


def joint_of(traces: Traces) -> Joint:
    """Uniform users, each of whom draws one of her own events."""
    lengths = np.diff(traces.offsets)
    return Joint.sparse(traces.offsets, traces.items, np.repeat(1.0 / lengths, lengths), traces.domain_size)


@settings(deadline=None)  # the first call compiles
@given(
    st.integers(0, 2**32 - 1),
    st.integers(1, 30),
    st.integers(1, 20),
    st.integers(1, 200),
    st.sampled_from([0.0, 1e-6, 0.03, 0.5, 0.999, 1.0]),
)
def test_traces_and_their_joint_law_agree(seed: int, users: int, longest: int, domain: int, theta: float) -> None:
    traces = random_traces(np.random.default_rng(seed), users, longest, domain)
    expected = joint_pie_bits(joint_of(traces), theta)
    assert pie_bits(traces, theta=theta) == pytest.approx(expected, rel=1e-9, abs=1e-14)


def test_another_law_of_users_is_noticed() -> None:
    """Power: people weighted by their number of events, as if events were drawn, give another number."""
    traces = random_traces(np.random.default_rng(1), 20, 20, 50)
    by_events = Joint.sparse(traces.offsets, traces.items, np.ones(traces.events), traces.domain_size)
    assert abs(pie_bits(traces) - joint_pie_bits(by_events)) > 0.01
