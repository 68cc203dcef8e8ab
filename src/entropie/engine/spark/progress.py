"""How far a job on Spark has come: tasks done of the tasks known, asked for while the job runs."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from entropie.progress import Progress, silent

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_EVERY_SECONDS = 0.5


@contextmanager
def watched(spark: SparkSession, tell: Progress, stage: str) -> Iterator[None]:
    """Report the share of tasks done while the body runs; later stages of a plan come to light as it goes on.

    Whatever `tell` raises ends the jobs and is raised here, as it would be by one that is called in between.
    """
    if tell is silent:
        yield
        return
    tell(stage, 0.0)
    ended = threading.Event()
    raised: list[BaseException] = []
    watcher = threading.Thread(target=_watch, args=(spark, tell, stage, ended, raised), daemon=True)
    watcher.start()
    try:
        yield
    except Exception:
        if raised:  # the body failed because its jobs were ended
            raise raised[0] from None
        raise
    finally:
        ended.set()
        watcher.join()
    if raised:
        raise raised[0]
    tell(stage, 1.0)


def _watch(
    spark: SparkSession, tell: Progress, stage: str, ended: threading.Event, raised: list[BaseException]
) -> None:
    tracker = spark.sparkContext.statusTracker()
    known: dict[int, tuple[int, int]] = {}
    shown = 0.0
    while not ended.wait(_EVERY_SECONDS):
        try:
            for number in tracker.getActiveStageIds():
                found = tracker.getStageInfo(number)
                if found is not None:
                    known[number] = (found.numCompletedTasks, found.numTasks)
            active = set(tracker.getActiveStageIds())
        except Exception:  # the session is going away: the body will say why
            return
        done = sum(total if number not in active else part for number, (part, total) in known.items())
        shown = max(shown, min(0.99, done / max(1, sum(total for _, total in known.values()))))
        try:
            tell(stage, shown)
        except BaseException as error:
            raised.append(error)
            break
    with contextlib.suppress(Exception):
        while raised and not ended.is_set():  # the body may be about to start one more
            spark.sparkContext.cancelAllJobs()
            ended.wait(_EVERY_SECONDS)
