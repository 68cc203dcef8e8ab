"""The driver: figures in, files out, each step of work done once and kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from entropie import drawing
from entropie.atomic import write_file
from entropie.paper.figure import Figure
from entropie.paper.outputs import caption, machine, results_page, write_figure
from entropie.paper.registry import chosen_figures
from entropie.paper.settings import Settings
from entropie.paper.steps import ORIGIN, Done, origin_step, run_steps
from entropie.progress import Progress, silent


@dataclass(frozen=True, slots=True)
class Reproduction:
    """What a run found and wrote."""

    settings: Settings
    figures: tuple[Figure, ...]
    findings: dict[str, list[str]]
    rows: dict[str, list[dict[str, Any]]]
    files: tuple[str, ...]
    steps: tuple[Done, ...]
    charts: bool

    def to_json(self) -> dict[str, Any]:
        """The document of `entropie reproduce --json`."""
        return {
            "schema": "entropie.reproduction/1",
            "scale": self.settings.scale.name,
            "seed": self.settings.seed,
            "machine": machine(),
            "charts": self.charts,
            "data": [step.result for step in self.steps if step.name.startswith(ORIGIN)],
            "figures": [
                {
                    "figure": figure.name,
                    "title": figure.title,
                    "paper_claim": figure.claim,
                    "findings": self.findings[figure.name],
                    "rows": len(self.rows[figure.name]),
                }
                for figure in self.figures
            ],
            "steps": [
                {"step": step.name, "seconds": step.seconds, "peak_bytes": step.peak_bytes, "kept": step.kept}
                for step in self.steps
            ],
            "files": list(self.files),
        }


def reproduce(
    names: Sequence[str],
    settings: Settings,
    out: Path,
    *,
    progress: Progress = silent,
    command: str = "entropie reproduce",
) -> Reproduction:
    """Run what the figures need, then write every figure's files and one page of results."""
    figures = chosen_figures(names)
    out.mkdir(parents=True, exist_ok=True)
    needed = [origin_step(settings, kind) for figure in figures for kind in figure.kinds]
    needed += [step for figure in figures for step in figure.steps(settings)]
    done = run_steps(needed, settings, progress)
    results = {name: step.result for name, step in done.items()}
    rows = {figure.name: figure.data(settings, results) for figure in figures}
    files = [name for figure in figures for name in write_figure(figure, rows[figure.name], settings, out)]
    write_file(out / "captions.md", "\n".join(caption(figure, rows[figure.name]) for figure in figures))
    write_file(
        out / "results.md",
        results_page([(figure, rows[figure.name]) for figure in figures], tuple(done.values()), settings, command),
    )
    return Reproduction(
        settings=settings,
        figures=figures,
        findings={figure.name: figure.findings(rows[figure.name]) for figure in figures},
        rows=rows,
        files=(*files, "captions.md", "results.md"),
        steps=tuple(done.values()),
        charts=drawing.available(),
    )
