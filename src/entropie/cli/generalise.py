"""`generalise`: the cheapest generalisation of a table with one row per person that meets a limit."""

from __future__ import annotations

from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from msgspec.structs import replace

from entropie._version import __version__
from entropie.cli import output
from entropie.cli.apply import Safer
from entropie.cli.options import (
    COUNT,
    FILE,
    FOLDER,
    NAMES,
    SHARE,
    Command,
    memory_option,
    option,
    public_option,
    viewed,
)
from entropie.words import count, percent

if TYPE_CHECKING:
    from entropie.release.table_plan import Generalisation, TableState

_COSTS = {
    "information": "share of the columns' information (entropy) that is lost",
    "loss": "mean over cells of (values merged - 1) / (values - 1), the Loss metric",
    "discernibility": "sum of squared group sizes, people left out counted with everybody, over people squared",
}


@click.command(cls=Command)
@click.argument("table", type=click.Path(path_type=Path))
@option("--columns", "Attacker", "Columns that an attacker may know.", NAMES, "A,B,C", required=True)
@option("--id", "Input", "Column that holds the person, once each.", metavar="C", to="id_column")
@option("--profile", "Verdict", "Meet this published limit.", metavar="NAME")
@option("--k", "Verdict", "Everybody shares their values with N at least.", COUNT, "N")
@option("--highest", "Verdict", "Highest risk of anybody: 1/N.", SHARE, "SHARE")
@option("--average", "Verdict", "Average risk: groups divided by people.", SHARE, "SHARE")
@option("--sensitive", "Attacker", "Column that nobody is to learn of others; released.", metavar="C")
@option("--l-diversity", "Verdict", "Every group has L values of it at least.", COUNT, "L")
@option("--t-closeness", "Verdict", "They are T from those of all at most.", SHARE, "T")
@option("--suppress", "Mitigation", "People who may be left out, at most. [0]", SHARE, "SHARE", default=0.0)
@option(
    "--hierarchy",
    "Mitigation",
    "Groups of a column's values, `;` between levels.",
    metavar="C=FILE",
    to="hierarchies",
    multiple=True,
)
@option("--bins", "Mitigation", "Narrowest bands: age=10, age=width:5 or age=exact.", metavar="C=N", multiple=True)
@option("--prefix", "Mitigation", "Column of codes to cut characters from.", metavar="C", to="prefixes", multiple=True)
@option("--cost", "Mitigation", "information, loss or discernibility.", metavar="SCALE", default="information")
@option("--keep", "Output", "Other columns to release, as they are.", NAMES, "A,B", default=())
@option("--out", "Output", "Folder for the plan and all numbers.", FOLDER, "DIR")
@option("--apply", "Output", "Write the safer table too.", FILE, "FILE", to="apply_to")
@public_option
@memory_option
@viewed("json", "quiet")
def generalise(table: Path, out: Path | None, apply_to: Path | None, view: output.View, **options: Any) -> int:
    """Find the cheapest generalisation under which TABLE meets a limit.

    TABLE has one row per person. Numbers are released in bands, codes with fewer characters, values in groups of a
    file, or a column is dropped; the answer is the best of all combinations. Columns that are not named are not
    released, unless --keep names them. Exit code: 0 the limit can be met, 1 it cannot.

    \b
    entropie generalise people.csv --columns age,sex,postcode --k 10 --out out
    entropie generalise people.csv --columns age --sensitive job --l-diversity 3
    entropie apply out/plan.json people.csv --out safer.csv
    """
    from entropie.atomic import claimed
    from entropie.mitigate.attribute_risk import Made
    from entropie.mitigate.attribute_table import rule_of
    from entropie.release.generalise import generalise as find
    from entropie.release.table_plan import FILES

    files = dict(_file_of(text) for text in options["hierarchies"])
    options |= {"hierarchies": files, "bins": dict(rule_of(text) for text in options["bins"])}
    safer = Safer(apply_to)
    output.check_writable([table, *files.values()], safer.files, [] if out is None else [out / name for name in FILES])
    attempts = output.Attempts()
    with nullcontext() if out is None else claimed(out):
        with output.stages(quiet=view.quiet) as progress:
            result = find(table, progress=progress, **options)
        result = replace(result, provenance=Made(__version__, output.command()))
        if out is not None:
            attempts.run(partial(result.write_into, out))
    told = safer.told(result.plan, table, attempts, view.quiet, memory=options["memory"])
    shown = [generalised_text(result)]
    if out is not None:
        shown.append(f"All numbers: {output.name(out / FILES[0])}")
        shown += [f"Plan:        {output.name(out / FILES[1])}"] if result.plan else []
        shown += safer.later(result.plan, out / FILES[1], str(table), None)
    view.show(result.to_json, lambda: "\n".join([*shown, *told]))
    attempts.raise_failed()
    return result.exit_code


def _file_of(text: str) -> tuple[str, Path]:
    from entropie.errors import InvalidParameter

    column, equals, file = text.partition("=")
    if not (column and equals and file):
        raise InvalidParameter.of("hierarchy", "COLUMN=FILE, such as age=age.csv", text)
    return column, Path(file)


def generalised_text(result: Generalisation) -> str:
    """The terminal view: the answer, what becomes of each column, the risk before and after."""
    rows = [[level.column, level.told] for level in result.columns]
    states = [_state("as it is", result.as_it_is), *([_state("after", result.after)] if result.after else [])]
    headers = ["table", "people", "groups", "smallest group", "average risk", "highest risk"]
    levels = f"{count(result.nodes)} combinations of levels"
    found = f"Best of {levels}" if result.outcome == "met" else f"None of {levels} does"
    found = f"{found} ({count(result.counted)} counted)."
    foot = (
        f"{found} Cost: {_COSTS[result.scale]}. Not covered: what the other columns reveal about a group, attackers "
        "who know other columns."
    )
    return "\n".join(
        [
            *(output.paragraph(sentence) for sentence in result.sentences),
            "",
            *([output.table(["column", "released"], rows, left=2), ""] if rows else []),
            output.table(headers, states),
            "",
            output.paragraph(foot),
        ]
    )


def _state(name: str, state: TableState) -> list[str]:
    risks = [percent(state.average_risk), percent(state.highest_risk)]
    return [name, count(state.people), count(state.groups), count(state.smallest_group), *risks]
