"""Parquet changed where it has structure: numbers, lists, types and texts of its footer, of pages' headers, of Arrow's schema."""

from __future__ import annotations

import base64
import csv
import io
import random
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from fuzz_cases import Case, column, material, rows_of
from fuzz_nasty import MARK, TEXTS, damaged_bytes

__all__ = ["PARQUET", "changed_parquet"]

_TRUE, _FALSE, _BYTE, _SHORT, _INT, _LONG, _DOUBLE, _BINARY, _LIST, _SET, _MAP, _STRUCT = range(1, 13)
_NUMBERS = (0, 1, -1, 2, 3, 7, 16, 63, 64, 255, 2**15, 2**20, 2**24, 2**31 - 1, 2**31, -(2**31), 2**32, 2**40, 2**62, 2**63 - 1,
            -(2**63))  # fmt: skip
_GROUPS, _COLUMNS, _META, _OFFSETS, _PACKED = 4, 1, 3, (9, 10, 11), 7


@dataclass
class Struct:
    """Fields of a struct of Thrift's compact protocol: number, kind and value of each."""

    fields: list[list[Any]] = field(default_factory=list)

    def get(self, number: int) -> Any:
        """A value, or None."""
        return next((value for found, _, value in self.fields if found == number), None)


@dataclass
class Values:
    """A list: kind of its values, and how many it says that it has where it lies."""

    kind: int
    values: list[Any]
    said: int | None = None


class _Reader:
    def __init__(self, data: bytes, at: int = 0) -> None:
        self.data, self.at = data, at

    def byte(self) -> int:
        self.at += 1
        return self.data[self.at - 1]

    def unsigned(self) -> int:
        value = shift = 0
        while (byte := self.byte()) > 0x7F:
            value |= (byte & 0x7F) << shift
            shift += 7
        return value | byte << shift

    def number(self) -> int:
        value = self.unsigned()
        return (value >> 1) ^ -(value & 1)

    def bytes(self, size: int) -> bytes:
        self.at += size
        return self.data[self.at - size : self.at]

    def value(self, kind: int) -> Any:
        if kind in (_SHORT, _INT, _LONG):
            return self.number()
        if kind == _STRUCT:
            return self.struct()
        if kind == _LIST:
            head = self.byte()
            size = self.unsigned() if head >> 4 == 15 else head >> 4
            of = head & 15
            return Values(of, [self.byte() if of in (_TRUE, _FALSE) else self.value(of) for _ in range(size)])
        sizes = {_BYTE: 1, _DOUBLE: 8, _TRUE: 0, _FALSE: 0}
        return self.bytes(sizes[kind] if kind in sizes else self.unsigned())

    def struct(self) -> Struct:
        found, number = Struct(), 0
        while head := self.byte():
            number = number + (head >> 4) if head >> 4 else self.number()
            found.fields.append([number, head & 15, self.value(head & 15)])
        return found


def _unsigned(value: int) -> bytes:
    value &= 2**70 - 1
    held = bytearray()
    while value > 0x7F:
        held.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*held, value])


def _number(value: int) -> bytes:
    return _unsigned(value << 1 if value >= 0 else (-value << 1) - 1)


def _written(kind: int, value: Any) -> bytes:
    if isinstance(value, Struct):
        held, before = b"", 0
        for number, of, inner in value.fields:
            near = 0 < number - before < 16
            held += bytes([(number - before) << 4 | of]) if near else bytes([of]) + _number(number)
            held += _written(of, inner)
            before = number
        return held + b"\0"
    if isinstance(value, Values):
        size = len(value.values) if value.said is None else value.said
        head = bytes([size << 4 | value.kind]) if 0 <= size < 15 else bytes([0xF0 | value.kind]) + _unsigned(size)
        return head + b"".join(_written(value.kind, inner) for inner in value.values)
    if isinstance(value, int):
        return bytes([value & 0xFF]) if kind in (_TRUE, _FALSE) else _number(value)
    return _unsigned(len(value)) + value if kind == _BINARY else value  # type: ignore[no-any-return]


Slot = tuple[Any, int]  # a list of Python's, and which of it


def _slots(value: Any, path: tuple[int, ...], found: dict[tuple[int, ...], list[Slot]]) -> None:
    """Every field and every element, those of the same meaning together."""
    if isinstance(value, Struct):
        for place, (number, _, inner) in enumerate(value.fields):
            found.setdefault((*path, number), []).append((value.fields, place))
            _slots(inner, (*path, number), found)
    elif isinstance(value, Values):
        for place, inner in enumerate(value.values):
            found.setdefault((*path, 0), []).append((value.values, place))
            _slots(inner, (*path, 0), found)


