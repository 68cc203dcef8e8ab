"""The terminal view of a table of attributes: the decision, the risk, what lowers it, the columns it comes from."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from entropie.cli import output
from entropie.cli.commands import command_line
from entropie.cli.verdicts import conditions, files_text, rests_on
from entropie.words import bits, count, digits, interval, listed, percent, plural

if TYPE_CHECKING:
    from entropie.document.measured import ShareInterval
    from entropie.document.table import SensitiveColumn
    from entropie.mitigate.attribute_risk import AttributeRisk, ColumnRisk, GroupRisk, Remedy
    from entropie.table import TableAssessment

_LINES, _COLUMNS = 25, 80
_BRIEFER = ((6, 3), (4, 3), (3, 2), (2, 1), (0, 2), (0, 1), (0, 0))
"""How many columns and remedies are shown, until all fits a screen."""
_SHOWN_NOTES = 2
_SHOWN_SENSITIVE = 2
_NOT_COVERED = (
    "Not covered: attackers who know other columns or only know these roughly; what else the table then reveals about "
    "a person."
)
_READING = (
    "Re-identified: by an attacker who knows these columns of everybody and picks anybody of those who fit. Unique: "
    "sharing the values with nobody; below 10: with fewer than ten, themselves counted. Population: all those whom "
    "these people are a sample of; there the bits are more, because a sample lacks rare values, and there is no upper "
    "end where these may be any number. Adds: bits lost when the column alone is dropped; average: the same over "
    "all orders in which columns become known."
)


def attributes_text(
    result: TableAssessment, files: Sequence[Path] = (), verbose: bool = False, safer: str | None = None
) -> str:
    """The first screen, as brief as it takes to fit; with `verbose` all that stands behind it. `safer` is the command
    that makes a safer table, where there is room for it.
    """
    if verbose:
        return _text(result, files, None, safer)
    wide = safer is not None and max(map(len, command_line("Lower:", safer).splitlines())) > _COLUMNS
    commands = (None,) if wide else (safer, None)
    tried = [(shown, command) for shown in _BRIEFER for command in commands]
    texts = (_text(result, files, shown, command) for shown, command in tried)
    return next((text for text in texts if text.count("\n") < _LINES), _text(result, files, *tried[-1]))


def _text(result: TableAssessment, files: Sequence[Path], shown: tuple[int, int] | None, safer: str | None) -> str:
    """All of it, or so many columns and remedies."""
    helping = [remedy for remedy in result.remedies if remedy.success_drop > 0.0]
    columns, remedies = (len(result.columns), len(helping)) if shown is None else shown
    notes = [output.paragraph(note) for column in result.columns if (note := _note(column))]
    if shown is not None and len(notes) > _SHOWN_NOTES:
        notes[_SHOWN_NOTES - 1 :] = [f"{plural(len(notes) - _SHOWN_NOTES + 1, 'more such column')}: --verbose"]
    parts = [
        *_verdict(result, all_of_it=shown is None),
        "\n".join(map(output.paragraph, result.sentences)),
        "\n".join([_input(result), *notes]),
    ]
    if shown is None:
        parts.append("\n".join(_all_columns(result)))
        if len(result.columns) > 1:
            parts += ["\n".join(_set_table(result)), "\n".join(_attacker_table(result))]
            parts.append(output.paragraph(_order_sentence(result)))
        parts += measure_parts(result)
    elif columns:
        parts.append("\n".join(_main_columns(result, columns)))
    if shown is not None and result.sensitive:
        parts.append("\n".join(map(output.paragraph, map(_learned, result.sensitive[:_SHOWN_SENSITIVE]))))
    if helping[:remedies]:
        parts.append("\n".join(_remedy_table(result, helping[:remedies])))
    foot = f"{_reading(result)} {_NOT_COVERED}" if shown is None else f"{_NOT_COVERED} More: --verbose"
    return "\n\n".join([*parts, output.paragraph(foot), *_next(result, files, safer)])


def _verdict(result: TableAssessment, *, all_of_it: bool) -> list[str]:
    """The decision and what it rests on."""
    verdict = result.document["verdict"]
    if verdict is None:
        return []
    lines = [output.paragraph(line) for line in (verdict["headline"], *conditions(verdict))]
    if all_of_it:
        lines += rests_on(result.document)
    return ["\n".join(lines)]


def _input(result: TableAssessment) -> str:
    sizes = f"{plural(result.people, 'person', 'people')}, {plural(len(result.columns), 'column')}"
    excluded = [f"excluded: {plural(rows, 'row')}, {reason}" for reason, rows in result.input.dropped.items()]
    return "\n".join([f"{output.name(result.input.name)}: {sizes}", *excluded])


def _next(result: TableAssessment, files: Sequence[Path], safer: str | None) -> list[str]:
    """What to do now, and where to read more."""
    lower, verdict = "entropie generalise", result.verdict
    if verdict is None:
        lines = [f"Next:   judge it (--profile ema), lower it ({lower})"]
    elif verdict.decision.startswith("PASS"):
        lines = []
    elif verdict.decision == "INCONCLUSIVE" and verdict.goal is None:
        lines = ["Next:   settle what is open (above); what was counted is within the limit"]
    else:
        lines = [f"Next:   lower it ({lower}{'' if verdict.goal is None else f' {verdict.goal}'})"]
    if safer is not None and lines and lower in lines[-1]:
        lines.append(command_line("Lower:", safer))
    lines += files_text(files)
    return ["\n".join(lines)] if lines else []


def _note(column: ColumnRisk) -> str:
    """What a reader must know of a column before its numbers; nothing where it is plain."""
    from entropie.mitigate.attribute_table import BANDS

    if column.identifier:
        other = f" or cut it into bands (--bins {column.name}=10)" if column.kind == "numbers" else ""
        other = " or release its bands alone" if column.bands is not None else other
        return f"{column.name}: different for everybody, an identifier; drop it{other}"
    if column.kind == "codes" and column.values > BANDS:
        cut = f"; if they are numbers: --bins {column.name}=10" if column.can_be_banded else ""
        return f"{column.name}: {count(column.values)} different codes, not cut into bands{cut}"
    return ""


def _main_columns(result: TableAssessment, most: int) -> list[str]:
    """The most identifying columns, as they stand and in bands."""
    columns = sorted(result.columns, key=lambda column: -column.alone.bits)
    banded = any(column.banded is not None for column in columns)
    rows = [
        [
            column.name,
            count(column.values),
            bits(column.alone.bits),
            percent(column.alone.success),
            *(_band_cells(column)[::2] if banded else []),
        ]
        for column in columns[:most]
    ]
    more = len(columns) - len(rows)
    rest = f" ({plural(more, 'more column')}: --verbose)" if more else ""
    headers = ["column", "values", "bits", "re-identified", *(["in bands of", "re-identified"] if banded else [])]
    return [f"Most identifying columns first, of {bits(result.name_bits)} bits{rest}:", output.table(headers, rows)]


def _all_columns(result: TableAssessment) -> list[str]:
    """Every column as it stands; what it adds, and what it says in bands."""
    risks = [[column.name, count(column.values), *_risk_cells(column.alone)] for column in result.columns]
    adds = [
        [
            column.name,
            output.plain_bits(column.adds_bits),
            "" if column.average_bits is None else output.plain_bits(column.average_bits),
            *_band_cells(column),
        ]
        for column in result.columns
    ]
    return [
        output.table(["column", "values", *_RISK_HEADERS], risks),
        "",
        output.table(["column", "adds bits", "average bits", "in bands of", "bits", "re-identified"], adds),
    ]


def _band_cells(column: ColumnRisk) -> list[str]:
    from entropie.mitigate.attribute_risk import width_text

    if column.banded is None or column.band_width is None:
        return ["", "", ""]
    return [width_text(column.band_width), output.plain_bits(column.banded.bits), percent(column.banded.success)]


_RISK_HEADERS = ["bits", "population", "re-identified", "unique", "below 10"]


def _risk_cells(risk: GroupRisk) -> list[str]:
    high = "?" if risk.bits_high is None else output.plain_bits(risk.bits_high)
    return [
        output.plain_bits(risk.bits),
        f"{output.plain_bits(risk.bits_low)} to {high}",
        percent(risk.success),
        percent(risk.unique_share),
        percent(risk.small_share),
    ]


def _set_table(result: TableAssessment) -> list[str]:
    """The riskiest set of every size, and all columns."""
    by_size: dict[int, list[GroupRisk]] = {}
    for risk in (*result.sets, result.together):
        by_size.setdefault(len(risk.columns), []).append(risk)
    riskiest = [max(risks, key=lambda risk: (risk.success, risk.bits)) for risks in by_size.values()]
    rows = [[listed(risk.columns), *_risk_cells(risk)] for risk in riskiest]
    return ["Riskiest set of each size:", output.table(["columns", *_RISK_HEADERS], rows)]


def _attacker_table(result: TableAssessment) -> list[str]:
    """What some random columns give away."""
    rows = [
        [row.knows, f"{percent(row.reidentified.value)} ({interval(row.reidentified)})", percent(row.unicity.value)]
        for row in result.attackers
    ]
    return [
        "Some columns known, whichever they are:",
        output.table(["attacker knows", "re-identified", "unique"], rows),
    ]


def _order_sentence(result: TableAssessment) -> str:
    steps = [f"{step.column} (+{output.plain_bits(step.adds_bits)} bits)" for step in result.greedy]
    return f"Most identifying order: {', then '.join(steps)}."


def _remedy_table(result: TableAssessment, remedies: Sequence[Remedy]) -> list[str]:
    before = [
        *(["without identifiers"] if result.without_identifiers is not None else []),
        *(["in bands"] if result.banded is not None else []),
    ]
    start = f"Once {listed(before)} ({percent(result.start.success)})" if before else "To lower the risk"
    rows = [
        [
            f"{remedy.column}: {remedy.how}",
            percent(remedy.success),
            percent(remedy.unique_share),
            output.plain_bits(remedy.bits_given_up),
        ]
        for remedy in remedies
    ]
    headers = ["next step", "re-identified", "unique", "bits lost"]
    return [f"{start}, most risk removed per bit lost first:", output.table(headers, rows)]


def _reading(result: TableAssessment) -> str:
    return (
        f"Bits: what is known about who a person is, exact for these people; {output.plain_bits(result.name_bits)} "
        f"identify anybody here. {_READING}"
    )


def measure_parts(result: AttributeRisk) -> list[str]:
    """Classes and records, sensitive columns, the population, joined rows: what was asked for."""
    records = [output.paragraph(risk.meaning) for risk in result.record_risk]
    parts = ["\n".join(_classes(result)), "\n".join(records)]
    if result.sensitive:
        parts += ["\n".join(_diversity(result)), "\n".join(_inference(result))]
    if result.population is not None:
        parts.append(output.paragraph(result.population.meaning))
    if result.estimate is not None:
        parts.append(output.paragraph(result.estimate.meaning))
    if result.links:
        parts.append("\n".join(_links(result)))
    return parts


def _classes(result: AttributeRisk) -> list[str]:
    rows = [
        [_sizes(row.at_least, row.at_most), count(row.classes), count(row.people), percent(row.people / result.people)]
        for row in result.anonymity.sizes
    ]
    return [output.paragraph(result.anonymity.meaning), output.table(["class of", "classes", "people", "share"], rows)]


def _sizes(low: int, high: int | None) -> str:
    return f"{count(low)} or more" if high is None else count(low) if high == low else f"{count(low)} to {count(high)}"


def _diversity(result: AttributeRisk) -> list[str]:
    rows = [
        [
            one.column,
            count(one.distinct_l),
            f"{one.entropy_l:.2f}",
            "; ".join(f"({digits(row.c, 2)}, {row.different})" for row in one.recursive) or "none",
            f"{one.t:.3f} ({one.distance})",
            percent(one.disclosed),
        ]
        for one in result.sensitive
    ]
    head = "Sensitive columns: values in the class with fewest (l), entropy l, c that must be exceeded, t, given away:"
    return [output.paragraph(head), output.table(["column", "l", "entropy l", "(c, l)", "t", "given away"], rows)]


def _learned(one: SensitiveColumn) -> str:
    """What the columns tell of a sensitive one, in a sentence."""
    found = one.inference
    return (
        f"{one.column}: guessed right for {_share(found.in_table)} of people, without the columns for "
        f"{percent(found.baseline.value)}; the group with fewest values of it has {count(one.distinct_l)}."
    )


def _inference(result: AttributeRisk) -> list[str]:
    rows = []
    for one in result.sensitive:
        found = one.inference
        near = "" if found.tolerance is None else f" within {digits(found.tolerance)}"
        shares = (found.in_table, found.left_out)
        rows.append([f"{one.column}{near}", *map(_share, shares), percent(found.baseline.value)])
    head = "Guessed right from the columns: people in the table, people left out of it (control), without the columns:"
    return [output.paragraph(head), output.table(["column", "in the table", "left out", "without"], rows)]


def _links(result: AttributeRisk) -> list[str]:
    rows = [
        [
            f"{listed(link.left)}: {listed(link.right)}",
            percent(link.linked.value),
            _share(link.linked_half),
            _share(link.left_out),
            percent(link.chance),
        ]
        for link in result.links
    ]
    head = (
        "Rows joined right from two sets of columns: all people; half of them; people left out of it (control); chance:"
    )
    return [output.paragraph(head), output.table(["columns", "all", "half", "left out", "chance"], rows)]


def _share(found: ShareInterval) -> str:
    return f"{percent(found.value)} ({interval(found)})"
