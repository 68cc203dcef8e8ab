"""What is told before long attacks: their price for these very people."""

from __future__ import annotations

import numpy as np
import pytest

from entropie.cli import output
from entropie.data.split import Split, split_traces
from entropie.data.traces import Traces
from entropie.plan import expected
from entropie.plan.expected import expected_seconds, foretell
from entropie.progress import EXPECTED
from entropie.request import Request


def sharing(people: int, items: int) -> Split:
    """People with twelve events each, at items that all share."""
    rng = np.random.default_rng(1)
    return split_traces(
        Traces(np.arange(0, 12 * people + 1, 12), rng.integers(0, items, 12 * people, np.uint32), items)
    )


def test_people_who_share_their_items_take_the_square_of_them() -> None:
    request = Request.of(None, {"threads": 1})
    few, many = (expected_seconds(request, sharing(people, 10)) for people in (40_000, 160_000))
    assert 12.0 < many / few < 17.0
    assert expected_seconds(request, sharing(160_000, 400_000)) < many / 4
    twice = Request.of(None, {"threads": 2})
    assert 1.5 < many / expected_seconds(twice, sharing(160_000, 10)) <= 2.0


def test_it_is_told_where_it_is_long(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    told: list[str] = []
    request = Request.of(None, {"progress": lambda stage, share: told.append(stage)})
    foretell(request, sharing(200, 10))
    assert told == []
    monkeypatch.setattr(expected, "_WORTH_TELLING_SECONDS", 0.0)
    foretell(request, sharing(200, 10))
    assert told[0].startswith(f"{EXPECTED}about ")
    assert told[0].endswith(" for the attacks on 200 people")
    for quiet in (False, True):
        with output.stages(quiet=quiet) as progress:
            progress(told[0], 0.0)
        assert (capsys.readouterr().err == f"entropie: {told[0]}.\n") is not quiet
