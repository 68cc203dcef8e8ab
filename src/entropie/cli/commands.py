"""The command to give next, in full: it runs as it is printed, in the folder where the last one ran."""

from __future__ import annotations

import contextlib
import dataclasses
import shlex
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from entropie.errors import printable, without_password
from entropie.kinds import option_of
from entropie.request import Attackers, Limits, People, Request
from entropie.table_request import TableRequest

if TYPE_CHECKING:
    from entropie.release.apply import Manifest
    from entropie.release.table_file import TableManifest

_JUDGED = ("profile", "limit", "limit_name", "fail_on", "attempt_probability", "not_released", "one_id_per_person",
           "accept_limited")  # fmt: skip
_ATTACKED = ("targets", "scope", "matchers")
_USUAL = ("--profile", "ema")
_FEWEST = 2
_WIDTH = 77  # columns of a screen, without room for the sign that a command goes on
_STANDARD_INPUT = "-"


def sweep_after(request: Request) -> str | None:
    """The sweep of the events that were assessed; None where they have no name."""
    source = request.source
    where = _data(source.events, source.source)
    if where is None or source.preset is not None or request.run.engine == "spark":
        return None
    named = [*_options(source, without=("category", "grid")), *_options(request.people)]
    attacked = [*_options(request.split, only=("rule",)), *_options(request.attackers, only=_ATTACKED)]
    return _command("sweep", *where, *named, *attacked, *(_options(request.verdict, only=_JUDGED) or _USUAL))


def apply_after(plan: Path, events: str | None, url: str | None) -> str | None:
    """What writes the file that a sweep found."""
    where = _data(events, url)
    if where is None:
        return None
    kind = ".parquet" if Path(events or "").suffix == ".parquet" else ".csv"
    taken = where if events is not None else ["--source", without_password(url or "")]
    return _command("apply", _here(plan), *taken, "--out", f"safer{kind}")


def assess_after(made: Manifest, out: Path) -> str | None:
    """The assessment of a file that was written, against the limit it was made for; None where nobody has two rows."""
    if made.largest < _FEWEST:
        return None
    user, item, *time = made.columns
    judged = made.judged
    whole = made.pseudonyms == made.people and made.events == made.input_events
    least = judged.min_events if whole else min(_FEWEST, judged.min_events)
    named = ["--user", user, "--item", item, *(["--time", *time] if time else []), *_options(People(least))]
    given = {name: getattr(judged, name) for name in (*_JUDGED, *_ATTACKED) if hasattr(judged, name)}
    limits = Limits(**{name: given[name] for name in _JUDGED if name in given})
    attackers = Attackers(**{name: given[name] for name in _ATTACKED if name in given})
    return _command("assess", _here(out), *named, *_options(attackers), *_options(limits))


def attributes_after(made: TableManifest, out: Path) -> str | None:
    """The assessment of a table that was written; None where no known column is left."""
    known = [level.column for level in made.levels if level.method != "drop"]
    if not known or any("," in name for name in known):
        return None
    sensitive = [] if made.sensitive is None else ["--sensitive", made.sensitive]
    return _command("attributes", _here(out), "--columns", ",".join(known), *sensitive)


def generalise_after(request: TableRequest, columns: Sequence[str], goal: str | None) -> str | None:
    """What makes a table that was assessed meet its limit."""
    table = request.table
    where = _data(table.table, None)
    if where is None or any("," in name for name in columns):
        return None
    own = _options(table, only=("id_column", "bins"))
    aim = shlex.split(goal) if goal else ["--profile", request.verdict.profile or "ema"]
    return _command("generalise", *where, "--columns", ",".join(columns), *own, *aim)


def _data(events: Any, url: str | None) -> list[str] | None:
    if url is not None:
        return []
    if not isinstance(events, str | Path) or str(events) == _STANDARD_INPUT:
        return None
    return [_here(Path(events))]


def _here(path: Path) -> str:
    """A path as one may write it in the folder where the command ran."""
    with contextlib.suppress(ValueError, OSError):
        return str(path.relative_to(Path.cwd()))
    return str(path)


def _command(*parts: str) -> str:
    return printable(shlex.join(["entropie", *parts]))


def command_line(label: str, command: str) -> str:
    """A command behind what it is for: on several lines, as a shell takes them, where one is too short for it."""
    head = f"{label:<7} "
    lines, words = [head], _kept_together(shlex.split(command))
    for word in words:
        if len(lines[-1]) > len(head) and len(lines[-1]) + len(word) > _WIDTH:
            lines.append(" " * len(head) + "  ")
        lines[-1] += f"{word} "
    return " \\\n".join(one.rstrip() for one in lines)


def _kept_together(parts: Sequence[str]) -> list[str]:
    """What stands on one line: an option and its value."""
    found: list[str] = []
    for part in map(shlex.quote, parts):
        if found and found[-1].startswith("--") and " " not in found[-1] and not part.startswith("--"):
            found[-1] += f" {part}"
        else:
            found.append(part)
    return found


def _options(section: Any, *, without: Iterable[str] = (), only: Iterable[str] = ()) -> list[str]:
    """The options of a section that differ from what they are unless given."""
    told: list[str] = []
    for field in dataclasses.fields(section):
        shown, value = option_of(field), getattr(section, field.name)
        if shown is None or field.name in without or (only and field.name not in only) or value == field.default:
            continue
        name = f"--{shown.spelled or field.name.replace('_', '-')}"
        if shown.kind == "flag":
            told.append(name)
        elif shown.kind in ("texts", "counts"):
            told += [part for one in value for part in (name, str(one))]
        elif isinstance(value, tuple):
            told += [name, ",".join(map(str, value))]
        else:
            told += [name, without_password(value) if field.name == "source" else str(value)]
    return told
