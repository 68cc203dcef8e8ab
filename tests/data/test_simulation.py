"""Simulated people: the same for the same seed, of the published size, with the habits the model speaks of."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from itertools import combinations, pairwise
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from digests import traces_sha256

from entropie.attack.measured import measured_attack
from entropie.data import simulation
from entropie.data.events import read_events
from entropie.data.filter import keep_active_users
from entropie.data.simulation import WORLDS, World, event_law, find_world, simulate_file, simulate_traces
from entropie.data.simulation_fit import CURVE, FitTable, fit_table
from entropie.data.split import split_traces
from entropie.data.traces import Traces
from entropie.errors import InvalidInput, InvalidParameter
from entropie.request import Run, Source

DATA = Path(__file__).resolve().parents[2] / "../shared/data"
CITIES = {"new-york": "foursquare_nyc.parquet", "sao-paulo": "foursquare_saopaulo.parquet"}
FOURSQUARE_PLACES_PER_USER = 10_500_393 / 1_370_637
MOVIES = 58_098


def rows(traces: Traces) -> list[list[int]]:
    return [traces.items[low:high].tolist() for low, high in pairwise(traces.offsets.tolist())]


# --- the same for the same seed


@pytest.mark.parametrize("kind", ["foursquare", "new-york", "movielens"])
def test_neither_threads_nor_blocks_nor_the_file_change_anybody(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    want = traces_sha256(simulate_traces(kind, 700, seed=3, threads=1))
    monkeypatch.setattr(simulation, "_BLOCK_USERS", 59)
    assert traces_sha256(simulate_traces(kind, 700, seed=3, threads=2)) == want
    made = simulate_file(kind, 700, seed=3, path=tmp_path / "events.parquet", threads=2)
    read = read_events(Source(tmp_path / "events.parquet")).traces
    assert traces_sha256(read) == want
    assert (made.users, made.items, made.events) == (read.users, read.domain_size, read.events)
    assert traces_sha256(simulate_traces(kind, 700, seed=4)) != want


def test_a_file_is_written_in_row_groups_of_whole_people(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(simulation, "_BLOCK_USERS", 100)
    shares: list[float] = []
    made = simulate_file("foursquare", 250, path=tmp_path / "e.parquet", progress=lambda _, share: shares.append(share))
    file = pq.ParquetFile(tmp_path / "e.parquet")
    assert file.schema_arrow.names == ["user", "item", "time"]
    assert [set(file.read_row_group(g)["user"].to_pylist()) for g in range(file.num_row_groups)] == [
        set(range(100)),
        set(range(100, 200)),
        set(range(200, 250)),
    ]
    assert shares == sorted(shares)
    assert (len(shares), shares[-1]) == (3, 1.0)
    assert made.bytes == (tmp_path / "e.parquet").stat().st_size


def test_nothing_is_left_where_writing_fails(tmp_path: Path) -> None:
    def stop(stage: str, share: float) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        simulate_file("foursquare", 50, path=tmp_path / "e.parquet", progress=stop)
    assert list(tmp_path.iterdir()) == []


# --- of the published size


@pytest.mark.parametrize("kind", WORLDS)
def test_events_per_person_have_the_stated_mean(kind: str) -> None:
    world = find_world(kind)
    law = event_law(world, world.max_events)
    counts = np.arange(world.min_events, world.max_events + 1)
    mean = float(law @ counts)
    assert law.sum() == pytest.approx(1.0)
    assert mean == pytest.approx(world.mean_events, rel=1e-6)
    deviation = math.sqrt(float(law @ (counts - mean) ** 2))
    raw = simulate_traces(replace(world, min_place_events=1), 20_000)
    lengths = np.diff(raw.offsets)
    tolerance = 5 * deviation / math.sqrt(20_000)
    assert lengths.min() == world.min_events
    assert abs(lengths.mean() - mean) < tolerance < 0.1 * mean  # 10 % off would be noticed
    assert lengths.max() > 10 * mean  # heavy-tailed
    reached = np.cumsum(law)[counts <= 100][-1]
    assert abs((lengths <= 100).mean() - reached) < 5 * math.sqrt(reached * (1 - reached) / 20_000)


@pytest.mark.parametrize("users", [5_000, 40_000])
def test_places_keep_their_number_per_person(users: int) -> None:
    """Within 2 % of what is published, from 1/256 of the data set on."""
    traces = simulate_traces("foursquare", users, seed=1)
    assert traces.domain_size / users == pytest.approx(FOURSQUARE_PLACES_PER_USER, rel=0.02)
    assert np.diff(traces.offsets).min() >= 10
    assert traces.domain_size == np.unique(traces.items).size


def test_films_are_rated_once_and_keep_their_number_per_person() -> None:
    users = 185_107 // 16
    traces = simulate_traces("movielens", users, seed=1)
    assert traces.domain_size == pytest.approx(MOVIES / 16, rel=0.02)
    assert all(len(set(row)) == len(row) for row in rows(traces))
    table = fit_table(traces)
    # MovieLens latest-small, ratings of 4 and above: 43 % of people have the favourite film.
    assert 0.3 < table.largest_item_share * table.events_per_user < 0.5
    assert table.popularity[2] > 0.5


# --- with the habits the model speaks of


def plain(**changes: object) -> World:
    """One city of one cell with so many places that none is met twice by chance; no habits."""
    base = World(
        "plain",
        users=1000,
        mean_events=60.0,
        sigma_events=0.5,
        places_per_user=1000.0,
        users_per_cell=math.inf,
        cells_per_city=math.inf,
        near_exponent=0.0,
        near_offset=1.0,
        city_exponent=0.0,
        city_offset=1.0,
        near=1.0,
        travel=0.0,
    )
    return replace(base, **changes)  # type: ignore[arg-type]


@pytest.mark.parametrize(("explore", "fatigue"), [(0.6, 0.21), (0.9, 0.5)])
def test_exploration_and_preferential_return(explore: float, fatigue: float) -> None:
    """With S places known, the next is new with probability explore S^-fatigue; power: 10 % more is rejected."""
    met: dict[int, list[int]] = {}
    for row in rows(simulate_traces(plain(explore=explore, fatigue=fatigue), 1000)):
        seen: set[int] = set()
        for place in row:
            if seen:
                met.setdefault(len(seen), []).append(place not in seen)
            seen.add(place)
    checked = {known: news for known, news in met.items() if len(news) > 2000}
    assert len(checked) > 3

    def deviations(factor: float) -> list[float]:
        return [
            (np.mean(news) - p) / math.sqrt(p * (1 - p) / len(news))
            for known, news in checked.items()
            for p in [factor * explore * known**-fatigue]
        ]

    assert max(map(abs, deviations(1.0))) < 5
    assert max(map(abs, deviations(1.1))) > 5


def test_returns_prefer_what_was_visited_often() -> None:
    """Without other habits a return is to a place with the probability of its visits so far."""
    expected, found, variance = 0.0, 0, 0.0
    for row in rows(simulate_traces(plain(explore=0.5), 300)):
        visits: Counter[int] = Counter()
        for place in row:
            if place in visits:
                favourite, count = visits.most_common(1)[0]
                share = count / visits.total()
                expected, variance, found = (
                    expected + share,
                    variance + share * (1 - share),
                    found + (place == favourite),
                )
            visits[place] += 1
    assert abs(found - expected) < 5 * math.sqrt(variance) < 0.1 * expected


def test_routine_repeats_steps() -> None:
    tables = [fit_table(simulate_traces(plain(explore=0.4, routine=r), 300)) for r in (0.0, 0.8)]
    assert tables[1].repeated_transitions > 1.5 * tables[0].repeated_transitions
    assert tables[1].distinct_per_user == pytest.approx(tables[0].distinct_per_user, rel=0.05)


def test_returns_come_at_their_hour() -> None:
    one, eight = (
        fit_table(simulate_traces(plain(explore=0.3, hour_choices=k), 300)).same_hour_share or 0.0 for k in (1, 8)
    )
    assert 0.1 < one < eight - 0.1


def test_people_who_move_leave_their_places_behind() -> None:
    """A third of them move in the middle third: in the last one they are at no place of the first."""

    def kept(move: float) -> float:
        thirds = [
            (set(row[: len(row) // 3]), row[2 * len(row) // 3 :])
            for row in rows(simulate_traces(plain(explore=0.3, move=move), 300))
        ]
        return float(np.mean([np.mean([place in first for place in last]) for first, last in thirds]))

    assert 0.0 < kept(1.0) < 2 / 3 * kept(0.0)


def test_neighbours_share_places() -> None:
    """Who stays in her cell meets nobody else; who goes to the town meets everybody."""
    world = plain(
        places_per_user=20.0, users_per_cell=50.0, near=1.0, reach=50.0, near_exponent=0.8, near_offset=5.0, fatigue=0.3
    )
    people = [set(row) for row in rows(simulate_traces(replace(world, explore=0.9), 400))]
    sharing = np.mean([bool(a & b) for a, b in combinations(people, 2)])
    assert 1 / 8 - 0.03 < sharing < 1 / 8 + 0.03  # eight cells of equal size: only those of one cell meet
    town = [set(row) for row in rows(simulate_traces(replace(world, near=0.0, city_exponent=0.8), 400))]
    assert np.mean([bool(a & b) for a, b in combinations(town, 2)]) > 2 * sharing


def test_cities_fall_in_size_and_travellers_leave_theirs() -> None:
    world = plain(places_per_user=10.0, users_per_cell=10.0, cells_per_city=20.0, near=0.0, explore=0.9)
    plan = simulation._plan(replace(world, travel=0.5), 4000, 0)
    sizes = np.diff(plan.geography.first_cells)
    assert (sizes.sum(), len(sizes)) == (400, 20)
    assert np.all(sizes[1:] <= sizes[:-1] + 1)
    assert sizes[0] / sizes[9] == pytest.approx(10**0.8, rel=0.1)

    def cities_of_a_person(travel: float) -> float:
        plan = simulation._plan(replace(world, travel=travel), 1000, 0)
        items, times = np.empty(plan.offsets[-1], np.uint32), np.empty(plan.offsets[-1], np.int64)
        plan.walk(0, 1000, items, times)
        city = np.searchsorted(plan.geography.first_cells * plan.geography.places_per_cell, items, side="right")
        return float(np.mean([len(set(city[a:b].tolist())) for a, b in pairwise(plan.offsets.tolist())]))

    assert cities_of_a_person(0.0) == 1.0
    assert cities_of_a_person(0.2) > 2.0


def test_times_are_sorted_within_the_period_and_follow_the_hours_of_the_day() -> None:
    world = find_world("foursquare")
    traces = simulate_traces("foursquare", 3000)
    assert traces.times is not None
    for low, high in pairwise(traces.offsets.tolist()):
        assert np.all(np.diff(traces.times[low:high]) >= 0)
    assert world.first_second <= traces.times.min() < traces.times.max() < world.first_second + world.days * 86_400
    hours = np.bincount(traces.times % 86_400 // 3600, minlength=24) / traces.events
    wanted = np.array(simulation._HOURS) / sum(simulation._HOURS)
    assert np.abs(hours - wanted).max() < 0.005 < np.abs(np.roll(hours, 1) - wanted).max()


# --- the statistics


def slow_table(traces: Traces) -> FitTable:
    people = rows(traces)
    times = None
    if traces.times is not None:
        times = [traces.times[a:b].tolist() for a, b in pairwise(traces.offsets.tolist())]
    popularity = [count for _, count in Counter(traces.items.tolist()).most_common()]
    steps = [(u, a, b) for u, row in enumerate(people) for a, b in pairwise(row)]
    apart = []
    for row, clock in zip(people, times or [], strict=times is not None):
        last: dict[int, int] = {}
        for place, time in zip(row, clock, strict=True):
            if place in last:
                gap = abs(time // 3600 % 24 - last[place] // 3600 % 24)
                apart.append(min(gap, 24 - gap))
            last[place] = time
    return FitTable(
        users=len(people),
        items=len(popularity),
        events=traces.events,
        events_per_user=float(np.mean([len(row) for row in people])),
        median_events_per_user=float(np.median([len(row) for row in people])),
        distinct_per_user=float(np.mean([len(set(row)) for row in people])),
        new_share=float(np.mean([len(set(row)) / len(row) for row in people])),
        favourite_share=float(np.mean([max(Counter(row).values()) / len(row) for row in people])),
        users_per_item=sum(len(set(row)) for row in people) / len(popularity),
        repeated_transitions=1 - len(set(steps)) / len(steps),
        same_item_again=sum(a == b for _, a, b in steps) / len(steps),
        largest_item_share=popularity[0] / traces.events,
        popularity=tuple(sum(popularity[: math.ceil(top * len(popularity))]) / traces.events for top in CURVE),
        same_hour_share=sum(gap <= 1 for gap in apart) / len(apart) if apart else None,
    )


@pytest.mark.parametrize("timed", [True, False])
def test_statistics_against_slow_ones(timed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("entropie.data.simulation_fit._BLOCK_USERS", 37)
    traces = simulate_traces("new-york", 300, seed=2)
    if not timed:
        traces = Traces(traces.offsets, traces.items, traces.domain_size + 5)
    found, wanted = fit_table(traces).to_json(), slow_table(traces).to_json()
    curve, slow_curve = found.pop("popularity"), wanted.pop("popularity")
    if not timed:
        assert found.pop("same_hour_share") is wanted.pop("same_hour_share") is None
    assert found == pytest.approx(wanted, rel=1e-12)
    assert [point["share_of_events"] for point in curve] == pytest.approx([p["share_of_events"] for p in slow_curve])


def test_statistics_need_events() -> None:
    with pytest.raises(InvalidInput, match="at least 2 events each"):
        fit_table(Traces(np.array([0, 1]), np.array([0], np.uint32), 1))


# --- bad input


def test_bad_parameters() -> None:
    with pytest.raises(InvalidParameter, match=r"`kind` must be one of foursquare, .*, got 'paris' instead"):
        simulate_traces("paris", 10)
    for users in (0, -1, 2.5, True, 2**40):
        with pytest.raises(InvalidParameter, match="`users`"):
            simulate_traces("foursquare", users)  # type: ignore[arg-type]
    for seed in (-1, 2**63, "a"):
        with pytest.raises(InvalidParameter, match="`seed`"):
            simulate_traces("foursquare", 10, seed=seed)  # type: ignore[arg-type]
    with pytest.raises(InvalidParameter, match=r"`users` must be at most .* fit 32 bits"):
        simulate_traces("foursquare", 2**30)
    with pytest.raises(InvalidInput, match="simulate more people"):
        simulate_traces(plain(once=True, places_per_user=1.0), 100)
    with pytest.raises(InvalidParameter, match="`mean_events` must be above min_events"):
        plain(mean_events=10.0)
    with pytest.raises(InvalidParameter, match="`city_exponent` must be a number other than 1"):
        plain(city_exponent=1.0)
    with pytest.raises(InvalidInput, match="does not exist"):
        simulate_file("foursquare", 10, path="no/such/folder/e.parquet")


# --- like real data

TOLERANCE = 0.15
LOOSER = {"same_item_again": 0.25, "largest_item_share": 0.55}
ERROR_TOLERANCE = 0.08


@pytest.mark.slow
@pytest.mark.parametrize("kind", CITIES)
def test_fit_to_real_cities(kind: str) -> None:
    """Every statistic within 15 % (stays 25 %, the one most popular place 55 %), errors of the attacks within 0.08."""
    if not (DATA / CITIES[kind]).exists():
        pytest.skip("the shared check-ins are not here")
    real = keep_active_users(read_events(Source(DATA / CITIES[kind])).traces).traces
    made = simulate_traces(kind)
    one, other = fit_table(real), fit_table(made)
    for name, value in one.to_json().items():
        if name in ("popularity", "same_hour_share"):
            continue
        assert getattr(other, name) == pytest.approx(value, rel=LOOSER.get(name, TOLERANCE)), name
    assert other.popularity == pytest.approx(one.popularity, rel=TOLERANCE)

    def errors(traces: Traces) -> dict[str, float]:
        split, run = split_traces(traces), Run(replicates=20)
        return {name: measured_attack(name, split, run).error for name in ("markov", "visit")}

    assert errors(made) == pytest.approx(errors(real), abs=ERROR_TOLERANCE)


@pytest.mark.slow
def test_the_check_of_the_fit_can_fail() -> None:
    """New York is not Sao Paulo: the same tolerances tell them apart."""
    one, other = fit_table(simulate_traces("new-york")), fit_table(simulate_traces("sao-paulo"))
    assert other.new_share != pytest.approx(one.new_share, rel=TOLERANCE)
    assert other.repeated_transitions != pytest.approx(one.repeated_transitions, rel=TOLERANCE)


@pytest.mark.parametrize("kind", CITIES)
def test_hours_of_real_returns(kind: str) -> None:
    """Real people return at their hour in about half of the cases, simulated ones in three of ten, by chance in one of seven."""
    if not (DATA / CITIES[kind]).exists():
        pytest.skip("the shared check-ins are not here")
    table = pq.read_table(DATA / CITIES[kind])
    order = np.argsort(table["user"].to_numpy(), kind="stable")
    user, hour = table["user"].to_numpy()[order], table["hour_of_week"].to_numpy()[order]
    offsets = np.concatenate([[0], np.flatnonzero(np.diff(user)) + 1, [user.size]])
    venues = np.unique(table["venue"].to_numpy()[order], return_inverse=True)[1].astype(np.uint32)
    clock = Traces(offsets, venues, int(venues.max()) + 1, hour.astype(np.int64) * 3600)
    real = fit_table(clock.take(np.flatnonzero(np.diff(offsets) >= 10))).same_hour_share
    made = fit_table(simulate_traces(kind)).same_hour_share
    assert real == pytest.approx(0.49, abs=0.03)
    assert made == pytest.approx(0.30, abs=0.03)
