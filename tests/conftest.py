"""How tests are dealt to processes, and how hard properties are tried.

The tests that need Spark share one cluster and one session: they are one group, dealt out first because it is the
longest. All others go by file. Properties are tried with the budgets written beside them; `TESTS=thorough` tries ten
times as many examples, and `TESTS=mutants` stops at the first that fails without looking for a smaller one.
"""

from __future__ import annotations

import os
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


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: not _needs_spark(item))  # stable: all else stays in order
    for item in items:
        group = "spark" if _needs_spark(item) else item.path.as_posix()
        item.add_marker(pytest.mark.xdist_group(group))
        if PROFILE == "thorough":
            _try_harder(getattr(item, "obj", None))


def _needs_spark(item: pytest.Item) -> bool:
    return not SPARK_FIXTURES.isdisjoint(getattr(item, "fixturenames", ()))


def _try_harder(test: Any) -> None:
    """Raise a budget that a test sets itself; that of the profile is raised already."""
    name = "_hypothesis_internal_use_settings"
    own = getattr(test, name, None)
    if own is not None and not getattr(test, "tried_harder", False) and own.max_examples != 60 * THOROUGH:
        setattr(test, name, hypothesis.settings(own, max_examples=THOROUGH * own.max_examples))
        test.tried_harder = True
