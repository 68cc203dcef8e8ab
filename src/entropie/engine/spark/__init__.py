"""The driver for a Spark cluster: nothing but small statistics reaches the machine that asks.

`entropie.assess` comes here for a Spark DataFrame, or with `engine="spark"`.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from entropie.engine.spark.frequencies import count_reports
    from entropie.engine.spark.session import connect

_HOMES = {
    "connect": "entropie.engine.spark.session",
    "count_reports": "entropie.engine.spark.frequencies",
}

__all__ = ["connect", "count_reports"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'entropie.engine.spark' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)
