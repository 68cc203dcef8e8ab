"""Reads a page back: marked numbers, text that is not marked, headings. Shares no code with the report."""

from __future__ import annotations

import calendar
import json
from datetime import date
from decimal import ROUND_HALF_EVEN, Decimal
from html.parser import HTMLParser
from typing import Any

VOID = {"meta", "link", "br", "img", "hr", "input"}
SPACE = "\N{NO-BREAK SPACE}"


class Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.stack: list[tuple[str, dict[str, str | None]]] = []
        self.marks: list[tuple[str, str, str]] = []  # path, format, text
        self.loose: list[str] = []  # text of main outside marks, pictures and code of the program
        self.headings: list[tuple[int, str]] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.data = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        self.tags.append((tag, found))
        if tag in VOID:
            return
        self.stack.append((tag, found))
        if "data-path" in found:
            self.marks.append((str(found["data-path"]), str(found["data-format"]), ""))
        if tag in ("h1", "h2", "h3", "h4"):
            self.headings.append((int(tag[1]), ""))

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        while self.stack and self.stack.pop()[0] != tag:
            pass

    def handle_data(self, data: str) -> None:
        names = [tag for tag, _ in self.stack]
        if "script" in names:
            self.data += data
            return
        if any("data-path" in found for _, found in self.stack):
            path, form, text = self.marks[-1]
            self.marks[-1] = (path, form, text + data)
        elif "main" in names and "svg" not in names and "code" not in names:
            self.loose.append(data)
        if names and names[-1] in ("h1", "h2", "h3", "h4"):
            level, text = self.headings[-1]
            self.headings[-1] = (level, text + data)


def read(page: str) -> Reader:
    reader = Reader()
    reader.feed(page)
    reader.close()
    return reader


def at(document: Any, path: str) -> Any:
    for step in path.split("."):
        step = step.replace("~1", ".").replace("~0", "~")
        document = document[int(step)] if isinstance(document, list) else document[step]
    return document


def rounded(value: float, decimals: int) -> str:
    """Decimal arithmetic on the exact binary value, which is what a correct formatter rounds."""
    return f"{Decimal(value).quantize(Decimal(1).scaleb(-decimals), ROUND_HALF_EVEN):f}"


def percent(share: float) -> str:
    """Whole percent; one decimal below 10; close to 0 or 100 % so many decimals that one digit tells the gap."""
    value = Decimal(share * 100.0)
    gap = min(value, 100 - value)
    decimals = 0
    if 0 < value < 100:
        decimals = -gap.adjusted() if gap < 1 else int(value < 10)
    while True:
        whole, _, rest = rounded(share * 100.0, decimals).partition(".")
        rest = rest.rstrip("0")
        if rest or (whole, value) in (("0", 0), ("100", 100)) or whole not in ("0", "100"):
            return f"{grouped(int(whole))}{'.' if rest else ''}{rest}{SPACE}%"
        decimals += 1


def plain(share: float) -> str:
    text = rounded(share * 100.0, 8).rstrip("0").rstrip(".")
    return f"{text}{SPACE}%"


def no_minus_zero(text: str) -> str:
    return text[1:] if text.startswith("-") and not text.strip("-0.") else text


def significant(value: float, digits: int) -> str:
    if abs(value) >= 10 ** (digits - 1):
        return grouped(round(Decimal(f"{value:.{digits - 1}e}")))
    return f"{value:.{digits}g}"


def long_date(text: str) -> str:
    day = date.fromisoformat(text[:10])
    return f"{day.day} {calendar.month_name[day.month]} {day.year}"


def long_moment(text: str) -> str:
    """Moments are written in universal time, as windows have them."""
    if "T" not in text:
        return long_date(text)
    assert text.endswith("Z")
    return f"{long_date(text)}, {text.split('T')[1][:5]}{SPACE}UTC"


def duration(value: float) -> str:
    if value < 10:
        return f"{rounded(value, 1)}{SPACE}s"
    minutes, seconds = divmod(round(value), 60)
    if not minutes:
        return f"{seconds}{SPACE}s"
    hours, minutes = divmod(minutes, 60)
    return f"{hours}{SPACE}h {minutes}{SPACE}min" if hours else f"{minutes}{SPACE}min {seconds}{SPACE}s"


def grouped(number: int) -> str:
    digits, parts = str(abs(number)), []
    while digits:
        digits, parts = digits[:-3], [digits[-3:], *parts]
    return ("-" if number < 0 else "") + ",".join(parts)


def stopped(text: str) -> str:
    text = text.strip()
    return text[:1].upper() + text[1:] + (text[-1:] not in tuple(".!?")) * "."


def shortened(text: str) -> str:
    return text if len(text) <= 80 else text[:79] + "…"


OWN_FORMATS = {
    "percent": percent,
    "right": lambda error: percent(1.0 - error),
    "bare_percent": lambda share: percent(share)[:-2],
    "bare_right": lambda error: percent(1.0 - error)[:-2],
    "limit": plain,
    "bits": lambda value: no_minus_zero(rounded(value, 1)),
    "small_bits": lambda value: significant(value, 2),
    "count": grouped,
    "number": lambda value: significant(value, 3),
    "seconds": duration,
    "date": long_date,
    "moment": long_moment,
    "text": str,
    "sentence": stopped,
    "name": shortened,
    "file_name": lambda text: shortened(text.split("/")[-1]),
}


def inlined(reader: Reader) -> Any:
    return json.loads(reader.data)
