"""The process that Spark forks its Python workers from: what their tasks import is imported here, once for all."""

from __future__ import annotations

import gc
import importlib
import os
import sys
from pathlib import Path

_NEEDED = ("pyspark.worker", "entropie.engine.spark.assessment", "entropie.engine.spark.frequencies")
_NO_THREADS = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "JE_ARROW_MALLOC_CONF": "background_thread:false",
}


def main() -> None:
    """Import, then wait for forks to be asked for. A process with threads must not fork: it starts anew without."""
    os.environ |= _NO_THREADS
    for module in _NEEDED:
        importlib.import_module(module)
    if sys.platform != "linux" or len(list(Path("/proc/self/task").iterdir())) > 1:
        os.execv(sys.executable, [sys.executable, "-m", "pyspark.daemon", *sys.argv[1:]])
    gc.freeze()  # or the first collection of every worker would copy all of it
    from pyspark.daemon import manager

    manager()


if __name__ == "__main__":
    main()
