r"""Verdicts as Markdown, for the summary of a pull request: one line to read, a table, and what each rests on.

Names and sentences hold what others wrote (files, limits, people): nothing in them becomes markup, a link, a picture, a
mention of somebody or a reference to an issue.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence

from entropie.atomic import write_file
from entropie.errors import printable
from entropie.gate.judged import Judged, worst
from entropie.words import interval, percent, plural, stated

_MARKUP = re.compile(r"[\\`*_\[\]<>#!|~&$]|:(?=/)|(?<=[wW]{3})\.")
_CALLS = re.compile(r"([@#])(?=\w)")
_JOINER = "\N{WORD JOINER}"  # nobody sees it, and behind it no name is a mention
_WORDS = {0: "PASS", 1: "FAIL", 2: "ERROR", 3: "INCONCLUSIVE", 70: "ERROR"}
_STANDS = {"PASS (limited)": "limited", "WAIVED": "waived", "NO LIMIT": "without a limit"}


def plain(text: str) -> str:
    r"""A text that Markdown shows as it is.

    >>> plain("<b>a|b</b> @team")
    '\\<b\\>a\\|b\\</b\\> @\u2060team'
    """
    escaped = _MARKUP.sub(lambda found: f"\\{found[0]}", printable(text))
    return _CALLS.sub(rf"\1{_JOINER}", escaped)


def code(text: str) -> str:
    """A name as code, in a table too."""
    shown = printable(text).replace("|", "\\|")
    fence = "`" * (1 + max((len(run) for run in re.findall("`+", shown)), default=0))
    space = " " if shown.startswith("`") or shown.endswith("`") else ""
    return f"{fence}{space}{shown}{space}{fence}"


def markdown(judged: Sequence[Judged], title: str) -> str:
    """The decision, a table with a row for each, and what those rest on that are no plain PASS."""
    lines = [
        f"### {judged[0].decision if len(judged) == 1 else headline(judged)}",
        "",
        f"entropie, {code(title)}",
        "",
        *_table(judged),
    ]
    for one in judged:
        if one.decision != "PASS":
            lines += ["", f"**{plain(one.decision)}** {code(one.name)}: {plain(one.sentence)}", ""]
            lines += [f"- {plain(detail)}" for detail in one.details if detail]
    return "\n".join(lines).rstrip("\n") + "\n"


def write_markdown(path: str | os.PathLike[str], judged: Sequence[Judged], title: str) -> None:
    """Write it whole or not at all."""
    write_file(path, markdown(judged, title))


def headline(judged: Sequence[Judged]) -> str:
    """The decision on all of them, and how many have which: `FAIL: of 3 limits 1 not met, 2 met`."""
    shown = _WORDS[worst(one.code for one in judged)]
    named = {70: "met an error of the program", 2: "could not be judged", 1: "not met", 3: "cannot be told", 0: "met"}
    counts = {code: sum(one.code == code for one in judged) for code in named}
    parts = [f"{number} {named[code]}" for code, number in counts.items() if number]
    aside = [f"{sum(one.decision == word and not one.code for one in judged)} {told}" for word, told in _STANDS.items()]
    aside = [part for part in aside if not part.startswith("0 ")]
    more = f" ({', '.join(aside)})" if aside else ""
    return f"{shown}: of {plural(len(judged), 'limit')} {', '.join(parts)}{more}"


def _table(judged: Sequence[Judged]) -> list[str]:
    head = ["| decision | data | re-identified | 95 % CI | limit |", "|---|---|--:|--:|--:|"]
    return head + [f"| {plain(one.decision)} | {code(one.name)} | {' | '.join(cells(one))} |" for one in judged]


def cells(one: Judged) -> tuple[str, str, str]:
    """The number judged, its interval, and the limit, as tables have them; empty where there is none."""
    limit = "" if one.limit is None else stated(one.limit)
    if one.risk is None:
        return "", "", limit
    ends = "counted" if one.risk.low == one.risk.high else interval(one.risk, beside=one.limit)
    return percent(one.risk.value, beside=one.limit), ends, limit
