"""`estimate`: from files of reports back to a distribution."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from msgspec import UNSET

from entropie import words
from entropie.cli import output
from entropie.cli.options import (
    COUNT,
    FILE,
    SHARE,
    Command,
    beside,
    check_agreement,
    dictionary_option,
    load_parameters,
    option,
    options_of,
    parameters_option,
    public_option,
    viewed,
)
from entropie.request import Run

if TYPE_CHECKING:
    from entropie.data.columns import Dictionary, TableWriter
    from entropie.document.printed import Estimated, EstimatedItem
    from entropie.estimation.counts import Counts
    from entropie.estimation.estimates import Estimates
    from entropie.mechanisms.likely import Likely

_KEPT_REPORTS = 1 << 22


@click.command(cls=Command)
@click.argument("reports", nargs=-1, required=True)
@parameters_option
@dictionary_option
@option("--item", "Input", "Estimate this item only; repeatable.", metavar="I", to="items", multiple=True)
@option("--likely", "Output", "Also the most likely distribution.", is_flag=True)
@option("--out", "Output", "Write all estimates (.csv or .parquet).", FILE, "FILE")
@option("--save-counts", "Output", "Write the counts (.npz), to be merged later.", FILE, "FILE")
@public_option
@option("--top", "Output", "Largest estimates to show. [20]", COUNT, "N", default=20)
@option("--level", "Output", "Confidence level. [0.95]", SHARE, "SHARE", default=0.95)
@options_of(Run, without=("seed", "threads"))
@viewed("json", "quiet")
def estimate(
    reports: tuple[str, ...],
    parameters: Path | None,
    dictionary: Path | None,
    items: tuple[str, ...],
    likely: bool,
    out: Path | None,
    save_counts: Path | None,
    top: int,
    level: float,
    engine: str | None,
    master: str | None,
    memory: int | None,
    view: output.View,
) -> None:
    """Which share of reports is of each item? Estimated, with intervals.

    REPORTS are files of reports (.csv, .parquet) or of counts saved earlier (.npz); all are added up. Their parameter
    document is the one beside them (FILE.parameters.json) unless named with --parameters. On Spark a file
    must have the same path on every machine; Parquet may also lie where only Spark reads it (s3a://, hdfs://, ...).

    \b
    entropie estimate reports.parquet --dictionary places.csv
    entropie estimate s3a://bucket/reports --parameters p.json \\
        --engine spark --master spark://host:7077
    """
    from entropie.data.columns import Dictionary, TableWriter
    from entropie.document.printed import Estimated
    from entropie.errors import InvalidInput, InvalidParameter
    from entropie.mechanisms.parameters import parameters_id

    _check_engine(engine, master)
    files = [Path(name) for name in reports if not _is_remote(name)]
    remote = [name for name in reports if _is_remote(name)]
    if remote and engine != "spark":
        raise InvalidInput(f"{remote[0]} is not a file of this machine; read it with --engine spark.")
    if len({*(path.resolve() for path in files), *remote}) < len(reports):
        raise InvalidInput("The same file is named twice among the reports; it would be counted twice.")
    if likely and (items or master is not None or any(file.suffix == ".npz" for file in files)):
        raise InvalidInput("The most likely distribution (--likely) needs all items and the reports, on this machine.")
    output.check_writable([*files, parameters, dictionary], [out, save_counts])
    writer = None if out is None else TableWriter(out)
    if top < 1:
        raise InvalidParameter.of("top", "a whole number of at least 1", top)
    built = _parameters_of(files, memory) if parameters is None else load_parameters(parameters)
    names = None if dictionary is None else Dictionary.load(dictionary, memory)
    check_agreement(names, built.domain_size)
    codes = _codes_of_items(items, names, built.domain_size)
    saved = [file for file in files if file.suffix == ".npz"]
    counts = _count_all(files if master is None else saved, built, codes, memory)
    if master is not None and (remote or len(saved) < len(files)):
        tables = [file for file in files if file not in saved]
        counts = counts.merge(_count_on(master, tables, remote, built, codes))
    estimates = built.estimates_of(counts)
    found = _most_likely(built, estimates, files) if likely else None
    columns = _columns(estimates, names, level, found)
    attempts = output.Attempts()
    if save_counts is not None:
        attempts.run(partial(counts.save, save_counts))
    if writer is not None:
        attempts.run(partial(_write_estimates, writer, columns))
    estimated = Estimated(
        parameters_id=parameters_id(built),
        reports=estimates.reports,
        domain_size=built.domain_size,
        level=level,
        threshold=estimates.detectable_share(),
        significant_items=int(estimates.stands_out().sum()),
        estimates=_rows(columns, estimates.top(top)),
        out=str(out) if out else None,
        counts=str(save_counts) if save_counts else None,
        likely_is_closer=UNSET if found is None else found.closer,
    )
    more = "" if found is None else f"\n\n{output.paragraph(_likely_text(found))}"
    view.show(estimated.to_json, lambda: _estimates_text(estimates, estimated, built) + more)
    attempts.raise_failed()


def _parameters_of(files: Sequence[Path], memory: int | None) -> Any:
    """The mechanism whose document lies beside every file of reports, or inside every file of counts."""
    from entropie.data.reports import load_counts
    from entropie.errors import InvalidParameter, ParametersMismatch
    from entropie.mechanisms.parameters import from_document

    found = []
    for file in files:
        described = beside(file)
        if file.suffix == ".npz":
            found.append(from_document(load_counts(file, memory).parameters))
        elif described.exists():
            found.append(load_parameters(described))
        else:
            raise InvalidParameter(
                "Give --parameters FILE, the parameter document the reports were made under; "
                f"{described.name} is not there."
            )
    if not found:
        raise InvalidParameter("Give --parameters FILE, the parameter document the reports were made under.")
    for file, other in zip(files, found, strict=True):
        if other != found[0]:
            raise ParametersMismatch(
                f"{file.name} was made under other parameters than {files[0].name}; estimate each with its own "
                "document."
            )
    return found[0]


def _check_engine(engine: str | None, master: str | None) -> None:
    """A master goes with Spark, and Spark with a master and all that it needs."""
    from entropie.errors import InvalidParameter

    if (engine == "spark") != (master is not None):
        raise InvalidParameter("Give --master URL with --engine spark, and only there.")
    if master is not None:
        from entropie.engine.spark.session import require

        require()


def _codes_of_items(items: tuple[str, ...], names: Dictionary | None, domain_size: int) -> list[int] | None:
    from entropie.errors import InvalidParameter

    if not items:
        return None
    if names is not None:
        known = {name: code for code, name in enumerate(names.names.to_pylist())}
        for item in items:
            if item not in known:
                raise InvalidParameter.of("item", f"in the dictionary of {len(names)} items", item)
        return [known[item] for item in items]
    try:
        return [int(item) for item in items]
    except ValueError:
        rule = f"item codes from 0 to {domain_size - 1} (names need --dictionary)"
        raise InvalidParameter.of("item", rule, ", ".join(items)) from None


def _is_remote(name: str) -> bool:
    """Whether this names a place by its scheme, such as s3a://bucket/reports or dbfs:/reports."""
    return re.match(r"[A-Za-z][A-Za-z0-9+.-]+:/", name) is not None


def _count_on(master: str, tables: list[Path], remote: list[str], built: Any, items: list[int] | None) -> Counts:
    """Count on a cluster."""
    from entropie.engine.spark.frequencies import count_files, count_reports
    from entropie.engine.spark.session import connect, failures
    from entropie.mechanisms.parameters import counts_for

    counts = counts_for(built, None, items)
    spark = connect(master)
    try:
        if tables:
            counts = counts.merge(count_files(spark, tables, built, items=items))
        for name in remote:
            with failures(spark):
                reports = spark.read.parquet(name)
            counts = counts.merge(count_reports(reports, built, items=items))
    finally:
        spark.stop()
    return counts


def _count_all(files: Sequence[Path], built: Any, items: list[int] | None, memory: int | None) -> Counts:
    from entropie.data.reports import load_counts, read_reports
    from entropie.mechanisms.parameters import counts_for

    counts = counts_for(built, None, items)
    for file in files:
        if file.suffix == ".npz":
            counts = counts.merge(load_counts(file, memory))
            continue
        with output.stage(f"counting {file.name}") as progress:
            for batch in read_reports(file, built, progress):
                built.count(batch, into=counts)
    return counts


def _most_likely(built: Any, estimates: Estimates, files: Sequence[Path]) -> Likely:
    """The most likely distribution; reports that are not too many are kept, others are read again for every pass."""
    from entropie.data.reports import read_reports
    from entropie.mechanisms.likely import most_likely

    def batches() -> Iterator[Any]:
        for file in files:
            yield from read_reports(file, built)

    kept = cache(lambda: list(batches()))
    with output.stage("most likely distribution"):
        return most_likely(built, estimates, kept if estimates.reports <= _KEPT_REPORTS else batches)


def _rows(columns: dict[str, Any], chosen: Any) -> list[EstimatedItem]:
    import numpy as np

    from entropie.document.printed import EstimatedItem

    return [
        EstimatedItem(
            **{
                name: (column[int(i)].item() if isinstance(column, np.ndarray) else column[int(i)].as_py())
                for name, column in columns.items()
            }
        )
        for i in chosen
    ]


def _columns(
    estimates: Estimates, names: Dictionary | None, level: float, likely: Likely | None = None
) -> dict[str, Any]:
    import numpy as np
    import pyarrow as pa

    codes = np.arange(len(estimates.counts)) if estimates.items is None else estimates.items
    low, high = estimates.intervals(level)
    shares = estimates.probabilities
    named = {} if names is None else {"item": names.names.take(pa.array(codes))}
    whole = {} if estimates.items is not None else {"consistent_share": estimates.consistent}
    if likely is not None:
        whole = {
            "consistent_share": likely.shares if likely.closer else whole["consistent_share"],
            "likely_share": likely.shares,
            "likely_standard_error": pa.array(likely.standard_errors, from_pandas=True),
        }
    return {
        "code": codes,
        **named,
        "share": shares,
        "standard_error": estimates.standard_errors,
        "low": low,
        "high": high,
        "significant": estimates.stands_out(),
        **whole,
    }


def _write_estimates(writer: TableWriter, columns: dict[str, Any]) -> None:
    with writer:
        writer.write(columns)


def _likely_text(found: Likely) -> str:
    closer = "is closer to the truth than" if found.closer else "is no closer to the truth than"
    return (
        f"The most likely distribution (likely_share) has {words.count(int((found.shares > 1e-9).sum()))} items and "
        f"{closer} the nearest one to the unbiased shares, by halves of the reports compared with each other; "
        f"consistent_share is the {'first' if found.closer else 'second'}. Neither is unbiased."
    )


def _estimates_text(estimates: Estimates, shown: Estimated, built: Any) -> str:
    headers = ["item", "share", f"{shown.level * 100:g} % CI", "above noise"]
    likely = [[words.percent(row.likely_share)] if row.likely_share is not UNSET else [] for row in shown.estimates]
    headers += ["most likely"] if any(likely) else []
    rows = [
        [
            str(row.item or row.code),
            words.percent(row.share) if row.share > 0.0 else f"{row.share * 100:.2g} %",
            words.interval(row),
            "yes" if row.significant else "no",
            *more,
        ]
        for row, more in zip(shown.estimates, likely, strict=True)
    ]
    standing, items = words.count(shown.significant_items), words.count(len(estimates.counts))
    meaning = (
        f"Shares of all reports, corrected for the noise; estimates may be negative and need not sum to 100 %. "
        f"{standing} of {items} items stand out from noise: an item that nobody has reaches "
        f"{words.percent(min(1.0, shown.threshold))} with probability at most 5 %, over all items. "
        f"Each interval is for one item at a time."
    )
    lines = [
        f"{words.count(estimates.reports)} reports, theta {words.digits(built.theta, 4)}; {len(rows)} largest shares",
        "",
        output.table(headers, rows),
        "",
        output.paragraph(meaning),
    ]
    return "\n".join([*lines, f"\nAll estimates: {output.name(shown.out)}"] if shown.out else lines)
