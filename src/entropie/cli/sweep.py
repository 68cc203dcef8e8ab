"""`sweep`: the cheapest combination of mitigations that meets a limit, or that none does."""

from __future__ import annotations

from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from msgspec.structs import replace

from entropie.cli import output
from entropie.cli.apply import Safer
from entropie.cli.options import (
    COUNT,
    FILE,
    FOLDER,
    NUMBER,
    Command,
    Grouped,
    given,
    junit_option,
    markdown_option,
    option,
    options_of,
    public_option,
    viewed,
)
from entropie.request import Attackers, Limits, People, Request, Run, Source, SplitRule
from entropie.words import count, interval, percent, plural

if TYPE_CHECKING:
    from entropie.mitigate.kind import Kind, Values
    from entropie.release.result import Sweep as Swept
    from entropie.release.result import SweepRow

_NO_INPUTS = ("grid", "category")  # here they are mitigations
_LEAST_ROWS = 4
_SCREEN = 14  # lines of 25 that the sentences and the frame of the table leave
_JUDGED = ("profile", "limit", "limit_name", "fail_on", "attempt_probability", "not_released", "one_id_per_person",
           "accept_limited")  # fmt: skip


class ListOf(click.ParamType[tuple[Any, ...]]):
    """Several settings with commas between them: 10,100,1000."""

    name = "list"

    def __init__(self, values: Values) -> None:
        self._values = values

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[Any, ...]:
        """Read every setting, or say what it should be."""
        if isinstance(value, tuple):
            return value
        try:
            return tuple(self._values.read(part.strip()) for part in value.split(","))
        except ValueError:
            return self.fail(f"{value!r} is not a list of {self._values.called}.", param, ctx)


class Sweep(Command):
    """A command with one option for each kind of mitigation, made when it is run: the kinds know how to compute."""

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """All options; those of mitigations stand before the others of their group."""
        from entropie.mitigate.kinds import KINDS

        known = {param.name for param in self.params}
        made = [_option_of(kind) for kind in KINDS.values() if kind.name not in known]
        place = next(at for at, param in enumerate(self.params) if param.name == "only")
        self.params[place:place] = made
        return super().get_params(ctx)


def _option_of(kind: Kind) -> click.Parameter:
    listed: dict[str, Any] = {"type": ListOf(kind.values), "default": ()}
    several = listed if "," in kind.metavar else {"multiple": True}
    name = f"--{kind.name.replace('_', '-')}"
    return Grouped([name], metavar=kind.metavar, help=kind.help, group="Mitigation", **several)


@click.command(cls=Sweep)
@click.argument("events", required=False)
@options_of(Source, People, without=_NO_INPUTS)
@options_of(SplitRule, only=("rule",))
@options_of(Attackers, only=("targets", "scope", "matchers"))
@options_of(Limits, only=_JUDGED)
@option("--only", "Mitigation", "Try no kind but those named.", is_flag=True)
@option("--cost", "Mitigation", "information, items, item-hours, flows or top.", metavar="SCALE", default="information")
@option("--budget", "Running", "Attack N combinations at most. [40]", COUNT, "N")
@option("--seconds", "Running", "Begin no other after S seconds.", NUMBER, "S")
@option("--out", "Output", "Folder for plan, report and all numbers.", FOLDER, "DIR")
@option("--apply", "Output", "Write the safer file, if one is found.", FILE, "FILE", to="apply_to")
@junit_option
@markdown_option
@public_option
@viewed()
@options_of(Run, without=("engine", "master"))
def sweep(
    events: str | None,
    only: bool,
    cost: str,
    budget: int | None,
    seconds: float | None,
    out: Path | None,
    apply_to: Path | None,
    junit: Path | None,
    markdown: Path | None,
    view: output.View,
    **options: Any,
) -> int:
    """Find the cheapest way to make EVENTS meet a limit, or that there is none.

    Mitigations are combined: on items, times, rare cells, people, events and pseudonyms. Each combination is attacked
    and judged as `assess` does. Naming a mitigation sets what is tried of its kind; the other kinds are tried too,
    unless --only is given. Exit code: 0 a combination meets the limit, 1 none does, 3 it is left open.

    \b
    entropie sweep checkins.parquet --profile ema --cost items --out out
    entropie sweep checkins.parquet --profile ema --only --top 50,500
    entropie sweep --source postgresql://host/db --table visits --profile ema
    """
    from entropie.assessment import check_named
    from entropie.atomic import claimed
    from entropie.cli.verdicts import Verdicts
    from entropie.errors import InvalidInput
    from entropie.gate.judged import Judged
    from entropie.mitigate.kinds import KINDS
    from entropie.mitigate.mitigation import Mitigation
    from entropie.release.result import FILES
    from entropie.release.sweep import BUDGET, Options, swept

    check_named(events, options["source"])
    if events == "-" and apply_to is not None:
        raise InvalidInput("Standard input can be read only once; give --out, and its plan.json to `entropie apply`.")
    named = tuple(Mitigation(kind, value) for kind in KINDS for value in options.pop(kind))
    safer, verdicts = Safer(apply_to), Verdicts(junit, markdown)
    read = [None if events is None else Path(events), *(one.file for one in named)]
    inside = [] if out is None else [out / name for name in FILES]
    output.check_writable(read, [*safer.files, *verdicts.paths], inside)
    tried = Options(named, only, cost, BUDGET if budget is None else budget, seconds, options["lat"], options["lon"])
    attempts = output.Attempts()
    with nullcontext() if out is None else claimed(out):
        with output.stages(quiet=view.quiet) as progress:
            result = swept(Request.of(events, {**given(options), "progress": progress}), tried)
        result = replace(result, provenance=replace(result.provenance, command=output.command()))
        if out is not None:
            attempts.run(partial(result.write_into, out))
    verdicts.write(attempts, lambda: Judged.of_sweep(result.to_json(), result.exit_code), "sweep")
    how = {name: options[name] for name in ("source", "memory")}
    told = safer.told(result.plan, events, attempts, view.quiet, **how)
    called = result.input.source if events in (None, "-") else Path(str(events)).name or str(events)
    files = []
    if out is not None:
        files = [_files(result, out), *safer.later(result.plan, out / FILES[2], events, options["source"])]
    view.show(
        result.to_json,
        lambda: "\n".join(
            [sweep_text(result, output.name(called), verbose=view.verbose), *_next(result), *files, *told]
        ),
    )
    attempts.raise_failed()
    return result.exit_code


