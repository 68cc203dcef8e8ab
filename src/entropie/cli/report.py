"""`report`: an assessment on file as a page to read, print and sign."""

from __future__ import annotations

from pathlib import Path

import click

from entropie.cli import output
from entropie.cli.options import FILE, json_option


@click.command()
@click.argument("assessment", type=FILE, metavar="ASSESSMENT.json")
@click.option("--out", type=FILE, metavar="FILE", help="The page. [report.html beside the assessment]")
@json_option
def report(assessment: Path, out: Path | None, as_json: bool) -> None:
    """Make one HTML page of an assessment: verdict, sentences, pictures, tables.

    The page is one file without script that loads nothing: it can be sent, printed and archived. Pictures need the
    extra `report`; without it the page has the numbers in tables.

    \b
    entropie report entropie-out/assessment.json
    """
    from entropie.atomic import refuse_overwriting
    from entropie.document import read
    from entropie.drawing import available
    from entropie.report import write_report

    out = out or assessment.parent / "report.html"
    refuse_overwriting([assessment], [out])
    size_bytes = write_report(read(assessment), out)
    if as_json:
        output.print_json({"report": str(out), "size_bytes": size_bytes, "pictures": available()})
        return
    click.echo(f"Report: {out}")
    if not available():
        click.echo("It has no pictures; for these run: pip install 'entropie[report]'")
