"""`report`: an assessment on file as a page to read, print and sign."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NoReturn

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
    from entropie.drawing import available
    from entropie.report import write_report

    out = out or assessment.parent / "report.html"
    refuse_overwriting([assessment], [out])
    size_bytes = write_report(load_json(assessment), out)
    if as_json:
        output.print_json({"report": str(out), "size_bytes": size_bytes, "pictures": available()})
        return
    click.echo(f"Report: {out}")
    if not available():
        click.echo("It has no pictures; for these run: pip install 'entropie[report]'")


def load_json(path: Path) -> Any:
    """A JSON document on file, or a sentence that says why it cannot be read."""
    from entropie.errors import InvalidInput

    def refuse(constant: str) -> NoReturn:
        raise InvalidInput(f"Document {path} holds {constant}, which is not JSON; make it anew with `entropie assess`.")

    try:
        return json.loads(path.read_text(encoding="utf-8"), parse_constant=refuse)
    except FileNotFoundError:
        raise InvalidInput(f"Document {path} does not exist; check the name.") from None
    except (UnicodeDecodeError, json.JSONDecodeError, RecursionError):
        raise InvalidInput(f"Document {path} is not JSON; `entropie assess` writes one.") from None
