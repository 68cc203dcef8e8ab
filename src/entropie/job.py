"""A job as one frozen value of sections: made from options by name, read from a TOML file, written as one.

What is assessed differs (`entropie.request`, `entropie.table_request`); how a job is put together does not.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, ClassVar, Self, get_type_hints

from entropie.errors import InvalidInput, InvalidParameter, meant, option, without_password
from entropie.kinds import converted, option_of
from entropie.toml import read_toml, toml_value

_EITHER = ({"profile"}, {"limit", "limit_name"})
_ALSO_WRITTEN = ("events", "table", "replicates", "partitions", "block_users", "pinned")
_JUDGED = {"seed", "replicates"}
_DECLARED = {"attacker", "context", "review_date"}


def free_of(*sections: Any) -> frozenset[str]:
    """Options that change no number judged: they may be given beside a pinned verdict."""
    return frozenset({f.name for kind in sections for f in fields(kind)} - _JUDGED | _DECLARED)


@dataclass(frozen=True, slots=True)
class Job:
    """Sections of options.

    SECTIONS   what each table of a file holds, by the fields of the job
    DATA       the option that names what is read, in the first of them
    FREE       options that change no number judged
    """

    SECTIONS: ClassVar[Mapping[str, type]]
    DATA: ClassVar[str]
    FREE: ClassVar[frozenset[str]]

    def __init_subclass__(cls) -> None:
        hints = get_type_hints(cls).items()
        cls.SECTIONS = {name: kind for name, kind in hints if isinstance(kind, type) and dataclasses.is_dataclass(kind)}

    @classmethod
    def of(cls, data: object, options: Mapping[str, Any]) -> Self:
        """Make the job from options by name; an option that is None keeps its default."""
        given = {name: value for name, value in options.items() if value is not None}
        sections: dict[str, Any] = {}
        for name, kind in cls.SECTIONS.items():
            mine = {f.name: _given(f, given.pop(f.name)) for f in fields(kind) if f.name in given}
            first = {cls.DATA: data} if cls.DATA in {f.name for f in fields(kind)} else {}
            sections[name] = kind(**{**first, **mine})
        if given:
            known = [f.name for kind in cls.SECTIONS.values() for f in fields(kind)]
            raise InvalidParameter(f"Unknown option {', '.join(map(repr, given))}{meant(next(iter(given)), known)}")
        return cls(**sections)

    @classmethod
    def read(cls, path: str | os.PathLike[str], options: Mapping[str, Any] | None = None) -> Self:
        """Read the job from a TOML file with a table per section; `options` overrule it by name."""
        return cls.of_tables([(str(path), read_job(path))], options)

    @classmethod
    def of_tables(
        cls, layers: Sequence[tuple[str, Mapping[str, Any]]], options: Mapping[str, Any] | None = None
    ) -> Self:
        """Make the job from tables of sections, as files have them: later ones overrule earlier ones by name, and
        `options` all of them. Each comes with the name that messages call it.

        A profile replaces a limit set before with all that belongs to it, and the other way round. After tables whose
        verdict is pinned others may name what is read, outputs and how to run, and nothing that changes a number.
        """
        merged: dict[str, Any] = {}
        pinned = None
        given = {name: value for name, value in (options or {}).items() if value is not None}
        for called, values in (*((called, cls._flat(called, tables)) for called, tables in layers), ("", given)):
            if pinned is not None:
                cls._check_pinned(pinned, values)
            for one, other in (_EITHER, _EITHER[::-1]):
                if values.keys() & one and merged.keys() & other:  # a limit of another kind replaces all of it
                    merged = {name: value for name, value in merged.items() if name not in {*other, "fail_on"}}
            merged |= values
            pinned = called if values.get("pinned") else pinned
        return cls.of(merged.pop(cls.DATA, None), merged)

    def to_toml(self) -> str:
        """The job as a TOML file that `read` reads: what was set, not what is the default anyway."""
        blocks = []
        for name in self.SECTIONS:
            value = getattr(self, name)
            lines = [
                f"{f.name} = {toml_value(_kept(f.name, getattr(value, f.name)))}"
                for f in fields(value)
                if _may_be_written(f) and self._is_set(value, f)
            ]
            if lines:
                blocks.append("\n".join([f"[{name}]", *lines]))
        return "\n\n".join(blocks) + "\n"

    @classmethod
    def _flat(cls, called: str, tables: Mapping[str, Any]) -> dict[str, Any]:
        """Every key of tables of sections with its value; refuses what no section has."""
        merged: dict[str, Any] = {}
        for name, table in tables.items():
            if name not in cls.SECTIONS or not isinstance(table, dict):
                allowed = _listed(cls.SECTIONS)
                near = meant(name, cls.SECTIONS)
                raise InvalidInput(f"Configuration {called} may have the tables {allowed}, got `{name}` instead{near}")
            known = {f.name for f in fields(cls.SECTIONS[name]) if _may_be_written(f)}
            for key, value in table.items():
                if key not in known:
                    allowed, near = _listed(sorted(known)), meant(key, known)
                    raise InvalidInput(f"Table `{name}` of {called} may have {allowed}, got `{key}` instead{near}")
                merged[key] = value
        return merged

    @classmethod
    def _check_pinned(cls, path: str, given: Mapping[str, Any]) -> None:
        named = [name for name in given if name not in cls.FREE]
        if named:
            raise InvalidParameter(
                f"{', '.join(map(option, named))} may not be given beside {path}, which pins the verdict; change the "
                "file."
            )

    def _is_set(self, section: Any, declared: dataclasses.Field[Any]) -> bool:
        value = getattr(section, declared.name)
        return (
            value is not None
            and not hasattr(value, "__arrow_c_stream__")
            and value != declared.default
            and (declared.name != self.DATA or isinstance(value, str | Path))
        )


def read_job(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The tables of a job file."""
    return read_toml(path, f"Configuration {path}", "`--print-config` writes one")


def _may_be_written(declared: dataclasses.Field[Any]) -> bool:
    return option_of(declared) is not None or declared.name in _ALSO_WRITTEN


def _given(declared: dataclasses.Field[Any], value: Any) -> Any:
    shown = option_of(declared)
    return value if shown is None else converted(declared.name, shown.kind, value, shown.choices)


def _kept(name: str, value: Any) -> Any:
    """A value as a file may keep it: of a database without the password."""
    return without_password(value) if name == "source" else value


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)
