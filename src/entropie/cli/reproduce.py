"""`reproduce`: the figures of the paper, on real data where they are at hand and on simulated data elsewhere."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from entropie.cli import output
from entropie.cli.options import COUNT, json_option

if TYPE_CHECKING:
    from entropie.paper.reproduce import Reproduction

_FOLDER = click.Path(file_okay=False, path_type=Path)


@click.command()
@click.argument("figures", nargs=-1, metavar="[FIGURE]...")
@click.option(
    "--scale",
    type=click.Choice(["small", "medium", "paper"]),
    default="small",
    show_default=True,
    help="2,000 people in half a minute, 100,000 in three, or the paper's 1,370,637 in up to thirty.",
)
@click.option(
    "--data", type=_FOLDER, metavar="DIR", help="Folder with real data; the simulator stands in for the rest."
)
@click.option(
    "--out", type=_FOLDER, default=Path("entropie-paper"), show_default=True, metavar="DIR", help="Folder for results."
)
@click.option("--seed", type=COUNT, default=0, show_default=True, metavar="S", help="Seed of everything drawn.")
@click.option("--threads", type=COUNT, metavar="N", help="Threads to use. [all cores]")
@json_option
@click.pass_context
def reproduce(
    context: click.Context,
    figures: tuple[str, ...],
    scale: str,
    data: Path | None,
    out: Path,
    seed: int,
    threads: int | None,
    as_json: bool,
) -> None:
    """Reproduce the paper: figures 1 to 10, the tables `cities` (real data) and `growth` (time), or `all` but growth.

    Every figure is written as CSV, JSON, SVG and PNG with a caption: the paper's claim and what was found. A stopped
    run continues with what is done. Recognised in --data: raw_Checkins_anonymized.txt (Foursquare), ratings.csv or
    ratings.dat (MovieLens), foursquare_*.parquet (user, venue, time), bssr1_*.csv.

    \b
    entropie reproduce 1 5 6
    entropie reproduce all --scale paper --data data
    """
    from entropie.errors import InvalidInput
    from entropie.paper.registry import chosen_figures
    from entropie.paper.reproduce import reproduce as run
    from entropie.paper.settings import make_settings

    if out.exists() and not out.is_dir():
        raise InvalidInput(f"Output {out} is a file; name a folder.")
    chosen_figures(figures)
    settings = make_settings(scale, out / "steps", seed=seed, data=data, threads=threads)
    command = shlex.join(["entropie", "reproduce", *(figures or ("all",)), "--scale", scale])
    if data is not None:
        command += " --data DIR"  # where files lie is nobody's business
    try:
        with _progress() as tell:
            found = run(figures, settings, out, tell=tell, command=command)
    except KeyboardInterrupt:
        click.echo(f"entropie: Stopped; what is done is kept in {out}, the same command continues.", err=True)
        context.exit(130)
    if as_json:
        output.print_json(found.to_json())
    else:
        click.echo(reproduction_text(found, out))


@contextmanager
def _progress() -> Iterator[Any]:
    """A bar with the step at work and the time left, where standard error is a terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

    columns = (BarColumn(), TaskProgressColumn(), TextColumn("{task.fields[left]}"), TextColumn("{task.description}"))
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=1.0, left="")

        def tell(step: str, share: float, seconds_left: float | None) -> None:
            bar.update(task, completed=share, description=step, left=time_left(seconds_left))

        yield tell


def time_left(seconds: float | None) -> str:
    """Minutes and seconds in words, or nothing where they cannot be told yet."""
    if seconds is None:
        return ""
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest:02d} s left" if minutes else f"{rest} s left"


def reproduction_text(found: Reproduction, out: Path) -> str:
    """The terminal view: one paragraph per figure, then time, memory and files."""
    lines = []
    for name, (title, claim, finding) in found.findings.items():
        heading = f"Figure {name}. {title}" if name.isdigit() else title
        lines += [heading, ""]
        if claim:
            lines += [output.paragraph(f"The paper: {claim}"), ""]
        lines += [output.paragraph(f"Found: {finding}"), ""]
    worked = [step for step in found.steps if not step.kept]
    seconds = sum(step.seconds for step in worked)
    peak = max((step.peak_bytes for step in worked), default=0)
    kept = len(found.steps) - len(worked)
    done = f"{len(worked)} steps in {seconds:.0f} s, at most {peak / 2**30:.1f} GB"
    if kept:
        done += f"; {kept} steps were done before"
    lines.append(output.paragraph(f"Scale {found.settings.scale.name}, seed {found.settings.seed}: {done}."))
    if not found.pictures:
        lines.append(output.paragraph("No pictures: they need the extra `report`; run: pip install 'entropie[report]'"))
    lines.append(output.paragraph(f"Written to {out}: {len(found.files)} files; results.md has all tables."))
    return "\n".join(lines)
