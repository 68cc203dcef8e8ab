"""What people and machines do to inputs: damaged bytes, damaged JSON, values that no option expects."""

from __future__ import annotations

import copy
import json
import random
from typing import Any

__all__ = ["MARK", "NAMES", "OPTION_VALUES", "TEXTS", "WORDS", "damaged_bytes", "damaged_json"]

MARK = "pii7f3a"
"""Part of every person's id: it must never be printed."""

TEXTS = (
    "", " ", "0", "-1", "1e400", "1e-320", "nan", "NULL", "\\N", "=1+1", "@cmd", "+49", "\u202etxt.exe", "\x1b[31mred\x1b[0m",
    "a\x00b", "é", "\ufeff", "\uff19", "\U0001f600", "x" * 5_000, "9" * 400, "2012-04-03 18:00:07", "1333476006", "31/12/1999",
    "9999-99-99", "-9999999999999", "1,5", '"', "'", "a\nb", "a\r\nb", "\t", ";", "|", "\u2028", "\udc80".encode("utf-8", "surrogateescape").decode("latin-1"),
)  # fmt: skip
NAMES = (
    "user",
    "User ",
    "",
    "user",
    "\u202eresu",
    "\x1b[2J",
    "a\nb",
    "x" * 300,
    "=cmd|' /C calc'!A0",
    "é",
    "1",
    "time ",
    "\x00",
)
OPTION_VALUES = (
    "-1", "0", "1", "2", "0.5", "1e99999", "nan", "inf", "-inf", "1e-300", "1e308", "\uff19", "1_000", "0x10", "", " ", "\x1b[31m", "\u202e",
    "9" * 4_400, "1/3", "10%", "-5%", "1M", "1e3M", "4GB", "-0", "+1", "1e0", "true", "None", "[]", "a=b", "a=width:1e-300", "a=width:0",
    "age=10", "age=width:nan", "age=exact", "18446744073709551616", "-9223372036854775809", "0.1000000000000000055", "%", "\u0663",
)  # fmt: skip
WORDS = (
    None, True, False, 0, -1, 0.5, 1e308, -0.0, "", "x", [], {}, [[]], {"": {}}, "\ud800", "9" * 5_000, "\x1b[31m", "\u202e", 10**400, 2**64, "NaN",
    "2026-13-45", [None], [1, "a", {}], {"value": None},
)  # fmt: skip
_RAW = (
    b"NaN",
    b"Infinity",
    b"1e400",
    b"-1e400",
    b"9" * 4_400,
    b'"\\ud800"',
    b"[" * 3_000,
    b'{"a":' * 2_000,
    b"\xff\xfe",
    b'"',
    b"01",
    b"1.",
    b"",
)


def damaged_bytes(rng: random.Random, data: bytes) -> bytes:
    """Flip, drop, repeat, insert or cut."""
    held = bytearray(data)
    for _ in range(rng.choice((1, 1, 1, 2, 3, 8))):
        place = rng.randrange(len(held) + 1)
        width = rng.choice((1, 1, 2, 4, 16, 200))
        kind = rng.randrange(6)
        if kind == 0 and held:
            held[place % len(held)] ^= 1 << rng.randrange(8)
        elif kind == 1:
            del held[place : place + width]
        elif kind == 2:
            held[place:place] = held[place : place + width]
        elif kind == 3:
            held[place:place] = rng.choice(
                (b'"', b"\x00", b"\n", b"\r", b",", b"\xff", b"\xef\xbb\xbf", rng.randbytes(width))
            )
        elif kind == 4:
            del held[place:]
        else:
            held[place : place + width] = rng.randbytes(width)
    return bytes(held)


def damaged_json(rng: random.Random, document: Any) -> bytes:
    """Change, drop, double or replace parts of a document, and now and then its bytes."""
    changed = json.loads(json.dumps(document))
    marks = []
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        holder, key = _somewhere(rng, changed)
        if holder is None or rng.random() < 0.02:
            changed = copy.deepcopy(rng.choice(WORDS))
            break
        kind = rng.randrange(5)
        if kind == 0:
            del holder[key]
        elif kind == 1 and isinstance(holder, dict):
            holder[rng.choice(("extra", "", "\ud800", "value", "schema", "\u202e"))] = copy.deepcopy(rng.choice(WORDS))
        elif kind == 2:
            holder[key] = f"<<raw {len(marks)}>>"
            marks.append(rng.choice(_RAW))
        elif kind == 3 and type(holder[key]) in (int, float) and abs(holder[key]) < 2**64:
            holder[key] = rng.choice((-holder[key], holder[key] * 10**20, holder[key] + 0.5, 0, str(holder[key])))
        else:
            holder[key] = copy.deepcopy(rng.choice(WORDS))
    text = json.dumps(changed, ensure_ascii=rng.random() < 0.8).encode("utf-8", "surrogatepass")
    for number, mark in enumerate(marks):
        text = text.replace(f'"<<raw {number}>>"'.encode(), mark)
    if rng.random() < 0.05:  # a key that stands twice
        text = text.replace(b"{", b'{"schema": 1, "schema": "x", ', 1)
    return damaged_bytes(rng, text) if rng.random() < 0.15 else text


def _somewhere(rng: random.Random, document: Any) -> tuple[Any, Any]:
    holder, key, here = None, None, document
    while isinstance(here, dict | list) and here and (holder is None or rng.random() < 0.8):
        holder, key = here, rng.choice(list(here)) if isinstance(here, dict) else rng.randrange(len(here))
        here = here[key]
    return holder, key
