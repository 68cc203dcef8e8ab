"""The rules of the house, read from the source: short signatures, one place for each decision, modules of a size.

What still breaks a rule is listed with the rule. A list may only shrink: an entry that is no longer needed fails.
"""

from __future__ import annotations

import ast
import functools
import re
import runpy
from collections import Counter
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

from entropie.request import Request

SOURCES = Path(__file__).resolve().parents[1] / "src" / "entropie"
MOST_PARAMETERS = 8
MOST_LINES = 450
MOST_FORWARDED = 20

DOORS = {
    "assessment.assess",
    "assessment.assess_spark",
    "mechanisms.calibrate.calibrate",
    "mitigate.protect.protect",
    "release.apply.apply",
    "release.generalise.generalise",
    "release.sweep.sweep",
    "table.attributes",
}
"""Public functions that take options one by one, by their names."""

LONG_SIGNATURES: set[str] = set()
OPEN_SIGNATURES: set[str] = set()
LONG_MODULES: set[str] = set()
FORWARDING: set[str] = set()
OTHER_PROGRESS: set[str] = set()
OTHER_WORDS: set[str] = set()

Function = ast.FunctionDef | ast.AsyncFunctionDef
_NAMED = Function | ast.ClassDef


@functools.cache
def modules() -> dict[str, ast.Module]:
    """Every module of the package, parsed, by its name."""
    return {
        path.relative_to(SOURCES).with_suffix("").as_posix().replace("/", "."): ast.parse(path.read_text("utf-8"))
        for path in sorted(SOURCES.rglob("*.py"))
    }


def functions() -> Iterator[tuple[str, Function]]:
    """Every function and method, by module and name; kernels and click callbacks are not asked to be short."""
    for module, tree in modules().items():
        if module.startswith("kernels"):
            continue
        for node in ast.walk(tree):
            if isinstance(node, Function) and not _is_callback(node):
                yield f"{module}.{node.name}", node


def _is_callback(node: Function) -> bool:
    """Whether click calls it: it is decorated as a command."""
    return any(isinstance(call, ast.Call) and "command" in ast.unparse(call.func) for call in node.decorator_list)


def _parameters(node: Function) -> list[str]:
    taken = node.args
    names = [one.arg for one in (*taken.posonlyargs, *taken.args, *taken.kwonlyargs)]
    return [name for name in names if name not in ("self", "cls")]


def test_functions_take_sections_not_fields() -> None:
    long = {name for name, node in functions() if len(_parameters(node)) > MOST_PARAMETERS}
    assert long - DOORS == LONG_SIGNATURES


def test_no_signature_is_open() -> None:
    open_ended = {
        name
        for name, node in functions()
        if node.args.kwarg is not None and node.args.kwarg.annotation is not None
        if node.args.kwarg.arg == "options" and ast.unparse(node.args.kwarg.annotation) == "Any"
    }
    assert open_ended - DOORS == OPEN_SIGNATURES


def test_fields_of_the_request_are_hardly_forwarded_one_by_one() -> None:
    """`x=x` in a call, where x is a field of a section of the request, outside the doors.

    Not counted: the science below the request, which takes numbers; `rule`, under which a whole SplitRule is handed on.
    """
    named = {field.name for kind in Request.SECTIONS.values() for field in fields(kind)} - {"rule"}
    assert {field.name for field in fields(Request)} == set(Request.SECTIONS)
    forwarded: Counter[str] = Counter()
    seen: set[ast.Call] = set()  # a call inside an inner function is met twice
    for name, node in functions():
        if name in DOORS or name.startswith(("measures.", "attack.", "theory.")):
            continue
        for call in ast.walk(node):
            if isinstance(call, ast.Call) and call not in seen:
                seen.add(call)
                forwarded[name] += sum(
                    isinstance(given.value, ast.Name) and given.arg == given.value.id and given.arg in named
                    for given in call.keywords
                )
    assert set(forwarded) >= FORWARDING
    for name in FORWARDING:
        assert forwarded.pop(name) > 0, f"{name} need not be listed any more"
    assert forwarded.total() < MOST_FORWARDED, forwarded.most_common(30)


def test_there_is_one_progress() -> None:
    """Nobody else names a type of functions that are told a stage or a share."""
    aliases = {
        f"{module}.{target.id}"
        for module, tree in modules().items()
        for node in tree.body
        if isinstance(node, ast.Assign | ast.AnnAssign)
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        if isinstance(target, ast.Name) and target.id in ("Progress", "Tell", "Advance", "Told")
    }
    assert aliases == OTHER_PROGRESS


def test_one_module_writes_numbers_for_people() -> None:
    assert {path.relative_to(SOURCES).as_posix() for path in SOURCES.rglob("*words*.py")} == {"words.py", *OTHER_WORDS}


def test_modules_have_a_size_to_be_read() -> None:
    long = {
        path.relative_to(SOURCES).as_posix()
        for path in SOURCES.rglob("*.py")
        if len(path.read_text(encoding="utf-8").splitlines()) > MOST_LINES
    }
    assert long == LONG_MODULES


def test_the_map_of_the_house_names_what_is_there() -> None:
    """Files and functions in docs/architecture.md exist."""
    page = (SOURCES.parents[1] / "docs" / "architecture.md").read_text(encoding="utf-8")
    walk = page[page.index("## The walk") : page.index("## Where a new part goes")]
    known = {node.name for tree in modules().values() for node in ast.walk(tree) if isinstance(node, _NAMED)}
    for name in re.findall(r"`([\w.]+)(?:\(\))?`", walk):
        assert name.split(".")[-1] in known, name
    for name in re.findall(r"`([\w/]+(?:/|\.(?:py|html|json)))`", page):
        if "NAME" not in name and not name.startswith("tests"):
            assert (SOURCES / name).exists(), name


def test_every_planted_error_still_fits() -> None:
    """An error of `scripts/mutants` whose text or test has moved would not be planted at all."""
    root = SOURCES.parents[1]
    for planted in runpy.run_path(str(root / "tests" / "mutants" / "planted.py"))["MUTANTS"]:
        assert (root / planted.file).read_text(encoding="utf-8").count(planted.text) == 1, planted
        for file, _, name in (test.partition("::") for test in planted.tests):
            assert f"def {name.partition('[')[0]}" in (root / file).read_text(encoding="utf-8"), planted
