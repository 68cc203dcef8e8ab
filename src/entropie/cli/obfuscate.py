"""`obfuscate`: a column of a file through a mechanism."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from entropie import words
from entropie.cli import output
from entropie.cli.options import (
    COUNT,
    FILE,
    Command,
    beside,
    build_mechanism,
    check_agreement,
    chosen_mechanism,
    dictionary_option,
    mechanism_options,
    memory_option,
    option,
    parameters_option,
    public_option,
    viewed,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from entropie.data.columns import Dictionary, TableWriter
    from entropie.document.printed import Obfuscated
    from entropie.mechanisms.randomness import Source
    from entropie.progress import Progress

_SHARE_HELD = 4
"""Of the memory allowed, one part in this many may be rows; shuffling copies them."""


@click.command(cls=Command)
@click.argument("values", type=FILE)
@option("--column", "Input", "Column that holds the items.", metavar="C", required=True)
@option("--out", "Output", "Reports to write (.csv, .parquet).", FILE, "FILE", required=True)
@parameters_option
@mechanism_options
@option("--domain", "Mechanism", "Number of items, where they are codes 0 to K-1.", COUNT, "K")
@dictionary_option
@option("--keep", "Output", "Column to keep unchanged; repeatable.", metavar="C", multiple=True)
@option("--keep-order", "Output", "Do not shuffle: row i stays row i.", is_flag=True)
@public_option
@option("--seed", "Running", "Simulate with a seed: protects nobody.", COUNT, "S")
@memory_option
@viewed("json", "quiet")
def obfuscate(
    values: Path,
    column: str,
    out: Path,
    parameters: Path | None,
    dictionary: Path | None,
    keep: tuple[str, ...],
    keep_order: bool,
    seed: int | None,
    memory: int | None,
    view: output.View,
    **options: Any,
) -> None:
    """Send a column of items through a mechanism, row by row, and write the reports in random order.

    Nothing else is written unless named with --keep, because it may say whose report it is; so may the order.

    The parameters come from a document (--parameters) or from the mechanism options; in the second case the document
    is written beside the reports, as OUT.parameters.json, for `estimate`.

    \b
    entropie obfuscate visits.csv --column place --dictionary places.csv \\
        --mechanism rr --epsilon 4 --out reports.parquet
    """
    from entropie.atomic import write_file
    from entropie.data import columns
    from entropie.data.budget import Budget
    from entropie.document.printed import Obfuscated
    from entropie.errors import InvalidParameter
    from entropie.mechanisms.parameters import parameters_id, to_document

    begun = time.perf_counter()
    document = parameters or beside(out)
    made = None if dictionary is None or dictionary.exists() else dictionary
    known = None if made else dictionary
    written = [out, made, document if parameters is None else None]
    output.check_writable([values, parameters, known, options["noise"]], written)
    writing = columns.TableWriter(out)
    new_dictionary = dictionary is not None and not dictionary.exists()
    names = _dictionary_of(values, column, dictionary, memory)
    built = _mechanism_of(parameters, options, names)
    if set(keep) & {"parameters", *built.report_columns} or column in keep:
        raise InvalidParameter("Parameter `keep` must not name the item column or a column of the reports.")
    job = _Job(values, column, keep, built, names, _source(seed))
    with writing as writer, output.stage("obfuscating", quiet=view.quiet) as progress:
        if keep_order:
            rows = job.write_in_order(writer, progress)
        else:
            rows = job.write_shuffled(writer, out.parent, Budget(str(values), memory).limit // _SHARE_HELD, progress)
        if names is not None and dictionary is not None and new_dictionary:
            names.save(dictionary)
        if parameters is None:
            write_file(document, to_document(built) + "\n")
    made_of = Obfuscated(
        rows=rows,
        out=str(out),
        shuffled=not keep_order,
        kept=list(keep),
        parameters=str(document),
        parameters_id=parameters_id(built),
        dictionary=str(dictionary) if dictionary else None,
        epsilon=built.epsilon,
        theta=built.theta,
        simulated=seed is not None,
        seconds=round(time.perf_counter() - begun, 3),
    )
    view.show(made_of.to_json, lambda: "\n".join(_told(made_of, built, output.name(values), new_dictionary)))


def _told(made: Obfuscated, built: Any, source: str, new_dictionary: bool) -> Iterator[str]:
    """What was written, what it is, and what it tells beside."""
    short = made.parameters_id[:16]
    order = "in random order" if made.shuffled else "in the order of the input"
    yield f"{words.count(made.rows)} reports {order} in {output.name(made.out)}"
    yield f"Parameters: {output.name(made.parameters)} (id {short})"
    truth, budget = words.digits(made.theta, 4), words.digits(made.epsilon, 4)
    what = "depends on the true item" if built.reports_are == "other" else "is the true item"
    yield f"Each row {what} with probability {truth}, else it is noise (epsilon {budget})."
    if made.theta < 1.0 and math.isinf(made.epsilon):
        yield "Warning: a report that names an item is true; nobody can deny it."
    if made.theta == 1.0:
        yield "These are the items themselves: no noise was added, nobody is protected."
    else:
        yield "Guarantee: entropie guarantee --users N --reports ROWS_EACH --parameters FILE"
    if not made.shuffled:
        yield f"Warning: row i is row i of {source}; whoever has that order knows who sent which report."
    if made.kept:
        yield f"Warning: kept unchanged, and may tell who sent which report: {output.name(', '.join(made.kept))}."
    if new_dictionary:
        yield (
            f"New dictionary of {words.count(built.domain_size)} items: {output.name(made.dictionary)}. "
            "It shows which items occur."
        )
    if made.simulated:
        yield "Simulated with a seed: whoever knows the seed can undo it. Leave out --seed to protect people."


@dataclass(frozen=True)
class _Job:
    """A column on its way into reports."""

    values: Path
    column: str
    keep: tuple[str, ...]
    built: Any
    names: Dictionary | None
    source: Source

    def reports(self, progress: Progress) -> Iterator[dict[str, Any]]:
        """Batches of reports with the columns kept, in the order of the input."""
        from entropie.data import columns
        from entropie.data.reports import to_columns

        texts = [self.column] if self.names is not None else []
        for batch, place in columns.read_columns(self.values, [self.column, *self.keep], texts, progress):
            if self.names is not None:
                codes = self.names.encode(batch.column(0), self.column, place)
            else:
                codes = columns.codes_of(batch.column(0), self.column, self.built.domain_size, place)
            kept = {name: batch.column(i + 1) for i, name in enumerate(self.keep)}
            yield {**kept, **to_columns(self.built, self.built.draw(codes, self.source))}

    def write_in_order(self, writer: TableWriter, progress: Progress) -> int:
        """Row i is the report of row i."""
        rows = 0
        for batch in self.reports(progress):
            writer.write(batch)
            rows += len(next(iter(batch.values())))
        return rows

    def write_shuffled(self, writer: TableWriter, folder: Path, limit: int, progress: Progress) -> int:
        """The same in random order."""
        import pyarrow as pa

        from entropie.data.shuffle import Shuffle

        rows = 0
        with Shuffle(self.source.words, folder, limit) as shuffle:
            for batch in self.reports(progress):
                shuffle.add(pa.RecordBatch.from_pydict({name: pa.array(column) for name, column in batch.items()}))
            for shuffled in shuffle.batches():
                rows += shuffled.num_rows
                writer.write(dict(zip(shuffled.schema.names, shuffled.columns, strict=True)))
        return rows


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
    from entropie.errors import InvalidParameter

    built = chosen_mechanism(parameters, options)
    if built is None:
        domain = options.pop("domain")
        if options["mechanism"] is None:
            raise InvalidParameter("Give --parameters FILE, or --mechanism with --epsilon or --theta.")
        if (names is None) == (domain is None):
            raise InvalidParameter("Give either --domain (the column holds codes) or --dictionary (it holds names).")
        built = build_mechanism(domain=domain if names is None else len(names), **options)
    check_agreement(names, built.domain_size)
    return built


def _source(seed: int | None) -> Source:
    """Where randomness comes from: the operating system, or a simulation when a seed is given."""
    from entropie.mechanisms.randomness import SimulationSource, SystemSource

    if seed is None:
        return SystemSource()
    import numpy as np

    from entropie.theory.checks import whole_number

    return SimulationSource(np.random.default_rng(whole_number("seed", seed, at_least=0)))
