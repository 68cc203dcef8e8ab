"""`compare` and `report`: an assessment held against another, and as a page to read, print and sign."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from entropie.cli import output
from entropie.cli.options import FILE, SHARE, Command, junit_option, markdown_option, option, public_option, viewed
from entropie.words import bits, count, percent, plural

if TYPE_CHECKING:
    from typing_extensions import TypeIs

    from entropie.gate.comparison import Comparison, Side
    from entropie.gate.table_comparison import TableComparison


@click.command(cls=Command)
@click.argument("old", type=click.Path(path_type=Path))
@click.argument("new", type=click.Path(path_type=Path))
@option("--tolerance-error", "Verdict", "Accept a rise by this share of people. [0]", SHARE, "SHARE", default=0.0)
@option("--strict", "Verdict", "Exit with 3 where nothing can be told. [0]", is_flag=True)
@junit_option
@markdown_option
@viewed()
def compare(
    old: Path,
    new: Path,
    tolerance_error: float,
    strict: bool,
    junit: Path | None,
    markdown: Path | None,
    view: output.View,
) -> int:
    """Did the risk rise from OLD to NEW, both files assessment.json or attributes.json, or their folders?

    Exit code 1 means that it did: the whole 95 % interval of the difference is above the tolerance; or that the verdict
    of NEW is FAIL, and that of OLD was not. Different attacks (another rule, other knowledge) cannot be compared: then
    the exit code is 0, or 3 with --strict.

    \b
    entropie compare last-month this-month
    """
    from entropie.cli.verdicts import Verdicts
    from entropie.follow_up import compare as compared
    from entropie.follow_up import file_of, read
    from entropie.gate.judged import Judged

    files = file_of(old), file_of(new)
    verdicts = Verdicts(junit, markdown)
    output.check_writable(files, verdicts.paths)
    documents = read(files[0]), read(files[1])
    for file, document in zip(files, documents, strict=True):
        check_companions(file, document)
    comparison = compared(*documents, tolerance_error=tolerance_error)
    code = comparison.exit_code(strict)
    tried = output.Attempts()
    verdicts.write(tried, lambda: Judged.of_comparison(comparison.to_json(), code), "compare")
    view.show(comparison.to_json, lambda: comparison_text(comparison, verbose=view.verbose))
    tried.raise_failed()
    return code


def check_companions(file: Path, document: dict[str, Any]) -> None:
    """Say where the page or the metrics beside an assessment are of another run."""
    from entropie.gate import metrics
    from entropie.page import is_about

    page = file.with_name("report.html")
    if page.is_file() and not is_about(page, document):
        again = f"make it again with `entropie report {output.name(file)}`"
        output.complain(f"Note: {output.name(page)} is not of the same run as the JSON beside it; {again}.")
    for gauges in sorted(file.parent.glob("*.prom")):
        if gauges.is_file() and not metrics.is_about(gauges, document):
            output.complain(f"Note: {output.name(gauges)} is not of the same run as the JSON beside it.")


def comparison_text(comparison: Comparison | TableComparison, *, verbose: bool) -> str:
    """The decision, the numbers, and what to mind; with `verbose` the bits too."""
    sides, numbers = _of_tables(comparison) if _is_table(comparison) else _of_events(comparison, verbose)
    parts = [output.paragraph(comparison.sentence), "\n".join(sides), numbers]
    if comparison.warnings:
        parts.append("\n".join(output.paragraph(f"Note: {warning}") for warning in comparison.warnings))
    return "\n\n".join([*parts, output.paragraph(comparison.assumption)])


def _is_table(comparison: Comparison | TableComparison) -> TypeIs[TableComparison]:
    return comparison.schema == "entropie.table-comparison/1"


def _of_tables(comparison: TableComparison) -> tuple[list[str], str]:
    """What is compared of two tables, and the numbers."""
    old, new = comparison.old, comparison.new
    rows: list[tuple[str, float, float]] = [
        ("re-identified", old.identification_risk.value, new.identification_risk.value),
        ("... in the smallest groups", old.highest_risk, new.highest_risk),
    ]
    shown = [[name, percent(was), percent(now), f"{_signed((now - was) * 100)} points"] for name, was, now in rows]
    shown.append(["bits of all columns", bits(old.bits), bits(new.bits), f"{_signed(comparison.bits_difference)} bits"])
    sides = [
        f"{name}: {Path(side.source).name}, {side.date[:10]}, {count(side.people)} people, "
        f"{plural(len(side.columns), 'column')}"
        for name, side in (("old", old), ("new", new))
    ]
    return sides, output.table(["", "old", "new", "difference"], shown)


def _of_events(comparison: Comparison, verbose: bool) -> tuple[list[str], str]:
    """The same of two assessments of events."""
    risk = comparison.risk_difference
    rows = [
        [
            "re-identified",
            percent(comparison.old.risk.value),
            percent(comparison.new.risk.value),
            f"{_signed(risk.value * 100)} points",
            f"{_signed(risk.low * 100)} to {_signed(risk.high * 100)}",
        ]
    ]
    if verbose:
        rows += _bits_rows(comparison)
    sides = [_side_line("old", comparison.old), _side_line("new", comparison.new)]
    return sides, output.table(["", "old", "new", "difference", f"{comparison.risk_level} CI"], rows)


def _bits_rows(comparison: Comparison) -> list[list[str]]:
    change = comparison.pse_bits_difference
    return [
        [
            "bits of the scores (PSE)",
            _score_bits(comparison.old),
            _score_bits(comparison.new),
            "cannot be told" if change is None else f"{_signed(change.value)} bits",
            "" if change is None else f"{_signed(change.low)} to {_signed(change.high)}",
        ],
        [
            "bits of one event (PIE)",
            bits(comparison.old.pie_bits),
            bits(comparison.new.pie_bits),
            f"{_signed(comparison.pie_bits_difference)} bits",
            "exact",
        ],
    ]


def _side_line(name: str, side: Side) -> str:
    day = f", {side.date[:10]}" if side.date else ""
    source = Path(side.source).name if side.source else "unnamed"
    return f"{name}: {source}{day}, {count(side.users)} people, {count(side.events)} events"


def _score_bits(side: Side) -> str:
    """Bits of the scores; what is more than the data can show has no digits."""
    return f"{'over ' if side.pse_bits_over else ''}{bits(side.pse_bits.value)}"


def _signed(number: float) -> str:
    """One decimal with a sign; never -0.0."""
    return f"{round(number, 1) + 0.0:+.1f}"


@click.command(cls=Command)
@click.argument("assessment", type=FILE, metavar="ASSESSMENT.json")
@option("--out", "Output", "The page. [report.html beside the assessment]", FILE, "FILE")
@public_option
@viewed("json", "quiet")
def report(assessment: Path, out: Path | None, view: output.View) -> None:
    """Make the report of an assessment again: one HTML page to read, print and sign.

    The page is one file without script that loads nothing. Charts need the extra `report`; without it the page has the
    numbers in tables.

    \b
    entropie report entropie-out/assessment.json
    """
    from entropie.atomic import claimed, refuse_overwriting
    from entropie.drawing import hindrance
    from entropie.follow_up import read
    from entropie.page import write_report

    out = out or assessment.parent / "report.html"
    refuse_overwriting([assessment], [out])
    beside = assessment.is_file() and (out.parent / assessment.name).resolve() == assessment.resolve()
    with claimed(out.parent) if beside else nullcontext():  # no run may put another assessment there meanwhile
        document = read(assessment)
        size_bytes = write_report(document, out)
    if beside:
        check_companions(assessment, document)
    why = hindrance()
    missing = "" if why is None else f"\nIt has no charts; {why}"
    document = {"report": str(out), "size_bytes": size_bytes, "charts": why is None}
    view.show(lambda: document, lambda: f"Report: {output.name(out)}{missing}")
