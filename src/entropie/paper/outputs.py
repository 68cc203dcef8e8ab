"""Files of a reproduction: a table as CSV and JSON and charts per figure, captions, and one page of all results."""

from __future__ import annotations

import csv
import io
import json
import math
import os
import platform
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from entropie import drawing, words
from entropie._version import __version__
from entropie.atomic import write_file
from entropie.paper.charts import WIDTH, Rows
from entropie.paper.figure import Figure
from entropie.paper.published import SOURCE
from entropie.paper.settings import Settings
from entropie.paper.steps import ORIGIN, Done
from entropie.spreadsheet import safe_cell


def write_figure(figure: Figure, rows: Rows, settings: Settings, out: Path) -> list[str]:
    """Write figN.csv, figN.json and, where charts can be drawn, figN.svg and figN.png; names of what was written."""
    stem = _stem(figure)
    document = {
        "figure": figure.name,
        "title": figure.title,
        "paper_claim": figure.claim,
        "findings": figure.findings(rows),
        "source_of_published_numbers": SOURCE,
        "scale": settings.scale.name,
        "seed": settings.seed,
        "rows": rows,
    }
    write_file(out / f"{stem}.csv", csv_text(rows))
    write_file(out / f"{stem}.json", json.dumps(document, indent=1, allow_nan=False) + "\n")
    written = [f"{stem}.csv", f"{stem}.json"]
    if drawing.available():
        for suffix, spec in figure.specs(rows).items():
            write_file(out / f"{stem}{suffix}.svg", drawing.svg(spec, WIDTH) + "\n")
            write_file(out / f"{stem}{suffix}.png", drawing.png(spec, WIDTH))
            written += [f"{stem}{suffix}.svg", f"{stem}{suffix}.png"]
    return written


def csv_text(rows: Rows) -> str:
    """The rows for a spreadsheet; text that it would take for a formula gets a quote mark."""
    columns = list(dict.fromkeys(column for row in rows for column in row))
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    for row in rows:
        writer.writerow(["" if row.get(column) is None else safe_cell(row[column]) for column in columns])
    return text.getvalue()


def title_of(figure: Figure) -> str:
    """Figure 5. Its title; a table has its title alone."""
    return f"Figure {figure.name}. {figure.title}" if figure.name.isdigit() else figure.title


def _stem(figure: Figure) -> str:
    return f"fig{figure.name}" if figure.name.isdigit() else figure.name


def caption(figure: Figure, rows: Rows) -> str:
    """The paper's claim, and the findings as short lines."""
    claim = f"*The paper:* {figure.claim}\n\n" if figure.claim else ""
    findings = "\n".join(f"- {line}" for line in figure.findings(rows))
    return f"## {title_of(figure)}\n\n{claim}{findings}\n"


def section(figure: Figure, rows: Rows) -> str:
    """A figure on a page: caption, charts, and the table folded away."""
    charts = [f"![{spec['description']}]({_stem(figure)}{suffix}.svg)" for suffix, spec in figure.specs(rows).items()]
    table = markdown_table(_thinned(rows, figure.shown), figure.shown)
    parts = [caption(figure, rows), *charts, f"<details>\n<summary>Table</summary>\n\n{table}\n\n</details>"]
    return "\n\n".join(part.strip("\n") for part in parts) + "\n"


_READING = (
    "Bits are PSE, I(U;S): how far the scores of a person against themselves differ from those against others. "
    "`pse_bits` comes from all pairs (95 % CI over people), `pse_paper_bits` is the paper's estimate (one impostor "
    "score per person, noise to break ties), `resolvable_bits` the most that so many impostor scores can show. "
    "`unmatched_share` are people without an impostor beside them: for them the bits are a lower bound. `error` is the "
    "error rate of the attacker, `l2` the sum of squared errors of estimated shares."
)


def _sizes(settings: Settings) -> str:
    scale = settings.scale
    return (
        f"Scale `{scale.name}`: {scale.users:,} people with check-ins, {scale.raters:,} with rating histories; whole "
        f"traces are attacked for {scale.sampled:,} people chosen by a hash of their number."
    )


def results_page(parts: Sequence[tuple[Figure, Rows]], steps: Sequence[Done], settings: Settings, command: str) -> str:
    """One page with every caption, chart and table, the machine, and seconds and memory per step."""
    lines = [
        "# The paper, reproduced",
        "",
        f"Printed by `{command}` on {machine()}. {_sizes(settings)} Published numbers: {SOURCE}.",
        "",
        _READING,
        "",
    ]
    data = [step.result for step in steps if step.name.startswith(ORIGIN)]
    if data:
        lines += [markdown_table(data, ("data", "source", "people", "items", "events")), ""]
    lines += [section(figure, rows) for figure, rows in parts]
    seconds = math.fsum(step.seconds for step in steps)
    peak = max((step.peak_bytes for step in steps), default=0)
    table = [
        {"step": step.name, "seconds": f"{step.seconds:.1f}", "peak memory": words.size(step.peak_bytes)}
        for step in steps
    ]
    lines += [
        "## Steps",
        "",
        f"{len(steps)} steps, {words.seconds(seconds)} in all, at most {words.size(peak)} of memory.",
        "",
        "<details>\n<summary>Table</summary>\n",
        markdown_table(table, ("step", "seconds", "peak memory")),
        "\n</details>",
        "",
    ]
    return "\n".join(lines)


def markdown_table(rows: Rows, columns: Sequence[str]) -> str:
    """The rows as a table; columns that are empty throughout are dropped."""
    used = [column for column in columns if any(row.get(column) is not None for row in rows)]
    head = [f"| {' | '.join(used)} |", f"|{'|'.join('---' for _ in used)}|"]
    return "\n".join([*head, *(f"| {' | '.join(_shown(row.get(column)) for column in used)} |" for row in rows)])


def _shown(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if not isinstance(value, float):
        return str(value).replace("|", "\\|")
    if 1e-7 < 1.0 - value < 1e-3:
        return f"{value:.7f}"
    return f"{value:.4g}"


def _thinned(rows: Rows, columns: Sequence[str]) -> Rows:
    """Rows that differ in what is shown."""
    seen: dict[str, dict[str, Any]] = {}
    for row in rows:
        seen.setdefault(json.dumps([row.get(column) for column in columns]), row)
    return list(seen.values())


def machine() -> str:
    """Cores, processor and language, by name."""
    name = platform.processor() or platform.machine()
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
        name = next(line.split(":", 1)[1].strip() for line in text.splitlines() if line.startswith("model name"))
    except (OSError, StopIteration):
        pass
    return f"{os.cpu_count()} cores, {name}, Python {platform.python_version()}, entropie {__version__}"
