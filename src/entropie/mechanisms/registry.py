"""Mechanisms by kind: those built in, and those that another package registers as `entropie.mechanisms`."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from entropie.errors import InvalidParameter, option
from entropie.mechanisms.choice import RandomChoice
from entropie.mechanisms.erasure import Erasure
from entropie.mechanisms.hadamard import HadamardResponse
from entropie.mechanisms.identity import Identity
from entropie.mechanisms.local_hashing import LocalHashing
from entropie.mechanisms.mechanism import Mechanism
from entropie.mechanisms.noise_response import NoiseResponse
from entropie.mechanisms.randomized_response import RandomizedResponse
from entropie.mechanisms.subset_selection import SubsetSelection
from entropie.mechanisms.unary_encoding import UnaryEncoding
from entropie.plugins import Registry

_BUILT_IN = (
    RandomizedResponse,
    LocalHashing,
    HadamardResponse,
    SubsetSelection,
    UnaryEncoding,
    NoiseResponse,
    Erasure,
    Identity,
    RandomChoice,
)
MECHANISMS = MappingProxyType({made.kind: made for made in _BUILT_IN})
"""The mechanisms that come with this package, by kind."""

_REGISTRY: Registry[type[Mechanism]] = Registry("entropie.mechanisms", "mechanism", "kind", MECHANISMS)


def mechanism_kind(kind: str) -> type[Mechanism]:
    """Find a mechanism by its kind, built in or installed; refuses an unknown one."""
    return _REGISTRY.find(kind)


def mechanism_kinds() -> tuple[str, ...]:
    """Every kind that is known here."""
    return _REGISTRY.names()


def tunable_kinds() -> tuple[str, ...]:
    """Those that a number of items and epsilon or theta describe, with options of their own."""
    return tuple(kind for kind in mechanism_kinds() if hasattr(mechanism_kind(kind), "from_theta"))


def make_mechanism(
    kind: str,
    *,
    domain_size: int,
    epsilon: float | None = None,
    theta: float | None = None,
    own: Mapping[str, Any] = MappingProxyType({}),
) -> Mechanism:
    """A mechanism from its kind, epsilon or theta, and the options of its own, of which None is left out."""
    made: Any = mechanism_kind(kind) if kind in mechanism_kinds() else None
    if not hasattr(made, "from_theta"):
        raise InvalidParameter.among("mechanism", tunable_kinds(), kind)
    if (epsilon is None) == (theta is None):
        raise InvalidParameter(f"Give {option('epsilon')} or {option('theta')}, one of the two.")
    given = {name: value for name, value in own.items() if value is not None}
    unknown = [option(name) for name in given if name not in made.own_options]
    if unknown:
        raise InvalidParameter(f"{made.title.capitalize()} does not take {' or '.join(unknown)}; remove it.")
    missing = [option(name) for name, needed in made.own_options.items() if needed and name not in given]
    if missing:
        raise InvalidParameter(f"{made.title.capitalize()} needs {' and '.join(missing)}.")
    if theta is not None:
        chosen: Mechanism = made.from_theta(domain_size=domain_size, theta=theta, **given)
    else:
        chosen = made(domain_size=domain_size, epsilon=epsilon, **given)
    return chosen
