"""Rows of delimited text, counted without cutting them into fields: what the parser's count is held against."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from entropie.kernels.caching import njit

__all__ = ["ENDLESS", "MISPLACED", "SWALLOWED", "UNCLOSED", "scan_rows"]

UNCLOSED, ENDLESS, MISPLACED, SWALLOWED = 1, 2, 3, 4
_QUOTE, _RETURN, _LINE = 34, 13, 10


@njit(nogil=True, cache=True)
def scan_rows(
    data: NDArray[np.uint8], delimiter: int, quoted: bool, final: bool, most_breaks: int, fields: int
) -> tuple[int, int, int, int, int, int]:
    """Walk over lines with the rules of RFC 4180: a quote at the start of a field opens it, a doubled one is a quote.

    Gives where the last whole row ends (all of it if `final`), line ends and rows up to there, and the first fault with
    the number of line ends before it: a field of more than `most_breaks` line ends (ENDLESS), one that spans lines and
    has text after its closing quote (MISPLACED), one that is open at the end (UNCLOSED), or a row over several lines
    each of which would be a row of so many `fields` by itself (SWALLOWED; not looked for below two fields). Last
    comes where the fault has been seen: the end of the row for the last kind.
    """
    size = data.shape[0]
    place, line = 0, 0
    end, lines, rows = 0, 0, 0
    breaks, opened = 0, 0
    empty, start, inside = True, True, False  # of the row; at the start of a field; in quotes
    cuts, cuts_before, rowlike = 0, 0, True  # of the line; where its field began; all lines of the row up to this one
    while place < size:
        letter = data[place]
        place += 1
        if inside:
            if letter == _QUOTE:
                if place < size and data[place] == _QUOTE:
                    place += 1
                    continue
                if place == size and not final:
                    break  # the next byte tells whether this is the end
                inside = False
                if not breaks:
                    cuts = cuts_before  # what is quoted cuts nothing
                elif place < size:
                    after = data[place]
                    if after not in (delimiter, _RETURN, _LINE):
                        return end, lines, rows, MISPLACED, opened, place
            elif letter in (_LINE, _RETURN):
                if letter == _RETURN and place < size and data[place] == _LINE:
                    place += 1
                line += 1
                breaks += 1
                if breaks > most_breaks:
                    return end, lines, rows, ENDLESS, opened, place
                rowlike &= cuts == fields - 1
                cuts = 0
            elif letter == delimiter:
                cuts += 1
            continue
        if letter in (_LINE, _RETURN):
            if letter == _RETURN:
                if place == size and not final:
                    break
                if place < size and data[place] == _LINE:
                    place += 1
            if fields > 1 and line > lines and rowlike and cuts == fields - 1:
                return end, lines, rows, SWALLOWED, line + 1, place
            line += 1
            if not empty:
                rows += 1
            end, lines = place, line
            empty, start = True, True
            cuts, rowlike = 0, True
            continue
        empty = False
        if letter == delimiter:
            start = True
            cuts += 1
            continue
        if start and quoted and letter == _QUOTE:
            inside = True
            breaks = 0
            opened = line
            cuts_before = cuts
        start = False
    if final:
        if inside:
            return end, lines, rows, UNCLOSED, opened, size
        if fields > 1 and line > lines and rowlike and cuts == fields - 1:
            return end, lines, rows, SWALLOWED, line + 1, size
        if not empty:
            rows += 1
        end, lines = size, line
    return end, lines, rows, 0, 0, size
