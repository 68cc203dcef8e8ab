"""The terminal view of what holds where people send different numbers of reports."""

from __future__ import annotations

from typing import TYPE_CHECKING

from entropie import words
from entropie.cli import output

if TYPE_CHECKING:
    from entropie.document.all_reports import AllReports
    from entropie.document.ledger import SpentAlone
    from entropie.mechanisms.numbers import NumbersGuarantee


def numbers_text(given: NumbersGuarantee) -> str:
    """The number, what the numbers of reports alone tell, and every group."""
    store = given.all_reports
    stored = "reports, linked by person" if store.linked else "reports, not linked to each other"
    headline = (
        f"At most {words.percent(1.0 - store.bayes_error)} of people can be re-identified by whoever holds everybody's "
        f"{stored}, and {words.percent(1.0 - given.numbers_bayes_error)} from the number of their reports alone (by "
        f"chance: {words.percent(1.0 / given.users)})."
    )
    rows = [["all", words.count(given.users), *_bounds(store), *_bounds(given.alone)]]
    for group in given.groups:
        together = ["", ""] if group.all_reports is None else _bounds(group.all_reports)
        rows.append([words.count(group.reports), words.count(group.users), *together, *_bounds(group.alone)])
    headers = ["reports", "people", "all reports: share", "certainty", "one person's: share", "certainty"]
    remedy = (
        "Whoever sends a number of reports that few others send is known by it. Let everybody send the largest number, "
        "filled up with reports about made-up items: then --users and --reports tell what holds."
    )
    return "\n\n".join([output.paragraph(headline), output.table(headers, rows), output.paragraph(remedy)])


def _bounds(given: SpentAlone | AllReports) -> list[str]:
    """The share re-identified and the worst-case certainty, at most."""
    return [words.percent(1.0 - given.bayes_error), words.percent(given.posterior_max)]
