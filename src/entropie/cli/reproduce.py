"""`reproduce`: the figures of the paper, on real data where they are at hand and on simulated data elsewhere."""

from __future__ import annotations

import shlex
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING

import click

from entropie import words
from entropie.cli import output, stopping
from entropie.cli.options import COUNT, FOLDER, Command, one_of, option, public_option, viewed

if TYPE_CHECKING:
    from entropie.paper.reproduce import Reproduction


@click.command(cls=Command)
@click.argument("figures", nargs=-1, metavar="[FIGURE]...")
@option("--data", "Input", "Folder with real data. [simulated data]", FOLDER, "DIR")
@option(
    "--scale",
    "Input",
    "30 s, 3 min, or up to 30 min. [small]",
    one_of("small", "medium", "paper"),
    default="small",
)
@option("--out", "Output", "Folder for results. [entropie-paper]", FOLDER, "DIR", default=Path("entropie-paper"))
@public_option
@viewed()
@option("--seed", "Running", "Seed of everything drawn. [0]", COUNT, "S", default=0)
@option("--threads", "Running", "Threads to use. [all cores]", COUNT, "N")
def reproduce(
    figures: tuple[str, ...],
    scale: str,
    data: Path | None,
    out: Path,
    seed: int,
    threads: int | None,
    view: output.View,
) -> None:
    """Reproduce the paper: figures 1 to 10, `cities` (real data), `growth` (time), or `all` but growth.

    Every figure is written as CSV, JSON, SVG and PNG, results.md has them all. Scales: 2,000 people, 100,000, or the
    paper's 1,370,637. A stopped run continues where it was. Recognised in --data: raw_Checkins_anonymized.txt
    (Foursquare), ratings.csv or ratings.dat (MovieLens), foursquare_*.parquet (user, venue, time), bssr1_*.csv.

    \b
    entropie reproduce 1 5 6
    entropie reproduce all --scale paper --data data
    """
    from entropie.atomic import claimed
    from entropie.paper.registry import chosen_figures
    from entropie.paper.reproduce import reproduce as run
    from entropie.paper.settings import make_settings

    chosen_figures(figures)
    settings = make_settings(scale, out / "steps", seed=seed, data=data, threads=threads)
    command = shlex.join(["entropie", "reproduce", *(figures or ("all",)), "--scale", scale])
    if data is not None:
        command += " --data DIR"  # where files lie is nobody's business
    stopping.instead(f"Stopped; finished steps are in {output.name(out)}, the same command continues.")
    with claimed(out), output.stages(quiet=view.quiet) as progress:
        done = run(figures, settings, out, progress=progress, command=command)
    view.show(done.to_json, lambda: reproduction_text(done, out, view.verbose))


def reproduction_text(done: Reproduction, out: Path, verbose: bool = False) -> str:
    """The terminal view: the main finding of every figure, then time, memory and files."""
    return "\n".join([*(_all_findings(done) if verbose else _main_findings(done)), "", *_footer(done, out)])


def _main_findings(done: Reproduction) -> list[str]:
    width = max(len(name) for name in done.findings) + 2
    return [
        textwrap.fill(
            lines[0],
            output.WIDTH,
            initial_indent=name.ljust(width),
            subsequent_indent=" " * width,
            break_on_hyphens=False,
        )
        for name, lines in done.findings.items()
    ]


def _all_findings(done: Reproduction) -> list[str]:
    from entropie.paper.outputs import title_of

    lines = []
    for figure in done.figures:
        lines += [title_of(figure), ""]
        if figure.claim:
            lines += [output.paragraph(f"The paper: {figure.claim}"), ""]
        lines += [
            *(textwrap.fill(line, output.WIDTH, initial_indent="- ", subsequent_indent="  ", break_on_hyphens=False)
              for line in done.findings[figure.name]),
            "",
        ]  # fmt: skip
    return lines[:-1]


def _footer(done: Reproduction, out: Path) -> list[str]:
    worked = [step for step in done.steps if not step.kept]
    seconds = sum(step.seconds for step in worked)
    peak = max((step.peak_bytes for step in worked), default=0)
    spent = f"{words.plural(len(worked), 'step')} in {words.seconds(seconds)}, at most {words.size(peak)}"
    kept = f"; {len(done.steps) - len(worked)} done before" if len(worked) < len(done.steps) else ""
    lines = [f"Scale {done.settings.scale.name}, seed {done.settings.seed}: {spent}{kept}."]
    if not done.charts:
        lines.append(output.paragraph("No charts: they need the extra `report`; run: pip install 'entropie[report]'"))
    return [*lines, f"All findings, charts and tables: {out / 'results.md'} ({len(done.files)} files)"]
