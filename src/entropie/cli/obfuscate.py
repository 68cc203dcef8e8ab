"""`obfuscate`: a column of a file through a mechanism."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from entropie.cli import output
from entropie.cli.options import (
    COUNT,
    FILE,
    Command,
    build_mechanism,
    dictionary_option,
    json_option,
    load_parameters,
    mechanism_options,
    memory_option,
    option,
    parameters_option,
    public_option,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from entropie.data.columns import Dictionary


@click.command(cls=Command)
@click.argument("values", type=FILE)
@option("--column", required=True, metavar="C", group="Input", help="Column that holds the items.")
@option("--out", type=FILE, required=True, metavar="FILE", group="Output", help="Reports to write (.csv, .parquet).")
@parameters_option
@mechanism_options
@option("--domain", type=COUNT, metavar="K", group="Mechanism", help="Number of items, where they are codes 0 to K-1.")
@dictionary_option
@option("--keep", multiple=True, metavar="C", group="Output", help="Column to keep unchanged; repeatable.")
@public_option
@option("--seed", type=COUNT, metavar="S", group="Running", help="Simulate with a seed: protects nobody.")
@memory_option
@json_option
def obfuscate(
    values: Path,
    column: str,
    out: Path,
    parameters: Path | None,
    dictionary: Path | None,
    keep: tuple[str, ...],
    seed: int | None,
    memory: int | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Send a column of items through a mechanism, row by row.

    The parameters come from a document (--parameters) or from the mechanism options; in the second case the document
    is written beside the reports, as OUT.parameters.json, for `estimate`.

    \b
    entropie obfuscate visits.csv --column place --dictionary places.csv \\
        --mechanism rr --epsilon 4 --out reports.parquet
    """
    from entropie.atomic import check_file, refuse_overwriting, write_file
    from entropie.data import columns
    from entropie.data.reports import to_columns
    from entropie.document.printed import Obfuscated
    from entropie.errors import InvalidParameter
    from entropie.mechanisms.parameters import parameters_id, to_document

    begun = time.perf_counter()
    document = parameters or out.with_name(out.name + ".parameters.json")
    made = None if dictionary is None or dictionary.exists() else dictionary
    known = None if made else dictionary
    refuse_overwriting([values, parameters, known], [out, made, document if parameters is None else None])
    for path in (out, made, document if parameters is None else None):
        if path is not None:
            check_file(path)
    writing = columns.TableWriter(out)
    new_dictionary = dictionary is not None and not dictionary.exists()
    names = _dictionary_of(values, column, dictionary, memory)
    built = _mechanism_of(parameters, options, names)
    if set(keep) & {"parameters", *built.report_columns} or column in keep:
        raise InvalidParameter("Parameter `keep` must not name the item column or a column of the reports.")
    draw = _drawer(built, seed)
    texts = [column] if names is not None else []
    rows = 0
    with writing as writer, output.stage("obfuscating") as progress:
        for batch, place in columns.read_columns(values, [column, *keep], texts, progress):
            if names is not None:
                codes = names.encode(batch.column(0), column, place)
            else:
                codes = columns.codes_of(batch.column(0), column, built.domain_size, place)
            kept = {name: batch.column(i + 1) for i, name in enumerate(keep)}
            writer.write({**kept, **to_columns(built, draw(codes))})
            rows += len(codes)
        if names is not None and dictionary is not None and new_dictionary:
            names.save(dictionary)
        if parameters is None:
            write_file(document, to_document(built) + "\n")
    if as_json:
        made_of = Obfuscated(
            rows=rows,
            out=str(out),
            parameters=str(document),
            parameters_id=parameters_id(built),
            dictionary=str(dictionary) if dictionary else None,
            epsilon=built.epsilon,
            theta=built.theta,
            simulated=seed is not None,
            seconds=round(time.perf_counter() - begun, 3),
        )
        output.print_json(made_of.to_json())
        return
    short = parameters_id(built)[:16]
    output.show(f"{output.count(rows)} reports in {output.name(out)}, parameters {output.name(document)} (id {short})")
    truth, budget = output.number(built.theta), output.number(built.epsilon)
    output.show(f"Each row is the true item with probability {truth}, else noise (epsilon {budget}).")
    if built.theta == 1.0:
        output.show("These are the items themselves: no noise was added, nobody is protected.")
    else:
        output.show("For a person with several rows: entropie guarantee --reports ROWS.")
    if new_dictionary:
        output.show(
            f"New dictionary of {output.count(built.domain_size)} items: {output.name(dictionary)}. "
            "It shows which items occur."
        )
    if seed is not None:
        output.show("Simulated with a seed: whoever knows the seed can undo it. Leave out --seed to protect people.")


def _dictionary_of(values: Path, column: str, path: Path | None, memory: int | None) -> Dictionary | None:
    """The dictionary on file, or one made of the column where the file does not exist yet."""
    from entropie.data.columns import Dictionary

    if path is None:
        return None
    if path.exists():
        return Dictionary.load(path, memory)
    with output.stage("reading items") as progress:
        return Dictionary.collect(values, column, progress, memory)


def _mechanism_of(parameters: Path | None, options: dict[str, Any], names: Dictionary | None) -> Any:
    """The mechanism of the parameter document or of the options, for the items of the dictionary if there is one."""
    from entropie.errors import InvalidInput, InvalidParameter

    if parameters is not None:
        if any(option is not None for option in options.values()):
            raise InvalidParameter("Give either --parameters or the mechanism's options, not both.")
        built = load_parameters(parameters)
    else:
        domain = options.pop("domain")
        if options["mechanism"] is None:
            raise InvalidParameter("Give --parameters FILE, or --mechanism with --epsilon or --theta.")
        if (names is None) == (domain is None):
            raise InvalidParameter("Give either --domain (the column holds codes) or --dictionary (it holds names).")
        built = build_mechanism(domain=domain if names is None else len(names), **options)
    if names is not None and len(names) != built.domain_size:
        raise InvalidInput(
            f"The dictionary has {len(names)} items, the parameters are for {built.domain_size}; they must agree."
        )
    return built


def _drawer(built: Any, seed: int | None) -> Callable[[Any], Any]:
    """How values become reports: the operating system's randomness, or a simulation when a seed is given."""
    if seed is None:
        draw: Callable[[Any], Any] = built.obfuscate_many
        return draw
    import numpy as np

    from entropie.theory.checks import whole_number

    rng = np.random.default_rng(whole_number("seed", seed, at_least=0))
    return lambda codes: built.simulate(codes, rng)
