"""How tests are dealt to processes, and how hard properties are tried.

The tests that need Spark share one cluster and one session: they are one group, dealt out first because it is the
longest. All others go by file. Properties are tried with the budgets written beside them; `TESTS=thorough` tries ten
times as many examples, and `TESTS=mutants` stops at the first that fails without looking for a smaller one.
"""

from __future__ import annotations

import ast
import functools
import os
from pathlib import Path
from typing import Any

import hypothesis
import pytest

THOROUGH = 10
SPARK_FIXTURES = {"spark", "cluster"}

hypothesis.settings.register_profile("ci", deadline=None, max_examples=60)
hypothesis.settings.register_profile("thorough", deadline=None, max_examples=60 * THOROUGH)
hypothesis.settings.register_profile(
    "mutants",
    deadline=None,
    max_examples=60,
    database=None,
    phases=[hypothesis.Phase.explicit, hypothesis.Phase.generate],
)
PROFILE = os.environ.get("TESTS", "ci")
hypothesis.settings.load_profile(PROFILE)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: not _needs_spark(item.nodeid))  # stable: all else stays in order
    if PROFILE == "thorough":
        for item in items:
            _try_harder(getattr(item, "obj", None))


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Deal tests out by file, and all that need Spark together; marks cannot say so, this process collects nothing."""
    from xdist.scheduler import LoadScopeScheduling

    class ByFile(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return "spark" if _needs_spark(nodeid) else nodeid.partition("::")[0]

    return ByFile(config, log)


@functools.cache
def _spark_tests() -> frozenset[str]:
    """The tests that ask for the cluster or its session, read from their signatures."""
    found = set()
    for path in Path(__file__).parent.glob("engine/test_*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef) and SPARK_FIXTURES & {one.arg for one in node.args.args}:
                found.add(f"{path.name}::{node.name}")
    return frozenset(found)


def _needs_spark(nodeid: str) -> bool:
    file, _, name = nodeid.partition("::")
    return f"{file.rpartition('/')[2]}::{name.partition('[')[0]}" in _spark_tests()


def _try_harder(test: Any) -> None:
    """Raise a budget that a test sets itself; that of the profile is raised already."""
    name = "_hypothesis_internal_use_settings"
    own = getattr(test, name, None)
    if own is not None and not getattr(test, "tried_harder", False) and own.max_examples != 60 * THOROUGH:
        setattr(test, name, hypothesis.settings(own, max_examples=THOROUGH * own.max_examples))
        test.tried_harder = True
