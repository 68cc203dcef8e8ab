"""docs/guarantees.md: every mathematical sentence names the test that would fail if it were untrue."""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "guarantees.md").read_text(encoding="utf-8")
TEXT, TABLE = PAGE.split("## What holds each sentence")
CLAIMS = {
    " ".join(match["claim"].split()): re.findall(r"`([\w/.]+)::(\w+)`", match["tests"])
    for match in re.finditer(r'^\| "(?P<claim>.+)" \| (?P<tests>[^|]+) \|$', TABLE, re.MULTILINE)
}
HELD = ("All reports", "Several reports", "A ledger of what was sent", "How a setting is found")
"""Sections whose every bullet must hold a claim."""


def plain(text: str) -> str:
    return " ".join(text.replace("**", "").split())


def test_every_sentence_stands_above() -> None:
    assert len(CLAIMS) > 40
    for claim in CLAIMS:
        assert claim in plain(TEXT), claim


def test_every_test_is_there() -> None:
    for claim, named in CLAIMS.items():
        assert named, claim
        for path, name in named:
            tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
            functions = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
            assert name in functions, f"{path}::{name}"


def test_no_bullet_and_no_key_is_without_a_test() -> None:
    sections = {part.split("\n", 1)[0]: part for part in re.split(r"^## ", TEXT, flags=re.MULTILINE)[1:]}
    for title in HELD:
        bullets = re.findall(r"^- .+(?:\n  .+)*", sections[title], re.MULTILINE)
        assert len(bullets) >= 3
        for bullet in bullets:
            assert any(claim in plain(bullet) for claim in CLAIMS), bullet
    keys = re.findall(r"^\| `\w+`.*", TEXT, re.MULTILINE)
    assert len(keys) >= 12
    for key in keys:
        assert any(claim in plain(key) for claim in CLAIMS), key
