"""`report`: an assessment on file as a page to read, print and sign."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path

import click

from entropie.cli import output
from entropie.cli.compare import check_companions
from entropie.cli.options import FILE, Command, option, public_option, viewed


@click.command(cls=Command)
@click.argument("assessment", type=FILE, metavar="ASSESSMENT.json")
@option("--out", type=FILE, metavar="FILE", group="Output", help="The page. [report.html beside the assessment]")
@public_option
@viewed("json")
def report(assessment: Path, out: Path | None, view: output.View) -> None:
    """Make the report of an assessment again: one HTML page to read, print and sign.

    The page is one file without script that loads nothing. Charts need the extra `report`; without it the page has the
    numbers in tables.

    \b
    entropie report entropie-out/assessment.json
    """
    from entropie.atomic import claimed, refuse_overwriting
    from entropie.drawing import available
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
    charts = available()
    missing = "" if charts else "\nIt has no charts; for these run: pip install 'entropie[report]'"
    document = {"report": str(out), "size_bytes": size_bytes, "charts": charts}
    view.show(lambda: document, lambda: f"Report: {output.name(out)}{missing}")
