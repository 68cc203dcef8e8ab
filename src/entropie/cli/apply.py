"""`apply`: the safer file that a sweep's plan describes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from entropie.cli import output
from entropie.cli.commands import apply_after, assess_after, attributes_after, command_line
from entropie.cli.options import FILE, Command, option, options_of, public_option, viewed
from entropie.request import Run, Source
from entropie.words import plural

if TYPE_CHECKING:
    from entropie.release.apply import Manifest
    from entropie.release.plan import ReleasePlan
    from entropie.release.table_file import TableManifest
    from entropie.release.table_plan import TablePlan


@click.command(cls=Command)
@click.argument("plan", type=FILE)
@click.argument("events", required=False)
@options_of(Source, only=("source",))
@option("--out", "Output", "File to write (.csv, .parquet).", FILE, "FILE", required=True)
@option("--keep-key", "Output", "Also write who is behind each pseudonym.", FILE, "FILE")
@public_option
@viewed("json", "quiet")
@options_of(Run, without=("seed", "threads"))
def apply(
    plan: Path, events: str | None, source: str | None, out: Path, keep_key: Path | None, view: output.View,
    engine: Literal["local", "spark"] | None, master: str | None, memory: int | None,
) -> None:  # fmt: skip
    """Write the safer file that PLAN makes of EVENTS, and a manifest beside it.

    PLAN is the plan.json that `sweep --out DIR` writes, or `generalise --out DIR` for a table with one row per person,
    of which no ids are written. People become random pseudonyms, and no key is kept unless asked for; rows lose their
    order; other columns are not written. Data other than those planned for are refused. Those of a database are read
    as the plan says, without EVENTS; a URL with a password goes to --source. On Spark events stay on the cluster until
    this machine writes the file; it is the same one.

    \b
    entropie apply out/plan.json checkins.parquet --out safer.parquet
    entropie apply out/plan.json --source postgresql://host/db --out safer.csv
    entropie apply out/plan.json checkins.parquet --out safer.parquet \\
        --engine spark --master spark://host:7077
    """
    from entropie.release.apply import apply as applied

    with output.stages(quiet=view.quiet) as progress:
        where: dict[str, Any] = {"engine": engine or "local", "master": master, "memory": memory}
        made = applied(plan, events, out, source=source, keep_key=keep_key, progress=progress, **where)
    view.show(made.to_json, lambda: applied_text(made, out, keep_key))


@dataclass(frozen=True, slots=True)
class Safer:
    """The safer file that is written beside a search for its plan, where one is wanted."""

    file: Path | None

    @property
    def files(self) -> list[Path]:
        """The file and its manifest; refuses a kind of file that cannot be written."""
        from entropie.data.columns import check_table
        from entropie.release.apply import manifest_path

        if self.file is None:
            return []
        check_table(self.file)
        return [self.file, manifest_path(self.file)]

    def told(
        self, plan: ReleasePlan | TablePlan | None, data: object, attempts: output.Attempts, quiet: bool, **how: Any
    ) -> list[str]:
        """Write it by the plan that was found, and say so."""
        from entropie.release.apply import apply as applied

        if self.file is None:
            return []
        if plan is None:
            return [f"{output.name(self.file)} was not written: no combination was found that meets the limit."]
        with output.stages(quiet=quiet) as how["progress"]:
            made = attempts.run(partial(applied, plan, data, self.file, **how))
        return [] if made is None else ["", applied_text(made, self.file, None)]

    def later(self, plan: ReleasePlan | TablePlan | None, file: Path, data: str | None, url: str | None) -> list[str]:
        """The command that writes it by the plan in a file, where one was found and nothing is written at once."""
        command = None if plan is None or self.file is not None else apply_after(file, data, url)
        return [] if command is None else [command_line("Apply:", command)]


def applied_text(made: Manifest | TableManifest, out: Path, key: Path | None) -> str:
    """What was written, what was done, and what to do with it."""
    from entropie.release.apply import manifest_path
    from entropie.release.table_file import TableManifest

    if isinstance(made, TableManifest):
        return _table_text(made, out)

    counted = f"{plural(made.events, 'event')} of {plural(made.people, 'person', 'people')}"
    under = "" if made.pseudonyms == made.people else f" under {plural(made.pseudonyms, 'pseudonym')}"
    before = f"{plural(made.input_events, 'event')} of {plural(made.input_people, 'person', 'people')}"
    lines = [f"{output.name(out)}: {counted}{under}, made from {before}", *(f"  {step}" for step in made.done)]
    if made.dropped:
        lines.append(f"  not written: {output.name(', '.join(made.dropped))}")
    kept = "No key was kept: nobody can tell any more who is behind a pseudonym."
    lines.append(
        kept if key is None else f"Warning: {output.name(key)} says who is behind each pseudonym; keep it apart."
    )
    lines.append(f"Manifest: {output.name(manifest_path(out))} (for you, not for who receives the file)")
    lines += confirmed_by(assess_after(made, out))
    return "\n".join(lines)


def _table_text(made: TableManifest, out: Path) -> str:
    from entropie.release.apply import manifest_path

    people = plural(made.state.people, "person", "people")
    lines = [
        f"{output.name(out)}: {people}, made from {plural(made.input_people, 'person', 'people')}",
        *(f"  {output.name(step)}" for step in made.done),
        "No ids were written; rows stand in random order.",
        f"Manifest: {output.name(manifest_path(out))} (for you, not for who receives the file)",
    ]
    return "\n".join([*lines, *confirmed_by(attributes_after(made, out))])


def confirmed_by(command: str | None) -> list[str]:
    """How to see that the file is what it should be."""
    return [] if command is None else [command_line("Confirm:", command)]
