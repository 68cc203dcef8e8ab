"""How large a reproduction is: three scales, and what else decides its result."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from entropie.errors import InvalidParameter
from entropie.paper import published
from entropie.theory import checks


@dataclass(frozen=True, slots=True)
class Scale:
    """The sizes of one scale.

    users            people with check-ins; domain_size is the least number of places that exist
    raters           people with rating histories
    sampled          people whose whole traces are attacked, chosen by a hash of their number
    known            training events of the partial-knowledge figure; people need twice the most of them
    epsilons         budgets of the figures against epsilon
    hash_size        g of local hashing; hash_sizes is the range of the figure against g
    plain_epsilon    a budget that protects too much, beside the setting that guarantees wanted_error
    repeats          runs of each estimate; replicates of each bootstrap
    hash_functions   functions drawn for the exact PIE of local hashing
    """

    name: str
    users: int
    domain_size: int
    raters: int
    sampled: int
    known: tuple[int, ...]
    epsilons: tuple[float, ...]
    hash_size: int
    hash_sizes: tuple[int, ...]
    plain_epsilon: float
    wanted_error: float
    repeats: int
    replicates: int
    hash_functions: int

    @property
    def panel_events(self) -> int:
        """Events that a person of the partial-knowledge figure has at least."""
        return 2 * max(self.known)


SCALES = {
    scale.name: scale
    for scale in (
        Scale(
            name="small",
            users=2_000,
            domain_size=10_000,
            raters=1_000,
            sampled=1_000,
            known=(10, 20, 30, 40, 50),
            epsilons=(1.0, 3.0, 5.0, 7.0, 9.0, 11.0, 13.0),
            hash_size=10**6,
            hash_sizes=(10, 10**2, 10**3, 10**4, 10**5, 10**6),
            plain_epsilon=4.0,
            wanted_error=0.75,
            repeats=20,
            replicates=200,
            hash_functions=4,
        ),
        Scale(
            name="medium",
            users=100_000,
            domain_size=760_000,
            raters=15_000,
            sampled=8_000,
            known=(50, 100, 150, 200, 250),
            epsilons=(1.0, 4.0, 7.0, 10.0, 12.0, 14.0, 16.0, 18.0),
            hash_size=10**8,
            hash_sizes=(10**3, 10**4, 10**5, 10**6, 10**7, 10**8, 2 * 10**9),
            plain_epsilon=8.0,
            wanted_error=0.92,
            repeats=3,
            replicates=200,
            hash_functions=4,
        ),
        Scale(
            name="paper",
            users=published.USERS,
            domain_size=published.DOMAIN_SIZE,
            raters=published.RATERS,
            sampled=20_000,
            known=(100, 200, 300, 400, 500),
            epsilons=(1.0, 4.0, 7.0, 10.0, 12.0, 13.0, 14.0, 16.0, 18.0, 20.0),
            hash_size=published.HASH_SIZE,
            hash_sizes=(10**3, 10**4, 10**5, 10**6, 10**7, 10**8, 10**9, 2 * 10**9),
            plain_epsilon=10.0,
            wanted_error=0.92,
            repeats=1,
            replicates=200,
            hash_functions=3,
        ),
    )
}


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything a result depends on (scale, seed, data), and two things it does not (threads, folder of results)."""

    scale: Scale
    store: Path
    seed: int = 0
    data: Path | None = None
    threads: int | None = None

    def key(self) -> dict[str, Any]:
        """What results are filed under."""
        return {"scale": dataclasses.asdict(self.scale), "seed": self.seed, "data": _files(self.data)}


def make_settings(
    scale: str, store: Path, *, seed: int = 0, data: Path | None = None, threads: int | None = None
) -> Settings:
    """Check the arguments of a reproduction."""
    if scale not in SCALES:
        raise InvalidParameter.among("scale", SCALES, scale)
    seed = checks.whole_number("seed", seed, at_least=0)
    if threads is not None:
        threads = checks.whole_number("threads", threads, at_least=1, at_most=256)
    if data is not None and not data.is_dir():
        raise InvalidParameter.of("data", "a folder that exists", str(data))
    return Settings(SCALES[scale], store, seed, data, threads)


def _files(folder: Path | None) -> list[list[Any]]:
    """Name, size and time of the files in the folder: a changed file makes another result."""
    if folder is None:
        return []
    files = sorted(path for path in (*folder.glob("*"), *folder.glob("*/*")) if path.is_file())
    stats = [(path, path.stat()) for path in files]
    return [[str(path.relative_to(folder)), stat.st_size, stat.st_mtime_ns] for path, stat in stats]
