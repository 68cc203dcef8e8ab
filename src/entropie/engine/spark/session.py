"""The way to Spark: what must be installed, a session that keeps quiet, and errors as one sentence."""

from __future__ import annotations

import contextlib
import importlib.metadata
import importlib.util
import logging
import os
import re
import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from entropie import errors
from entropie.engine.spark.scratch import own_folders
from entropie.errors import EntropieError, InvalidInput, InvalidParameter, OutputFailed

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SAME_PATH = "every worker must see the same path"
_LEAST_JAVA = 17
_KNOCK_SECONDS = 10.0
_LEAST_SPARK = (4, 1)
_INSTALL = "install it with `pip install 'entropie[spark]'`"
_INSTALL_JAVA = "install it with `apt-get install openjdk-17-jre-headless`, or set JAVA_HOME"
_LOOPBACK = re.compile(r"local(\[.*\])?|local-cluster\[.*\]|spark://(127\.\d+\.\d+\.\d+|localhost|\[::1\])(:\d+)?")
_MASTER = re.compile(r"local(\[.*\])?|local-cluster\[.*\]|spark://.+:\d+|yarn|k8s://.+")
_OUR_ERROR = re.compile(
    r"^(?:entropie\.errors\.)(\w+): (.*?)(?=\n\s*(?:SQLSTATE|at )|\n\n|\Z)", re.MULTILINE | re.DOTALL
)
_JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""Java passes arrays on and computes nothing: what it would spend on optimising itself is more than all of its work."""
_LOGGERS = ("DataFrameQueryContextLogger", "SQLQueryContextLogger")
_BRIDGE_LOGGERS = ("py4j", "py4j.clientserver", "py4j.java_gateway")
_PANDAS_WARNING = "PySpark does not yet fully support pandas"


def require() -> None:
    """Refuse with a remedy where PySpark, pandas or Java is missing or too old; starts nothing but `java -version`."""
    for module, name in (("pyspark", "PySpark"), ("pandas", "pandas")):
        if importlib.util.find_spec(module) is None:
            raise InvalidInput(f"{name} is missing, which running on Spark needs; {_INSTALL}.")
    version = importlib.metadata.version("pyspark")
    if tuple(map(int, re.findall(r"\d+", version)[:2])) < _LEAST_SPARK:
        raise InvalidInput(f"PySpark must be 4.1 or newer, got {version} instead; {_INSTALL}.")
    found = java_version()
    if found is None:
        raise InvalidInput(f"Java is missing, which Spark runs on; {_INSTALL_JAVA}.")
    if found < _LEAST_JAVA:
        raise InvalidInput(f"Java must be {_LEAST_JAVA} or newer, got {found} instead; {_INSTALL_JAVA}.")


def java_version() -> int | None:
    """Ask Java which one it is: that of JAVA_HOME, as Spark would, or else the one on the path; None without any."""
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    if java is None:
        return None
    try:
        said = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    match = re.search(r'version "(?:1\.)?(\d+)', said.stderr + said.stdout)
    return int(match[1]) if match else None


def settings(master: str, cores: int | None = None, memory: str | None = None) -> dict[str, str]:
    """The settings of a session: one core for each task, Arrow, no noise, and everything on loopback where it can be.

    `cores` are those of all machines together; `memory` is that of each machine, such as 4g. What is written to disk is
    encrypted, and what goes over the network too where Spark can agree on a key by itself: the machines of a standalone
    cluster must be told one.
    """
    if not _MASTER.fullmatch(master):
        raise InvalidParameter.of("master", "such as spark://host:7077, local[4], yarn or k8s://https://host", master)
    if cores is not None and cores < 1:
        raise InvalidParameter.of("cores", "at least 1", cores)
    if memory is not None and not re.fullmatch(r"[1-9]\d*[kmgt]", memory):
        raise InvalidParameter.of("memory", "a size such as 4g", memory)
    local = master.startswith("local") and not master.startswith("local-cluster")
    chosen = {
        "spark.master": f"local[{cores}]" if local and cores is not None else master,
        "spark.app.name": "entropie",
        "spark.task.cpus": "1",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "ERROR",
        "spark.master.rest.enabled": "false",
        "spark.driver.defaultJavaOptions": _JAVA,
        "spark.executor.defaultJavaOptions": _JAVA,
        "spark.io.encryption.enabled": "true",
        "spark.python.worker.reuse": "true",
        "spark.python.daemon.module": "entropie.engine.spark.daemon",
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        "spark.sql.session.timeZone": "UTC",
    }
    if memory is not None:
        chosen["spark.driver.memory" if local else "spark.executor.memory"] = memory
    if cores is not None and master.startswith("spark://"):
        chosen["spark.cores.max"] = str(cores)
    elif cores is not None and not local:
        chosen |= {"spark.executor.cores": "1", "spark.executor.instances": str(cores)}
    if local or master.startswith(("yarn", "k8s")):
        chosen |= {"spark.authenticate": "true", "spark.network.crypto.enabled": "true"}
    if _LOOPBACK.fullmatch(master):
        chosen |= {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
        chosen["spark.locality.wait"] = "0"  # on one machine everything is near
    else:
        # A worker may run as somebody without a home, where compiled code would find no place. Nobody can have
        # put anything into a folder whose name is new.
        folder = os.environ.get("NUMBA_CACHE_DIR") or f"{tempfile.gettempdir()}/entropie-{secrets.token_hex(8)}"
        chosen["spark.executorEnv.NUMBA_CACHE_DIR"] = folder
    return chosen


def connect(master: str, cores: int | None = None, memory: str | None = None) -> SparkSession:
    """Start a session, or say in one sentence why there is none; arguments as for `settings`."""
    chosen = settings(master, cores, memory)
    require()
    _check_master(master)
    chosen["spark.local.dir"] = own_folders()
    os.environ.pop("SPARK_LOCAL_DIRS", None)  # which would come before the setting
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    if _LOOPBACK.fullmatch(master):
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    with failures(master=master), _stderr_elsewhere():
        from pyspark.sql import SparkSession

        builder: Any = SparkSession.builder
        session: SparkSession = builder.config(map=chosen).getOrCreate()
        session.sparkContext.setLogLevel("ERROR")
    return session


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Hold back PySpark's warning of a new pandas, of which nothing is used here."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", _PANDAS_WARNING, FutureWarning)
        yield


@contextlib.contextmanager
def failures(spark: SparkSession | None = None, *, master: str = "") -> Iterator[None]:
    """Turn what Spark raises into one sentence; an error of ours that a worker raised comes back as itself.

    Ctrl-C cancels the jobs of the session.
    """
    try:
        with quiet(), _unlogged():
            yield
    except EntropieError:
        raise
    except KeyboardInterrupt:
        _cancel(spark)
        raise
    except Exception as error:
        if _interrupted(error):  # what PySpark raised while it tidied up after Ctrl-C
            _cancel(spark)
            raise KeyboardInterrupt from None
        if not type(error).__module__.startswith(("pyspark", "py4j")) and not isinstance(error, ConnectionError):
            raise
        raise translated(str(error), master) from None


def _cancel(spark: SparkSession | None) -> None:
    if spark is not None:
        with contextlib.suppress(Exception):
            spark.sparkContext.cancelAllJobs()


def _interrupted(error: BaseException | None) -> bool:
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__context__
    return error is not None


def translated(said: str, master: str = "") -> EntropieError:
    """Say what the text of a Spark error means."""
    found = _OUR_ERROR.findall(said)
    for name, message in reversed(found):
        kind = getattr(errors, name, None)
        if isinstance(kind, type) and issubclass(kind, EntropieError):
            return kind(message.strip())
    if "No module named 'entropie" in said:
        return InvalidInput(
            "entropie is missing on a worker; install the same version on every machine of the cluster."
        )
    missing = re.search(r"No module named '([\w.]+)'", said)
    if missing:
        return InvalidInput(f"Module {missing[1]} is missing on a worker; {_INSTALL} on every machine of the cluster.")
    if "PYTHON_VERSION_MISMATCH" in said:
        return InvalidInput(
            "Workers run another Python than this one; set PYSPARK_PYTHON to the same version on every machine."
        )
    absent = re.search(r"FileNotFoundError: .*?: '(.+?)'|PATH_NOT_FOUND\] .*?: (\S+?)\. ", said)
    if absent:
        return InvalidInput(f"{absent[1] or absent[2]} cannot be opened by a worker; {SAME_PATH}.")
    unreachable = ("All masters are unresponsive", "Failed to connect to", "Connection refused", "UnknownHostException")
    stopped = ("SparkContext was shut down", "stopped SparkContext", "Application has been killed")
    if any(sign in said for sign in unreachable):
        return _unreachable(master)
    if any(sign in said for sign in (*stopped, "JAVA_GATEWAY_EXITED", "Answer from Java side is empty")):
        if master:
            return InvalidInput(f"Spark master {master} cannot be reached, or Spark did not start; check its address.")
        return InvalidInput("The Spark session has ended; start another one and run again.")
    if "No space left on device" in said or "Disk quota exceeded" in said:
        return OutputFailed(
            "A disk that Spark spills to is full; make room, or name folders on other disks in SPARK_LOCAL_DIRS."
        )
    if "OutOfMemoryError" in said:
        return InvalidInput("A worker ran out of memory; give it more, or use more partitions.")
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    python = [line for line in lines if re.match(r"[\w.]+(Error|Exception|Exit): ", line)]
    return InvalidInput(f"Spark failed: {(python or lines or ['no reason was given'])[-1 if python else 0][:300]}")


def _check_master(master: str) -> None:
    """Knock at a standalone master: Spark itself would try for minutes, and then say little."""
    if not master.startswith("spark://"):
        return
    for address in master.removeprefix("spark://").split(","):
        host, _, port = address.rpartition(":")
        with contextlib.suppress(OSError, ValueError, OverflowError):
            socket.create_connection((host.strip("[]"), int(port)), _KNOCK_SECONDS).close()
            return
    raise _unreachable(master)


def _unreachable(master: str) -> InvalidInput:
    return InvalidInput(f"Spark master {master or '(unnamed)'} cannot be reached; check its address, and that it runs.")


@contextlib.contextmanager
def _stderr_elsewhere() -> Iterator[None]:
    """Let the JVM be born with a file of its own for its chatter, so that it does not write into the terminal.

    What goes wrong reaches Python as an exception all the same.
    """
    try:
        kept = os.dup(2)
    except OSError:
        yield
        return
    try:
        with tempfile.TemporaryFile(prefix="entropie-spark-") as log:
            sys.stderr.flush()
            os.dup2(log.fileno(), 2)
            try:
                yield
            finally:
                os.dup2(kept, 2)
    finally:
        os.close(kept)


@contextlib.contextmanager
def _unlogged() -> Iterator[None]:
    """Keep PySpark from printing what it raises, and its bridge to Java from printing Ctrl-C."""
    if importlib.util.find_spec("pyspark") is None:
        yield
        return
    from pyspark.logger import PySparkLogger

    loggers: list[logging.Logger] = [PySparkLogger.getLogger(name) for name in _LOGGERS]
    loggers += [logging.getLogger(name) for name in _BRIDGE_LOGGERS]
    before = [logger.disabled for logger in loggers]
    for logger in loggers:
        logger.disabled = True
    try:
        yield
    finally:
        for logger, disabled in zip(loggers, before, strict=True):
            logger.disabled = disabled
