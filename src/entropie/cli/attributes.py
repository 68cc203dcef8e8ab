"""`attributes`: how identifiable the people in a table with one row per person are."""

from __future__ import annotations

from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any

import click

from entropie.cli import output
from entropie.cli.assess import View, running
from entropie.cli.attribute_summary import attributes_text
from entropie.cli.options import (
    FILE,
    Command,
    given,
    json_option,
    option,
    options_of,
    quiet_option,
    verbose_option,
)
from entropie.request import About, Limits, Run
from entropie.table_request import OF_EVENTS, Table, TableOutput, TableRequest


@click.command(cls=Command)
@click.argument("table", required=False)
@options_of(Table)
@options_of(Limits, About, TableOutput, without=("population", *OF_EVENTS))
@options_of(Run, only=("seed", "memory"))
@option("--config", type=FILE, metavar="FILE", group="Input", help="Read the whole job from a file (TOML).")
@option("--print-config", is_flag=True, group="Output", help="Print the job as such a file and stop.")
@json_option
@verbose_option
@quiet_option
def attributes(
    table: str | None, config: Path | None, print_config: bool, as_json: bool, verbose: bool, quiet: bool,
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
    return run(request, View(as_json, verbose, quiet))


def run(request: TableRequest, view: View) -> int:
    """Run a request, write its files, print what it came to; returns the exit code."""
    from entropie.atomic import check_file, claimed, publicly, refuse_overwriting, written
    from entropie.cli.verdicts import Verdicts
    from entropie.gate.judged import Judged
    from entropie.gate.metrics import write_metrics
    from entropie.table import FILES, assessed

    wanted, asked = request.output, request.table
    inputs = [Path(one) for one in (asked.table, asked.population) if isinstance(one, str | Path)]
    own = [] if wanted.out is None else [wanted.out / file for file in FILES]
    verdicts = Verdicts.of(wanted.junit, wanted.markdown)
    refuse_overwriting([*inputs, request.verdict.waiver], [*own, wanted.metrics, *verdicts.paths])
    if wanted.metrics is not None:
        check_file(wanted.metrics)
    tried = output.Attempts()
    with (
        publicly() if wanted.public else nullcontext(),
        nullcontext() if wanted.out is None else claimed(wanted.out),
    ):
        with running(request, view.quiet) as whole:
            result = assessed(whole)
        if wanted.out is not None:
            tried.run(partial(result.write_into, wanted.out, report=wanted.report))
        if wanted.metrics is not None:
            tried.run(partial(write_metrics, wanted.metrics, result.document))
        verdicts.write(tried, lambda: Judged.of_assessment(result.document, kind="attributes"), "attributes")
    if view.as_json:
        tried.run(lambda: output.print_json(result.document))
    elif not view.quiet:
        files = [file for file in own if file in written()]
        tried.run(lambda: output.show(attributes_text(result, files, verbose=view.verbose)))
    tried.raise_failed()
    return result.exit_code
