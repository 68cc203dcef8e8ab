"""Every figure and table by name, and what `all` stands for."""

from __future__ import annotations

from collections.abc import Sequence

from entropie.errors import InvalidParameter
from entropie.paper import (
    alpha,
    beyond,
    bounds,
    cities,
    det,
    growth,
    hash_sizes,
    identification,
    maximum,
    partial,
    top_items,
    utility,
)
from entropie.paper.figure import Figure

FIGURES: dict[str, Figure] = {
    module.name: module
    for module in (
        alpha, maximum, partial, det, bounds, identification, utility, top_items, hash_sizes, beyond, cities, growth,
    )
}  # fmt: skip
"""In the order of the paper."""

ALL = tuple(name for name in FIGURES if name != "growth")
"""What `all` runs: the ten figures and the table on real data."""


def chosen_figures(names: Sequence[str]) -> tuple[Figure, ...]:
    """The figures named, each once, in the order of the paper; none named or `all` means all."""
    wanted = set(ALL) if not names or "all" in names else set()
    for name in names:
        bare = name.lower().removeprefix("fig").removeprefix("ure").lstrip(".- ")
        if name == "all":
            continue
        if bare not in FIGURES:
            raise InvalidParameter(f"There is no figure `{name[:20]}`; choose among {', '.join((*FIGURES, 'all'))}.")
        wanted.add(bare)
    return tuple(figure for name, figure in FIGURES.items() if name in wanted)
