"""What attackers with more than the release find on the shared check-ins: another file, reports, points with errors.

Known: the first half of everybody's check-ins. Released: the second half, of all or of some people.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa

from entropie.attack.attacker import Release
from entropie.attack.known import known_rows
from entropie.attack.point_errors import beliefs_of, score_queries
from entropie.attack.points import PointIndex, drawn_points
from entropie.attack.reports import report_rows
from entropie.data.events import read_events
from entropie.data.filter import keep_active_users
from entropie.data.known import read_known
from entropie.data.reported import read_reported
from entropie.data.reports import to_columns
from entropie.data.split import Split, split_traces
from entropie.data.traces import Traces
from entropie.mechanisms.parameters import to_document
from entropie.mechanisms.randomized_response import RandomizedResponse
from entropie.quantities import PointErrors
from entropie.request import Request, Run, Source

DATA = Path(__file__).parents[2] / "shared" / "data"
CITIES = {"New York": "foursquare_nyc.parquet", "Sao Paulo": "foursquare_saopaulo.parquet"}
SHARES = (1.0, 0.5, 0.2)
EPSILONS = (6.0, 9.0, 12.0)
WRONG = (0.0, 0.1, 0.25, 0.5)
_RUN = Run()


def table_of(traces: Traces, people: np.ndarray) -> pa.Table:
    """Events of some people as a table."""
    some = traces.take(people)
    return pa.table({"user": np.repeat(people, np.diff(some.offsets)), "item": some.items})


def shares_found(request: Request) -> dict[str, float]:
    """Share re-identified by matcher, or by number of points."""
    read = read_events(request.source, _RUN)
    file = read_known(request, read, _RUN) or read_reported(request, read, _RUN)
    release = Release(read.traces, Split(read.traces, read.traces, np.arange(1), 0), known=file)
    rows = [*known_rows(release, request), *report_rows(release, request)]
    return {f"{row.matcher} {row.points or ''}".strip(): row.reidentified.value for row in rows}


def known_file(city: str, split: Split) -> None:
    """Another file, where the release has everybody of it or some."""
    everybody = np.arange(split.train.users)
    for share in SHARES:
        chosen = np.sort(np.random.default_rng(0).choice(everybody, int(share * everybody.size), replace=False))
        options = {"known": table_of(split.train, everybody), "matchers": ["visit"], "control": False}
        found = shares_found(Request.of(table_of(split.target, chosen), options))
        names = ("fused", "fused, crowd", "fused, one-to-one", "visit", "points 4", "points 8")
        print(f"{city:<11}{chosen.size:>8,}", *(f"{100 * found[name]:>11.1f} %" for name in names))


def reports(city: str, split: Split) -> None:
    """Every check-in of the second half through randomized response, reports linked by pseudonym."""
    users = np.repeat(np.arange(split.target.users), np.diff(split.target.offsets))
    known = table_of(split.train, np.arange(split.train.users))
    for epsilon in EPSILONS:
        mechanism = RandomizedResponse(domain_size=split.target.domain_size, epsilon=epsilon)
        columns = to_columns(mechanism, mechanism.simulate(split.target.items, np.random.default_rng(0)))
        with TemporaryDirectory() as folder:
            path = Path(folder) / "parameters.json"
            path.write_text(to_document(mechanism), encoding="utf-8")
            options = {"known": known, "parameters": path, "control": False}
            found = shares_found(Request.of(pa.table({"user": users, **columns}), options))
        print(f"{city:<11}{epsilon:>8g}{mechanism.theta:>8.3f}{100 * found['rr']:>11.1f} %")


def errors(city: str, traces: Traces) -> None:
    """Four random check-ins of whole traces, without times, some at mistaken places."""
    drawn, index, owners = drawn_points(traces, 4, 1, 0), PointIndex.of(traces), np.arange(traces.users)
    for wrong in WRONG:
        queries = beliefs_of(traces, drawn, PointErrors(0, wrong), 0).queries(4, "none")
        holders, held = index.holders(queries), index.held(queries, owners)
        plain = float((held / np.maximum(holders, 1)).mean())
        scored = float(score_queries(index, queries, owners).credit.mean())
        print(f"{city:<11}{100 * wrong:>7.0f} %{100 * plain:>11.1f} %{100 * scored:>11.1f} %")


def main() -> None:
    """Print the three tables."""
    cities = {}
    for city, name in CITIES.items():
        source = Source(DATA / name, user="user", item="venue", time="time")
        traces = keep_active_users(read_events(source, _RUN).traces, 10).traces
        cities[city] = traces, split_traces(traces)
    heads = ("fused", "crowd", "one-to-one", "visit", "4 events", "8 events")
    print(f"{'known file':<11}{'people':>8}", *(f"{head:>13}" for head in heads))
    for city, (_, split) in cities.items():
        known_file(city, split)
    print(f"\n{'reports':<11}{'epsilon':>8}{'theta':>8}{'found':>13}")
    for city, (_, split) in cities.items():
        reports(city, split)
    print(f"\n{'4 points':<11}{'wrong':>9}{'all match':>13}{'scored':>13}")
    for city, (traces, _) in cities.items():
        errors(city, traces)


if __name__ == "__main__":
    main()
