"""When an assessment is to be looked at again: data, attackers and limits change."""

from __future__ import annotations

import datetime

from entropie.errors import InvalidInput
from entropie.gate.documents import Document

__all__ = ["assessment_date", "parse_date", "review_date"]


def parse_date(name: str, text: str) -> datetime.date:
    """A date written 2027-01-31."""
    try:
        return datetime.date.fromisoformat(text)
    except ValueError:
        raise InvalidInput(f"Option {name} must be a date such as 2027-01-31, got {text!r} instead.") from None


def assessment_date(document: Document, today: datetime.date) -> datetime.date:
    """The day of an assessment; today where its document does not say."""
    moment = assessment_moment(document)
    return today if moment is None else moment.date()


def assessment_moment(document: Document) -> datetime.datetime | None:
    """When the assessment was made, in UTC."""
    written = document.get("provenance", {}).get("date")
    if not isinstance(written, str):
        return None
    try:
        moment = datetime.datetime.fromisoformat(written)
    except ValueError:
        raise InvalidInput(f"The assessment's `provenance.date` must be a date, got {written!r} instead.") from None
    return moment.astimezone(datetime.UTC) if moment.tzinfo else moment.replace(tzinfo=datetime.UTC)


def review_date(
    document: Document,
    asked: datetime.date | None,
    today: datetime.date,
    waived_until: datetime.date | None = None,
) -> datetime.date:
    """The day asked for, else one year after the assessment or, where that is earlier, the last day of its waiver."""
    made = assessment_date(document, today)
    if asked is None:
        later = _year_later(made)
        return later if waived_until is None else min(later, waived_until)
    if asked < made:
        raise InvalidInput(f"The review date {asked} is before the assessment of {made}; name a later day.")
    return asked


def _year_later(day: datetime.date) -> datetime.date:
    try:
        return day.replace(year=day.year + 1)
    except ValueError:  # the 29th of February
        return day.replace(year=day.year + 1, day=28)
