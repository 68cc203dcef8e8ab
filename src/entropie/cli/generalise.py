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
from entropie.cli.apply import applied_text
from entropie.cli.commands import apply_after, command_line
from entropie.cli.options import COUNT, FILE, FOLDER, SHARE, Command, memory_option, option, public_option, viewed
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
@option("--columns", required=True, metavar="A,B,C", group="Attacker", help="Columns that an attacker may know.")
@option("--id", "id_column", metavar="C", group="Input", help="Column that holds the person, once each.")
@option("--profile", metavar="NAME", group="Verdict", help="Meet this published limit.")
@option("--k", type=COUNT, metavar="N", group="Verdict", help="Everybody shares their values with N at least.")
@option("--highest", type=SHARE, metavar="SHARE", group="Verdict", help="Highest risk of anybody: 1/N.")
@option("--average", type=SHARE, metavar="SHARE", group="Verdict", help="Average risk: groups divided by people.")
@option("--sensitive", metavar="C", group="Attacker", help="Column that nobody is to learn of others; released.")
@option("--l-diversity", type=COUNT, metavar="L", group="Verdict", help="Every group has L values of it at least.")
@option("--t-closeness", type=SHARE, metavar="T", group="Verdict", help="They are T from those of all at most.")
@option("--suppress", type=SHARE, default=0.0, metavar="SHARE", group="Mitigation",
        help="People who may be left out, at most. [0]")  # fmt: skip
@option("--hierarchy", "hierarchies", multiple=True, metavar="C=FILE", group="Mitigation",
        help="Groups of a column's values, `;` between levels.")  # fmt: skip
@option("--bins", multiple=True, metavar="C=N", group="Mitigation",
        help="Narrowest bands: age=10, age=width:5 or age=exact.")  # fmt: skip
@option(
    "--prefix",
    "prefixes",
    multiple=True,
    metavar="C",
    group="Mitigation",
    help="Column of codes to cut characters from.",
)
@option("--cost", metavar="SCALE", group="Mitigation", default="information",
        help="information, loss or discernibility.")  # fmt: skip
@option("--keep", metavar="A,B", default="", group="Output", help="Other columns to release, as they are.")
@option("--out", type=FOLDER, metavar="DIR", group="Output", help="Folder for the plan and all numbers.")
@option("--apply", "apply_to", type=FILE, metavar="FILE", group="Output", help="Write the safer table too.")
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
    from entropie.atomic import check_file, claimed, refuse_overwriting
    from entropie.data.columns import check_table
    from entropie.mitigate.attribute_risk import Made
    from entropie.mitigate.attribute_table import rule_of
    from entropie.release.apply import apply as applied
    from entropie.release.apply import manifest_path
    from entropie.release.generalise import generalise as find
    from entropie.release.table_plan import FILES

    files = dict(_file_of(text) for text in options["hierarchies"])
    options |= {"hierarchies": files, "bins": dict(rule_of(text) for text in options["bins"])}
    options |= {name: _names(options[name]) for name in ("columns", "keep")}
    mine = [] if apply_to is None else [apply_to, manifest_path(apply_to)]
    refuse_overwriting([table, *files.values()], [*mine, *([] if out is None else [out / name for name in FILES])])
    for path in mine:
        check_file(path)
    if apply_to is not None:
        check_table(apply_to)
    attempts = output.Attempts()
    with nullcontext() if out is None else claimed(out):
        with output.stages(quiet=view.quiet) as progress:
            result = find(table, progress=progress, **options)
        result = replace(result, provenance=Made(__version__, output.command()))
        if out is not None:
            attempts.run(partial(result.write_into, out))
    made = None
    if apply_to is not None and result.plan is not None:
        with output.stages(quiet=view.quiet) as progress:
            made = attempts.run(
                partial(applied, result.plan, table, apply_to, memory=options["memory"], progress=progress)
            )
    shown = [generalised_text(result)]
    if out is not None:
        shown.append(f"All numbers: {output.name(out / FILES[0])}")
        shown += [f"Plan:        {output.name(out / FILES[1])}"] if result.plan else []
        apply_it = apply_after(out / FILES[1], str(table), None) if result.plan and made is None else None
        shown += [] if apply_it is None else [command_line("Apply:", apply_it)]
    if made is not None and apply_to is not None:
        shown += ["", applied_text(made, apply_to, None)]
    elif apply_to is not None and result.plan is None:
        shown.append(f"{output.name(apply_to)} was not written: nothing meets the limit.")
    view.show(result.to_json, lambda: "\n".join(shown))
    attempts.raise_failed()
    return result.exit_code


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",")] if text else []


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
