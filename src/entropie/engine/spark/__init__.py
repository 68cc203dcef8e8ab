"""The same assessment on a Spark cluster: nothing but small statistics reaches the machine that asks for it.

import entropie.engine.spark
found = entropie.engine.spark.assess(dataframe, user="user", item="venue", time="time")
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from entropie.engine.spark.assessment import assess
    from entropie.engine.spark.frequencies import count_reports
    from entropie.engine.spark.session import connect

_HOMES = {
    "assess": "entropie.engine.spark.assessment",
    "connect": "entropie.engine.spark.session",
    "count_reports": "entropie.engine.spark.frequencies",
}

__all__ = ["assess", "connect", "count_reports"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'entropie.engine.spark' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)
