"""Every mitigation: a file for each of what they act on, where a function has its declaration above it."""

from __future__ import annotations

from entropie.mitigate.kind import Kind
from entropie.mitigate.kinds import cells, events, items, people, pseudonyms, times

_BY_AXIS = (items, times, cells, people, events, pseudonyms)
KINDS: dict[str, Kind] = {kind.name: kind for module in _BY_AXIS for kind in module.kind.kinds}
"""All of them, in the order of the help."""
