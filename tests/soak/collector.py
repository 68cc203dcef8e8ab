"""The collector under load, killed and overloaded, on loopback: `scripts/soak collector`.

Prints one table: what was done, what must hold, what was found. The load comes from this process, so that figures are
those of both together on one machine; every report is on the disk before it is answered. Each part is bounded in time
and number; the defaults take about ten minutes, `--seconds 600` an hour and a half. Exit code 1 where something that
must hold does not; rates are printed beside their goals, since they depend on the machine.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "collector"))

import collector_made as made
from collector_kills import kill_often
from collector_load import loaded
from collector_running import Running, body_of, running, written
from facts_made import honest_cells

from entropie.collector.pool import hash_functions
from entropie.collector.sqlite_store import SqliteStore
from entropie.collector.store import Batch

DRINKS, PLACES = made.drinks(people=10**9), made.places(people=10**9, pool=4096)
PRELOADED_AT_ONCE = 500_000


@dataclass(frozen=True)
class Row:
    """One line of the table; `holds` is None for a figure that depends on the machine."""

    what: str
    goal: str
    found: str
    holds: bool | None = None


class Watched:
    """What a service takes while the block runs: its memory, ten times a second, and the time of its processor."""

    def __init__(self, service: Running) -> None:
        self._process = Path(f"/proc/{service.process.pid}")
        self._sizes: list[int] = []
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look)

    def _look(self) -> None:
        while not self._over.wait(0.1):
            fields = dict(
                line.split(":", 1) for line in (self._process / "status").read_text().splitlines() if ":" in line
            )
            self._sizes.append(int(fields["VmRSS"].split()[0]) * 1024)

    def __enter__(self) -> Watched:
        self._begun = self._processor()
        self._thread.start()
        return self

    def __exit__(self, *problem: object) -> None:
        self._over.set()
        self._thread.join()
        self._seconds = self._processor() - self._begun

    def _processor(self) -> float:
        user, system = (self._process / "stat").read_text().rsplit(")", 1)[1].split()[11:13]
        return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")

    def rows(self, reports: int) -> list[Row]:
        """Its processor time for each of so many reports, and its memory."""
        return [
            Row("  processor time of the service", "", f"{1e6 * self._seconds / reports:,.1f} us a report"),
            self._held,
        ]

    @property
    def _held(self) -> Row:
        """The most that it held in each quarter; it must not grow in the second half, by which its caches are full."""
        quarters = [max(part) / 1e6 for part in np.array_split(np.array(self._sizes), 4)]
        told = ", ".join(f"{size:,.0f}" for size in quarters)
        return Row(
            "  memory, most in each quarter", "flat in the last two", f"{told} MB", quarters[3] < 1.02 * quarters[2]
        )


def singles(folder: Path, seconds: float) -> list[Row]:
    with running(folder / "store", "--collection", written(DRINKS, folder)) as service:
        warm = loaded(service.port, DRINKS, links=64, records=100, seconds=seconds, most=12_000)  # fills its caches
        with Watched(service) as watched:
            found = loaded(service.port, DRINKS, links=64, seconds=seconds)
        counted = total(service, DRINKS)
        confirmed = warm.accepted + found.accepted
        errors = found.broken + sum(found.statuses.values()) - found.statuses[200]
    what = f"single reports, 64 connections, {seconds:g} s"
    return [
        Row(what, ">= 2,000/s", f"{found.rate:,.0f}/s"),
        Row("  99 % of answers within", "<= 250 ms", f"{1e3 * found.quantile(0.99):,.0f} ms"),
        Row("  errors", "0", f"{errors:,}", errors == 0),
        Row("  reports counted, confirmed", "equal", f"{counted:,}, {confirmed:,}", counted == confirmed),
        *watched.rows(found.accepted),
    ]


def batches(folder: Path, seconds: float) -> list[Row]:
    with running(folder / "store", "--collection", written(PLACES, folder)) as service:
        with Watched(service) as watched:
            found = loaded(service.port, PLACES, links=16, records=100, seconds=seconds)
        counted = total(service, PLACES)
    rate = found.accepted / found.taken
    errors = found.broken + sum(found.statuses.values()) - found.statuses[200]
    return [
        Row(f"batches of 100 reports, {seconds:g} s", ">= 10,000 reports/s", f"{rate:,.0f} reports/s"),
        Row("  errors", "0", f"{errors:,}", errors == 0),
        Row("  reports counted, confirmed", "equal", f"{counted:,}, {found.accepted:,}", counted == found.accepted),
        *watched.rows(found.accepted),
    ]


def preloaded(folder: Path, seconds: float, reports: int) -> list[Row]:
    store, rng = SqliteStore(folder / "store"), np.random.default_rng(3)
    store.create(DRINKS.canonical)
    left = reports
    while left:
        size = min(left, PRELOADED_AT_ONCE)
        nonces = np.sort(rng.integers(-(2**63), 2**63 - 1, size)).tolist()
        store.add([Batch(DRINKS.id, nonces, rng.integers(0, 5, size).tolist())])
        left -= size
    before = store.totals(DRINKS.id).accepted
    store.end()
    begun = time.perf_counter()
    with running(folder / "store") as service:
        opened = time.perf_counter() - begun
        with Watched(service) as watched:
            found = loaded(service.port, DRINKS, links=64, seconds=seconds)
        service.end()
    store = SqliteStore(folder / "store")
    counted, sound = store.totals(DRINKS.id).accepted - before, store.problems() == []
    store.end()
    return [
        Row(f"single reports onto {before:,}, {seconds:g} s", ">= 1,200/s", f"{found.rate:,.0f}/s"),
        Row("  99 % of answers within", "", f"{1e3 * found.quantile(0.99):,.0f} ms"),
        Row("  start with its checks", "", f"{opened:,.1f} s"),
        Row("  reports counted, confirmed", "equal", f"{counted:,}, {found.accepted:,}", counted == found.accepted),
        Row("  store sound", "yes", "yes" if sound else "no", sound),
        *watched.rows(found.accepted),
    ]


def kills(folder: Path, number: int, store: str | None) -> list[Row]:
    found = kill_often(store or folder / "store", DRINKS, folder, number)
    return [
        Row(f"kill -9 at random, {number} times", "", f"{found.confirmed:,} confirmed in {found.tries:,} tries"),
        Row("  confirmed and lost", "0", f"{found.lost:,}", found.lost == 0),
        Row("  counted twice", "0", f"{found.twice:,}", found.twice == 0),
    ]


def stops(folder: Path, number: int) -> list[Row]:
    numbers = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
    found = kill_often(folder / "store", DRINKS, folder, number, numbers=numbers)
    left = {path.name for path in folder.iterdir()} - {"store", "store.mark", f"{DRINKS.id[:8]}.json"}
    return [
        Row(f"TERM, INT, HUP at random, {number} times", "exit code 0", f"{found.confirmed:,} confirmed"),
        Row(
            "  confirmed and lost, counted twice",
            "0, 0",
            f"{found.lost:,}, {found.twice:,}",
            found.lost + found.twice == 0,
        ),
        Row("  files left beside the store and its mark", "none", ", ".join(left) or "none", not left),
    ]


ITEMS, COLLECTIONS = 100, 10


def estimates(folder: Path, people: int) -> list[Row]:
    """Simulated devices, one request each, over 10 collections of 100 items; then a tenth as many forged reports.

    93 % of the 1,000 items lies 3 standard deviations below the 95 % that their intervals are made for.
    """
    rng, inside, confirmed, each, most_moved = np.random.default_rng(7), 0, 0, people // COLLECTIONS, 0.0
    makers = (made.drinks(people, 3.0, ITEMS), made.places(people, size=ITEMS))
    with running(folder / "store") as service:
        for place in range(COLLECTIONS):
            collection = made.fixed(makers[place % 2], seed=rng.bytes(32).hex())
            service.admin("POST", "/v1/collections", collection.canonical)
            shares = rng.dirichlet(np.full(ITEMS, 0.3))
            cells = honest_cells(collection, rng.choice(ITEMS, each, p=shares).astype(np.uint64), rng)
            confirmed += loaded(service.port, collection, links=64, seconds=600.0, cells=cells).accepted
            before = estimated(service, collection)
            inside += sum(bool(one["low"] <= shares[code] <= one["high"]) for code, one in before.items())
            fake = each // 1000 * 100
            forged = np.full(fake, 3, np.uint64) if place % 2 == 0 else forged_cells(collection, fake)
            loaded(service.port, collection, links=4, records=100, seconds=60.0, cells=forged)
            after = estimated(service, collection)
            moved = max(abs(after[code]["share"] - before[code]["share"]) for code in before)
            most_moved = max(most_moved, moved / collection.influence(fake, each + fake))
    number = ITEMS * COLLECTIONS
    return [
        Row(f"{people:,} simulated devices, one request each", "all confirmed", f"{confirmed:,}", confirmed == people),
        Row("  items inside their 95 % interval", ">= 93 %", f"{inside} of {number}", inside >= 0.93 * number),
        Row("  a tenth as many forged reports move a share by", "<= 1 of the bound", f"{most_moved:.3f} of it",
            0.5 < most_moved <= 1.0 + 1e-9),
    ]  # fmt: skip


def forged_cells(collection: made.Collection, number: int) -> np.ndarray:
    """Local hashing: the value of item 3 under each function of the pool in turn."""
    device, index = collection.device, np.arange(number, dtype=np.uint64) % np.uint64(collection.functions)
    a, b = hash_functions(collection.seed_bytes, index, device.prime)
    return index * np.uint64(device.hash_size) + device.family.values(a, b, np.full(number, 3, np.uint64))


def estimated(service: Running, collection: made.Collection) -> dict[int, dict]:
    _, found = service.admin("GET", f"/v1/collections/{collection.id}/estimates")
    return {one["code"]: one for one in found["shown"]}


def full(folder: Path) -> list[Row]:
    """A disk of one megabyte, filled, started on while full, and made larger; needs the right to mount."""
    disk = folder / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", disk], capture_output=True).returncode:
        return [Row("full disk", "", "not tried: this user may not mount one")]
    try:
        return _full(folder, disk)
    finally:
        subprocess.run(["umount", disk], check=True)


def _full(folder: Path, disk: Path) -> list[Row]:
    rng, confirmed, refused = np.random.default_rng(2), 0, []
    with running(disk / "store", "--collection", written(DRINKS, folder)) as service:
        while len(refused) < 20 and confirmed < 10**6:
            body = body_of(rng.integers(0, 5, 200), rng)
            status, _ = service.send(DRINKS, body)
            confirmed += 200 * (status == 200)
            refused += [(status, body)] * (status != 200)
    statuses = {status for status, _ in refused}
    with running(disk / "store") as service:
        statuses |= {service.send(DRINKS, body)[0] for _, body in refused} - {200}
        subprocess.run(["mount", "-o", "remount,size=64m", disk], check=True)
        again = {service.send(DRINKS, body)[0] for _, body in refused}
        service.end()
    store = SqliteStore(disk / "store")
    counted, sound = store.totals(DRINKS.id).accepted, store.problems() == []
    store.end()
    most = confirmed + 200 * len(refused)
    return [
        Row("disk of 1 MB filled, then started on", "507", ", ".join(map(str, sorted(statuses))), statuses == {507}),
        Row("  the same bytes with room again", "200", ", ".join(map(str, sorted(again))), again == {200}),
        Row("  reports counted", f"{most:,}", f"{counted:,}", counted == most and sound),
    ]


def overload(folder: Path, seconds: float) -> list[Row]:
    """As many connections as ten times the requests that may wait, all asking at once."""
    with running(folder / "store", "--collection", written(DRINKS, folder)) as service:
        usual = loaded(service.port, DRINKS, links=64, seconds=3.0)
        found = loaded(service.port, DRINKS, links=640, records=1000, seconds=seconds)
        begun, calm = time.perf_counter(), False
        while not calm and time.perf_counter() - begun < 30.0:
            after = loaded(service.port, DRINKS, links=64, seconds=0.5)
            calm = set(after.statuses) == {200} and after.quantile(0.99) < 0.25
        recovered = time.perf_counter() - begun
        counted = total(service, DRINKS)
        alive = service.process.poll() is None
    statuses = set(found.statuses)
    told = ", ".join(f"{status}: {number:,}" for status, number in sorted(found.statuses.items()))
    asked = 1000 * sum(found.statuses.values()) / found.taken
    return [
        Row(f"10 times the connections, 1,000 reports each, {seconds:g} s", "", f"{asked:,.0f} reports/s sent"),
        Row("  usual rate before", "", f"{usual.rate:,.0f}/s"),
        Row("  answers by status", "200, 429, 503", told, statuses <= {200, 429, 503} and alive),
        Row("  connections broken", "0", f"{found.broken:,}", found.broken == 0),
        Row("  usual again after", "<= 5 s", f"{recovered:,.1f} s", calm and recovered <= 5.0),
        Row(
            "  reports counted", "at least those confirmed", f"{counted:,}", counted >= usual.accepted + found.accepted
        ),
    ]


def total(service: Running, collection: made.Collection) -> int:
    _, export = service.admin("GET", f"/v1/collections/{collection.id}/export")
    return int(export["reports"])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60.0, help="of each load [60]")
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--store", help="an empty store for the kills, such as postgresql://... [a new file]")
    parser.add_argument("--preload", type=int, default=10**7)
    parser.add_argument("--people", type=int, default=10**5, help="simulated devices [100000]")
    parser.add_argument(
        "--only",
        action="append",
        choices=["singles", "batches", "preload", "kills", "stops", "overload", "full", "estimates"],
    )
    given = parser.parse_args()
    seconds = min(max(given.seconds, 1.0), 3600.0)
    parts: dict[str, Callable[[Path], list[Row]]] = {
        "singles": lambda folder: singles(folder, seconds),
        "batches": lambda folder: batches(folder, seconds),
        "preload": lambda folder: preloaded(folder, seconds, min(given.preload, 10**8)),
        "kills": lambda folder: kills(folder, min(given.kills, 10_000), given.store),
        "stops": lambda folder: stops(folder, min(given.kills, 10_000)),
        "overload": lambda folder: overload(folder, min(seconds, 60.0)),
        "full": full,
        "estimates": lambda folder: estimates(folder, min(given.people, 10**6)),
    }
    broken = 0
    print(f"{'what':<60}{'goal':<26}found", flush=True)
    for name, part in parts.items():
        if given.only and name not in given.only:
            continue
        folder = Path(tempfile.mkdtemp(prefix="entropie-soak-"))
        try:
            for row in part(folder):
                broken += row.holds is not None and not row.holds
                print(
                    f"{row.what:<60}{row.goal:<26}{row.found}{'' if row.holds in (None, True) else '   BROKEN'}",
                    flush=True,
                )
        finally:
            shutil.rmtree(folder, ignore_errors=True)
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