def _next(result: Swept) -> list[str]:
    """What to do where nothing was chosen."""
    if result.chosen is not None:
        return []
    if result.limited is not None:
        return ["Next:        mend what limits it, or accept that (--accept-limited)"]
    if result.left:
        return ["Next:        try more combinations (--budget N)"]
    if result.outcome == "open":
        return ["Next:        assess more people, so that intervals are narrower"]
    return ["Next:        broader steps of your own (--help), or noise (assess with --protect 0.9)"]


def _files(result: Swept, out: Path) -> str:
    from entropie.release.result import FILES

    lines = [f"Report:      {output.name(out / FILES[3])}", f"All numbers: {output.name(out / FILES[0])}"]
    if result.plan is not None:
        lines.append(f"Plan:        {output.name(out / FILES[2])}")
    return "\n".join(lines)


def sweep_text(result: Swept, name: str, *, verbose: bool = False) -> str:
    """The terminal view of a sweep: the answer, what it rests on, then the rows."""
    from entropie.mitigate.loss import LOST

    head = [
        *(line for sentence in result.sentences for line in output.paragraph(sentence).splitlines()),
        "",
        *_read(result, name),
        "",
    ]
    places = tuple(range(len(result.rows))) if verbose else _shown(result, max(_LEAST_ROWS, _SCREEN - len(head)))
    rows = [_row(row) for row in (result.as_it_is, *(result.rows[place] for place in places)) if row.events]
    more = len(result.rows) - len(places)
    what = "All tried" if verbose else "Lower risk at a higher cost"
    alone = "; from: that attacker decided alone, no other was run" if any(row[2][:4] == "from" for row in rows) else ""
    foot = [
        f"Cost: share lost {LOST[result.scale]}." if result.scale == "information" else f"Cost: {LOST[result.scale]}.",
        f"Risk: of the people judged, by the attacker named{alone}.",
        f"{plural(more, 'other combination')} tried: --verbose." if more else "",
        "Not covered: attackers with other data. Coarser data come without a guarantee.",
    ]
    notes = [output.paragraph(f"{row.name}: {row.note}") for row in result.rows if row.note] if verbose else []
    table = output.table(["combination", "cost", "risk", "95 % CI", "attacker", "verdict"], rows)
    return "\n".join([*head, f"{what}:", table, "", *notes, output.paragraph(" ".join(filter(None, foot)))])


def _shown(result: Swept, most: int) -> tuple[int, ...]:
    """So many of the rows that no other beats, and always the one chosen."""
    found = tuple(result.frontier[:most])
    return found if result.chosen is None or result.chosen in found else (*found[:-1], result.chosen)


def _read(result: Swept, name: str) -> list[str]:
    facts, columns = result.input, result.input.columns
    tried = f"{count(len(result.rows))} of {plural(result.combinations, 'combination')} tried"
    lines = output.paragraph(f"{name}: {plural(facts.users or 0, 'person', 'people')}; {tried}").splitlines()
    guessed = [f"{role} = {c.column} (--{role})" for role, c in columns.items() if c.how == "guessed" and c.column]
    lines += [f"columns guessed: {', '.join(guessed)}"] if guessed else []
    if "time" in columns and columns["time"].column is None:
        lines.append("no time column: rows are taken in the order of the file (--time)")
    elif facts.order_only:
        lines.append(f"column {columns['time'].column} says the order of events, and no times")
    lines += [f"excluded: {plural(n, 'row')}, {reason}" for reason, n in facts.dropped.items() if n]
    if facts.dropped_users:
        few = plural(facts.dropped_users, "person", "people")
        lines.append(f"attacked by known events alone: {few} with fewer than {facts.min_events} events")
    return lines


def _row(row: SweepRow) -> list[str]:
    risk = f"{'from ' if row.at_least and row.risk.value < 1.0 else ''}{percent(row.risk.value)}"
    return [row.name, percent(row.cost), risk, interval(row.risk), row.attacker or "nobody", row.decision]
