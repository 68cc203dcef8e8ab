"""Where a command runs: on this machine or on a Spark cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Command = TypeVar("Command", bound=Callable[..., Any])


def engine_options(command: Command) -> Command:
    """--engine, --master."""
    engine = click.option(
        "--engine",
        type=click.Choice(["local", "spark"]),
        default="local",
        show_default=True,
        help="Run on this machine, or on a Spark cluster.",
    )
    master = click.option(
        "--master", metavar="URL", help="Spark master, such as spark://host:7077, yarn or local[4], for --engine spark."
    )
    return engine(master(command))


def check_engine(engine: str, master: str | None) -> None:
    """A master goes with Spark, and Spark with a master and all that it needs."""
    from entropie.errors import InvalidParameter

    if (engine == "spark") != (master is not None):
        raise InvalidParameter("Give --master URL with --engine spark, and only there.")
    if master is not None:
        from entropie.engine.spark.session import require

        require()


@contextmanager
def session(master: str) -> Iterator[SparkSession]:
    """A Spark session for one command."""
    from entropie.engine.spark.session import connect

    spark = connect(master)
    try:
        yield spark
    finally:
        spark.stop()
