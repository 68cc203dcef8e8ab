"""Parts known by a name: those built in, and those that an installed package registers as Python entry points."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from typing import Generic, TypeVar

from entropie.errors import InvalidInput, InvalidParameter

Part = TypeVar("Part")


@dataclass(frozen=True, slots=True)
class Registry(Generic[Part]):
    """One kind of part by name. What is built in comes first and cannot be replaced from outside.

    group      the group of entry points that is asked for a name which is not built in
    parameter  what messages call the name, such as "matcher"
    attribute  the attribute of a part that holds its name
    built_in   the parts that come with this package
    """

    group: str
    parameter: str
    attribute: str
    built_in: Mapping[str, Part]

    def names(self) -> tuple[str, ...]:
        """Every known name: built in first, then the installed ones in alphabetical order."""
        return (*self.built_in, *sorted(self._installed().keys() - self.built_in.keys()))

    def find(self, name: str) -> Part:
        """The part of this name, loaded if another package has it; refuses an unknown name."""
        if name in self.built_in:
            return self.built_in[name]
        entry = self._installed().get(name)
        if entry is None:
            raise InvalidParameter.among(self.parameter, self.names(), name)
        return self._loaded(entry)

    def _installed(self) -> dict[str, EntryPoint]:
        return {entry.name: entry for entry in entry_points(group=self.group)}

    def _loaded(self, entry: EntryPoint) -> Part:
        try:
            part: Part = entry.load()
        except (ImportError, AttributeError) as error:
            raise InvalidInput(
                f"The {self.parameter} `{entry.name}` cannot be loaded from {entry.value} ({error})."
            ) from error
        name = getattr(part, self.attribute, None)
        if name != entry.name:
            raise InvalidInput(
                f"The {self.parameter} at {entry.value} must have `{self.attribute}` {entry.name!r}, as it is "
                f"registered in `{self.group}`, got {name!r} instead."
            )
        return part
