"""The same assessment on a Spark cluster: nothing but small statistics reaches the machine that asks for it.

import entropie.cluster
found = entropie.cluster.assess(dataframe, user="user", item="venue", time="time")
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from entropie.cluster.assessment import assess
    from entropie.cluster.frequencies import count_reports
    from entropie.cluster.session import connect

_HOMES = {
    "assess": "entropie.cluster.assessment",
    "connect": "entropie.cluster.session",
    "count_reports": "entropie.cluster.frequencies",
}

__all__ = ["assess", "connect", "count_reports"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'entropie.cluster' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)
