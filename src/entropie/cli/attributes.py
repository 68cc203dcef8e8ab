"""`attributes`: how identifiable the people in a table with one row per person are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from entropie.cli import output
from entropie.cli.attribute_summary import attributes_text
from entropie.cli.options import (
    FILE,
    Command,
    given,
    option,
    options_of,
    viewed,
)
from entropie.cli.verdicts import Work, judged
from entropie.request import About, Limits, Run
from entropie.table_request import OF_EVENTS, Table, TableOutput, TableRequest


@click.command(cls=Command)
@click.argument("table", required=False)
@options_of(Table)
@options_of(Limits, About, TableOutput, without=("population", *OF_EVENTS))
@options_of(Run, only=("seed", "memory"))
@option("--config", type=FILE, metavar="FILE", group="Input", help="Read the whole job from a file (TOML).")
@option("--print-config", is_flag=True, group="Output", help="Print the job as such a file and stop.")
@viewed()
def attributes(
    table: str | None, config: Path | None, print_config: bool, view: output.View,
    **options: Any,
) -> int:  # fmt: skip
    """How much do the columns of TABLE reveal about who a person is?

    TABLE has one row per person. Bits and uniqueness of columns and sets of them, what bands would make of numbers,
    and what to drop or coarsen next. Nobody's values are shown. With --profile or --limit the risk is judged: exit code
    0 the limit is met, 1 it is not met, 3 that cannot be told.

    \b
    entropie attributes people.csv --id person --columns age,sex,region,income
    entropie attributes people.csv --columns age,sex --profile ema --out out
    entropie attributes --config job.toml
    """
    values = {"table": table, **given(options)}
    request = TableRequest.of(table, given(options)) if config is None else TableRequest.read(config, values)
    from entropie.table import checked

    checked(request)
    if print_config:
        output.show(request.to_toml().removesuffix("\n"))
        return 0
    return run(request, view)


def run(request: TableRequest, view: output.View) -> int:
    """Run a request, write its files, print what it came to; returns the exit code."""
    from entropie.table import FILES, assessed

    asked = request.table
    inputs = [Path(one) for one in (asked.table, asked.population) if isinstance(one, str | Path)]
    work = Work("attributes", assessed, FILES, attributes_text)
    return judged(request, work, [*inputs, request.verdict.waiver], view).exit_code
