"""The part of `attributes --verbose` with the measures that the literature names, each with its sentence."""

from __future__ import annotations

from typing import TYPE_CHECKING

from entropie.cli import output
from entropie.words import count, digits, interval, listed, percent

if TYPE_CHECKING:
    from entropie.document.measured import ShareInterval
    from entropie.mitigate.attribute_risk import AttributeRisk


def measure_parts(result: AttributeRisk) -> list[str]:
    """Classes and records, sensitive columns, the population, joined rows: what was asked for."""
    parts = ["\n".join(_classes(result)), "\n".join(_records(result))]
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


def _records(result: AttributeRisk) -> list[str]:
    return [output.paragraph(risk.meaning) for risk in result.record_risk]


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
