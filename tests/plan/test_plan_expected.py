"""What is told before long attacks: their price for these very people."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from entropie.assessment import assess
from entropie.cli import output
from entropie.data.split import Split, split_traces
from entropie.data.traces import Traces
from entropie.errors import InputTooLarge
from entropie.mitigate.protect import protect
from entropie.plan import expected
from entropie.plan.costs import attacker_bytes
from entropie.plan.expected import check_room, expected_seconds, foretell, foretell_matchers
from entropie.progress import EXPECTED
from entropie.request import Request, Run


def sharing(people: int, items: int) -> Split:
    """People with twelve events each, at items that all share."""
    rng = np.random.default_rng(1)
    return split_traces(
        Traces(np.arange(0, 12 * people + 1, 12), rng.integers(0, items, 12 * people, np.uint32), items)
    )


def test_people_who_share_their_items_take_the_square_of_them() -> None:
    request = Request.of(None, {"threads": 1})
    few, many = (expected_seconds(request, sharing(people, 10)) for people in (40_000, 160_000))
    assert 10.0 < many / few < 17.0  # 16 for pairs, 4 for what each target and person takes
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


def test_attacks_that_memory_has_no_room_for_are_refused() -> None:
    """Reading them would fit: what attackers learn from takes 51 kB for each of at most 4,500 people."""
    split = sharing(2000, 10)
    needed = 24_000 * 410 + 2000 * (51_000 + 20_000)
    check_room(Request.of(None, {"memory": needed}), split)
    with pytest.raises(InputTooLarge, match=r"The attack on 2,000 people takes more memory .* with `memory=`"):
        check_room(Request.of(None, {"memory": needed - 1}), split)
    rng = np.random.default_rng(3)
    table = pa.table({"user": np.repeat(np.arange(1200), 12), "item": rng.integers(0, 9, 14_400)})
    with pytest.raises(InputTooLarge, match="The attack on 1,200 people"):
        assess(table, memory=0x4000000)


def test_the_papers_size_has_room_where_it_was_measured_to_have() -> None:
    """GB that whole runs held (docs/scaling.md): what is refused is little more than that."""
    for people, events, attacked, held in ((342_659, 21_200_000, 20_000, 2.7), (1_370_637, 84_900_000, 20_000, 8.9)):
        assert held < attacker_bytes(people, events, attacked) / 1e9 < 1.3 * held
    assert 11.2 < attacker_bytes(1_370_637, 84_900_000, 1_370_637) / 1e9 < 1.3 * 11.2


def test_protection_tells_it_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(expected, "_WORTH_TELLING_SECONDS", 0.0)
    rng = np.random.default_rng(2)
    table = pa.table({"user": np.repeat(np.arange(30), 12), "item": rng.integers(0, 9, 360), "time": np.arange(360)})
    for job in (
        lambda progress: protect(table, 0.5, matchers=["visit"], progress=progress),
        lambda progress: assess(table, matchers=["visit"], protect=0.5, replicates=20, progress=progress),
    ):
        told: list[str] = []
        job(lambda stage, share, told=told: told.append(stage))
        first = next(place for place, stage in enumerate(told) if stage.startswith(("attacking", "protecting")))
        assert [stage for stage in told[:first] if stage.startswith(EXPECTED)]
        protecting = [place for place, stage in enumerate(told) if stage == "protecting: calibration"]
        assert all(told[place - 1].startswith(EXPECTED) for place in protecting)


def test_more_mitigations_are_more_attacks(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[float] = []
    monkeypatch.setattr(expected, "seconds", lambda value: told.append(value) or "some time")
    monkeypatch.setattr(expected, "_WORTH_TELLING_SECONDS", 0.0)
    split, run = sharing(200, 10), Run(threads=1)
    for times in (1.0, 7.0):
        foretell_matchers(["visit"], split, run, times)
    assert told[1] == pytest.approx(7.0 * told[0])