def _other(rng: random.Random, kind: int, value: Any) -> Any:
    """What might stand in the place of a value."""
    if isinstance(value, int):
        near = (value + 1, value - 1, -value, value * 2, value // 2, value ^ 1 << rng.randrange(20), rng.randrange(40))
        return rng.choice(near) if rng.random() < 0.6 else rng.choice(_NUMBERS)
    if isinstance(value, bytes) and kind == _BINARY:
        return _other_text(rng, value)
    if isinstance(value, Values):
        way, held = rng.randrange(6), list(value.values)
        if way == 0 and held:
            del held[rng.randrange(len(held))]
        elif way == 1 and held:
            held.insert(rng.randrange(len(held)), rng.choice(held))
        elif way == 2:
            held = []
        elif way == 3:
            held *= rng.choice((2, 3, 1000))
        elif way == 4:
            return Values(
                value.kind, held, rng.choice((len(held) + 1, 0, 15, 1000, 2**31 - 1, 2**31, 2**32 - 1, 2**40))
            )
        else:
            return Values(rng.randrange(1, 13), held)
        return Values(value.kind, held)
    if isinstance(value, Struct):
        held = [list(one) for one in value.fields]
        way = rng.randrange(4)
        if way == 0 and held:
            del held[rng.randrange(len(held))]
        elif way == 1 and held:
            rng.choice(held)[0] = rng.randrange(1, 18)
        elif way == 2 and held:
            held.insert(rng.randrange(len(held) + 1), list(rng.choice(held)))
        else:
            extra = rng.choice(([_INT, rng.choice(_NUMBERS)], [_LONG, rng.choice(_NUMBERS)], [_STRUCT, Struct()], [_TRUE, b""],
                                [_BINARY, b"x"], [_STRUCT, Struct([[1, _STRUCT, Struct()]])], [_LIST, Values(_LONG, [1, 2])]))  # fmt: skip
            held.append([rng.randrange(1, 18), *extra])
        return Struct(sorted(held, key=lambda one: one[0]) if rng.random() < 0.8 else held)
    return rng.randbytes(len(value))


def _other_text(rng: random.Random, value: bytes) -> bytes:
    """Arrow's schema with some of its numbers changed, or any text or none."""
    try:
        schema = bytearray(base64.b64decode(value, validate=True)) if len(value) > 200 else bytearray()
    except ValueError:
        schema = bytearray()
    if schema and rng.random() < 0.8:
        for _ in range(rng.choice((1, 1, 2, 4))):
            width = rng.choice((1, 1, 2, 4, 8))
            place = rng.randrange(len(schema) // width) * width
            old = int.from_bytes(schema[place : place + width], "little")
            new = rng.choice(
                (old + 1, old - 1, old + 4, old * 2, 0, 2 ** (8 * width) - 1, 2 ** (8 * width - 1), rng.randrange(64))
            )
            schema[place : place + width] = (new % 2 ** (8 * width)).to_bytes(width, "little")
        return base64.b64encode(schema)
    ways = (damaged_bytes(rng, value), b"", value * 2, value[:-1], b"\xff" * len(value), rng.randbytes(rng.choice((1, 4, 8, 16, 1000))),
            rng.choice(TEXTS).encode("utf-8", "replace"), b"\x00" * len(value))  # fmt: skip
    return rng.choice(ways)


def _change(rng: random.Random, tree: Struct) -> None:
    """Change one to four places; what stands there often is drawn no more often than what stands there once."""
    for _ in range(rng.choice((1, 1, 1, 2, 3, 4))):
        found: dict[tuple[int, ...], list[Slot]] = {}
        _slots(tree, (), found)
        holder, place = rng.choice(found[rng.choice(list(found))])
        drawn = rng.random()
        if drawn < 0.1:
            del holder[place]
        elif isinstance(holder[place], list):  # a field
            number, kind, value = holder[place]
            if drawn < 0.15:
                kind = rng.randrange(1, 13)
            elif kind in (_TRUE, _FALSE):
                kind = _TRUE + _FALSE - kind
            else:
                value = _other(rng, kind, value)
            holder[place] = [number, kind, value]
        else:
            kind = _BINARY if isinstance(holder[place], bytes) else _LONG
            holder[place] = _other(rng, kind, holder[place])


def _pages(data: bytes, footer: Struct) -> list[tuple[int, Struct]]:
    """Where pages' headers are, and in which column chunk."""
    found = []
    for group in footer.get(_GROUPS).values:
        for chunk in group.get(_COLUMNS).values:
            meta = chunk.get(_META)
            at = min(offset for offset in map(meta.get, _OFFSETS) if offset)
            end = at + meta.get(_PACKED)
            while at < end:
                found.append((at, meta))
                header = _Reader(data, at)
                at = header.struct().get(3) + header.at
    return found


def _with_other_page(rng: random.Random, data: bytes, footer: Struct) -> bytes:
    """Change a page's header, and move what comes after it."""
    at, meta = rng.choice(_pages(data, footer))
    reader = _Reader(data, at)
    header = reader.struct()
    _change(rng, header)
    text = _written(_STRUCT, header)
    longer = len(text) - (reader.at - at)
    for group in footer.get(_GROUPS).values:
        for chunk in group.get(_COLUMNS).values:
            for one in chunk.get(_META).fields:
                if (one[0] in _OFFSETS and one[2] > at) or (one[0] == _PACKED and chunk.get(_META) is meta):
                    one[2] += longer
    return data[:at] + text + data[reader.at :]


def changed_parquet(rng: random.Random, data: bytes) -> bytes:
    """The same file with another footer, other headers of pages, or both."""
    size = int.from_bytes(data[-8:-4], "little")
    footer = _Reader(data[-8 - size : -8]).struct()
    data, way = data[: -8 - size], rng.random()
    if way < 0.4:
        data = _with_other_page(rng, data, footer)
    if way > 0.35:
        _change(rng, footer)
    text = _written(_STRUCT, footer)
    return data + text + len(text).to_bytes(4, "little") + b"PAR1"


def _stored(rng: random.Random, names: list[str], rows: list[list[str]]) -> bytes:
    """A table in any of the ways in which Parquet writes one, then changed."""
    plain = rng.random() < 0.7  # what is refused for its type is not decoded
    arrays = [pa.array(texts) if plain else column(rng, list(texts)) for texts in zip(*rows, strict=True)]
    held = io.BytesIO()
    dictionary = rng.random() < 0.6
    table = pa.Table.from_arrays(arrays, names)
    encodings = {
        name: rng.choice(("DELTA_BYTE_ARRAY", "DELTA_LENGTH_BYTE_ARRAY", "PLAIN"))
        for name, array in zip(names, arrays, strict=True)
        if pa.types.is_string(array.type)
    }
    if dictionary or rng.random() < 0.5:
        encodings = None  # type: ignore[assignment]
    pq.write_table(
        table,
        held,
        compression=rng.choice(("snappy", "zstd", "none", "none", "gzip", "brotli", "lz4")),
        row_group_size=rng.choice((7, 20, 1_000)),
        use_dictionary=dictionary,
        column_encoding=encodings,
        data_page_version=rng.choice(("1.0", "2.0")),
        write_page_index=rng.random() < 0.3,
        write_page_checksum=rng.random() < 0.2,
        store_schema=rng.random() < 0.8,
        write_statistics=rng.random() < 0.9,
    )
    return changed_parquet(rng, held.getvalue())


def _parquet(rng: random.Random) -> Case:
    """A changed file for each command that reads Parquet."""
    doors = (_of_events, _of_events, _of_events, _of_people, _of_reports)
    command, files = rng.choice(doors)(rng)
    return Case("parquet", [*command, "--memory", "200MB", "--json"], files, frozenset({0, 1, 2, 3}))


def _of_events(rng: random.Random) -> tuple[list[str], dict[str, bytes]]:
    files = {"e.parquet": _stored(rng, ["user", "item", "time"], rows_of(rng))}
    named = [
        "--user",
        "user",
        "--item",
        "item",
        "--min-events",
        "2",
        *(["--time", "time"] if rng.random() < 0.7 else []),
    ]
    read = ["e.parquet", *named, "--max-dirty-share", "1"]
    limit = ["--limit", "99%", "--limit-name", "rule", "--fail-on", "average"]
    assessed = ["--matcher", "visit", "--no-control", "--no-report", "--out", "out"]
    ways = (
        ["assess", *read, *assessed],
        ["assess", *read, *assessed],
        ["sweep", *read, "--top", "3", "--only", *limit, "--out", "out"],
        [
            "obfuscate",
            "e.parquet",
            "--column",
            "item",
            "--mechanism",
            "rr",
            "--epsilon",
            "2",
            "--out",
            "r.csv",
            "--dictionary",
            "d.csv",
        ],
        ["assess", "k.csv", *named, *assessed, "--known", "e.parquet"],
    )
    command = rng.choice(ways)
    return command, files | ({"k.csv": material()["swept.csv"]} if "k.csv" in command else {})


def _of_people(rng: random.Random) -> tuple[list[str], dict[str, bytes]]:
    people = [[f"{MARK}-{one}", str(one * 7 % 90), "mf"[one % 2], f"{one % 10:05d}"] for one in range(40)]
    files = {"p.parquet": _stored(rng, ["id", "age", "sex", "postcode"], people)}
    read = ["p.parquet", "--id", "id", "--columns", "age,sex,postcode", "--out", "out"]
    return rng.choice((["attributes", *read], ["generalise", *read, "--k", "4"])), files


def _of_reports(rng: random.Random) -> tuple[list[str], dict[str, bytes]]:
    head, *rows = csv.reader(material()["reports.csv"].decode().splitlines())
    files = {"r.parquet": _stored(rng, head, rows), "p.json": material()["reports.csv.parameters.json"]}
    files["d.csv"] = material()["places.csv"]
    return ["estimate", "r.parquet", "--parameters", "p.json", "--dictionary", "d.csv"], files


PARQUET = {"parquet": _parquet}
