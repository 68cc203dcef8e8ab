"""The driver: figures in, files out, each step of work done once and kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from entropie import drawing
from entropie.paper.origins import PREFIX, origin_step
from entropie.paper.outputs import caption, machine, results_page, write_figure, write_text
from entropie.paper.registry import chosen_figures
from entropie.paper.settings import Settings
from entropie.paper.steps import Done, Tell, run_steps

__all__ = ["Reproduction", "reproduce"]


@dataclass(frozen=True, slots=True)
class Reproduction:
    """What a run found and wrote."""

    settings: Settings
    findings: dict[str, tuple[str, str, str]]  # figure: title, the paper's claim, what was found
    rows: dict[str, list[dict[str, Any]]]
    files: tuple[str, ...]
    steps: tuple[Done, ...]
    pictures: bool

    def to_json(self) -> dict[str, Any]:
        """The document of `entropie reproduce --json`."""
        return {
            "schema": "entropie.reproduction/1",
            "scale": self.settings.scale.name,
            "seed": self.settings.seed,
            "machine": machine(),
            "pictures": self.pictures,
            "data": [step.result for step in self.steps if step.name.startswith(PREFIX)],
            "figures": [
                {"figure": name, "title": title, "paper_claim": claim, "finding": found, "rows": len(self.rows[name])}
                for name, (title, claim, found) in self.findings.items()
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
    tell: Tell | None = None,
    command: str = "entropie reproduce",
) -> Reproduction:
    """Run what the figures need, then write every figure's files and one page of results."""
    figures = chosen_figures(names)
    out.mkdir(parents=True, exist_ok=True)
    needed = [origin_step(settings, kind) for figure in figures for kind in figure.kinds]
    needed += [step for figure in figures for step in figure.steps(settings)]
    done = run_steps(needed, settings, tell)
    results = {name: step.result for name, step in done.items()}
    parts = []
    files: list[str] = []
    for figure in figures:
        rows = figure.data(settings, results)
        found = figure.finding(rows)
        files += write_figure(figure, rows, found, settings, out)
        parts.append((figure, rows, found))
    write_text(out / "captions.md", "\n".join(caption(figure, found) for figure, _, found in parts))
    write_text(out / "results.md", results_page(parts, tuple(done.values()), settings, command))
    return Reproduction(
        settings=settings,
        findings={figure.name: (figure.title, figure.claim, found) for figure, _, found in parts},
        rows={figure.name: rows for figure, rows, _ in parts},
        files=(*files, "captions.md", "results.md"),
        steps=tuple(done.values()),
        pictures=drawing.available(),
    )
