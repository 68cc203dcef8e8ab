"""A real cluster on this machine: a standalone master and two workers, started from the installed PySpark."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from standalone import Standalone

from entropie.engine.spark import reading
from entropie.engine.spark.session import connect, quiet, require
from entropie.errors import InvalidInput

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""For Java processes that live for minutes: they would spend most of them on making themselves faster."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """PySpark forgets a socket where it sends a table of this process to an encrypted session."""
    for item in items:
        if "spark" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"))


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Standalone]:
    try:
        require()
    except InvalidInput as missing:
        pytest.skip(str(missing))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JDK_JAVA_OPTIONS", JAVA)
        with Standalone(tmp_path_factory.mktemp("cluster"), workers=2) as running:
            yield running


@pytest.fixture(scope="session")
def spark(cluster: Standalone) -> Iterator[SparkSession]:
    session = connect(cluster.master, memory="1g")
    session.conf.set("spark.sql.shuffle.partitions", "3")
    session.conf.set("spark.sql.codegen.wholeStage", "false")  # no query here lives long enough to repay a compiler
    session.conf.set("spark.sql.codegen.factoryMode", "NO_CODEGEN")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reading, "_UNKNOWN_BYTES", 3 << 25)  # three homes for a table that the driver sends
        try:
            yield session
        finally:
            session.stop()


@pytest.fixture(autouse=True)
def no_word_of_pandas() -> Iterator[None]:
    with quiet():
        yield
