"""How tests are dealt to processes, and how hard properties are tried.

Tests that share what is dear to make, a Spark cluster or the figures of the paper, are one group each and run in one
process; these groups are dealt out first because they are the longest. All others go by file. Properties are tried with
the budgets written beside them; `TESTS=thorough` tries ten times as many examples, and `TESTS=mutants` stops at the
first that fails without looking for a smaller one.
"""

from __future__ import annotations

import ast
import functools
import gc
import json
import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import hypothesis
import pytest
import real_postgres

from entropie import drawing

BROWSER_FLAGS = ("--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-background-networking")
THOROUGH = 10
SHARED = {"spark": ("engine", {"spark", "cluster"}), "figures": ("paper", {"small"})}
"""Groups, the longest first: the folder of their tests, and the fixtures that they ask for."""

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
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs, and all they start, ignore it
signal.signal(signal.SIGHUP, signal.SIG_DFL)  # and nohup this


@pytest.fixture(scope="session", autouse=True)
def drawn_once() -> Iterator[None]:
    """Every picture is really drawn, but the same one only once in a session: most pages differ in words alone."""
    real, made = drawing.svg, {}

    def remembered(spec: dict[str, Any], width: int) -> str:
        key = json.dumps([spec, width], sort_keys=True)
        if key not in made:
            made[key] = real(spec, width)
        return made[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(drawing, "svg", remembered)
        yield


def _chromium() -> str:
    """The system's Chromium, which `scripts/test` installs where it may."""
    found = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if not found:
        pytest.skip("Chromium is not installed; run: apt-get install chromium")
    return found


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    executable = _chromium()
    with playwright.sync_playwright() as driver:
        launched = driver.chromium.launch(executable_path=executable, args=list(BROWSER_FLAGS))
        yield launched
        launched.close()


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """The URL of a real PostgreSQL server, one per process of tests that asks for it."""
    if real_postgres.programs() is None:
        pytest.skip("PostgreSQL is not installed")
    with real_postgres.server() as url:
        yield url


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    order = {group: place for place, group in enumerate(SHARED)}
    items.sort(key=lambda item: order.get(_scope(item.nodeid), len(order)))  # stable: all else stays in order
    if PROFILE == "thorough":
        for item in items:
            _try_harder(getattr(item, "obj", None))


def pytest_collection_finish() -> None:
    """The tests themselves stay to the end: no collection of garbage need look at them again."""
    gc.collect()
    gc.freeze()


def pytest_unconfigure() -> None:
    gc.unfreeze()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Deal tests out by group or file; marks cannot say so, this process collects nothing."""
    from xdist.scheduler import LoadScopeScheduling

    class ByGroup(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return _scope(nodeid)

    return ByGroup(config, log)


def _scope(nodeid: str) -> str:
    """The group of a test, or else its file."""
    file, _, name = nodeid.partition("::")
    return _grouped().get((Path(file).name, name.partition("[")[0]), file)


@functools.cache
def _grouped() -> dict[tuple[str, str], str]:
    """The group of every test that is in one, by its file and name, read from the signatures."""
    found = {}
    for group, (folder, fixtures) in SHARED.items():
        for path in (Path(__file__).parent / folder).glob("test_*.py"):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.FunctionDef) and fixtures & {one.arg for one in node.args.args}:
                    found[path.name, node.name] = group
    return found


def _try_harder(test: Any) -> None:
    """Raise a budget that a test sets itself; that of the profile is raised already."""
    name = "_hypothesis_internal_use_settings"
    own = getattr(test, name, None)
    if own is not None and not getattr(test, "tried_harder", False) and own.max_examples != 60 * THOROUGH:
        setattr(test, name, hypothesis.settings(own, max_examples=THOROUGH * own.max_examples))
        test.tried_harder = True
