"""Every number on the page is one of the document, at the place the page says, formatted by an independent hand."""

from __future__ import annotations

import re

import pytest
import report_documents as documents
import report_marks as marks
from real_documents import real

from entropie.page import render

CASES = {
    "plain": documents.plain,
    "PASS": lambda: documents.full("PASS"),
    "FAIL": documents.full,
    "INCONCLUSIVE": lambda: documents.full("INCONCLUSIVE"),
    "declared": lambda: documents.full(profile="ema", attempt_probability=0.04),
    "other attacks": lambda: real("--matcher", "visit", "--knowledge", "maximum", "--targets", "40", "--no-control"),
}
CONSTANTS = {
    "95",  # the level of every interval
    "90",  # what --protect 0.9 means
    "05/2014",  # the opinion
    "29",  # of the Article 29 Working Party
    "SHA-256",
    "11.2", "20.0", "23.2",  # published bits
    "5", "10", "20",  # equal-error rates of the reference curves
    "100",  # top 20 and top 100 items; at 100 % nothing is left
}  # fmt: skip


@pytest.fixture(scope="module", params=CASES, ids=str)
def case(request):
    document = CASES[request.param]()
    return document, marks.read(render(document))


def test_every_marked_number_is_the_documents(case):
    document, page = case
    assert len(page.marks) > 100
    for path, form, shown in page.marks:
        assert shown == marks.OWN_FORMATS[form](marks.at(document, path)), (path, form)


def unmarked(page: marks.Reader) -> set[str]:
    words = set()
    for text in page.loose:
        words.update(re.findall(r"[\w./-]*\d[\w./-]*", text.replace("\N{NO-BREAK SPACE}", " ")))
    return {word.strip(".-") for word in words} - CONSTANTS


def test_no_number_is_unmarked(case):
    _, page = case
    assert unmarked(page) == set()


def test_the_check_for_unmarked_numbers_sees_one():
    """A page with a number of its own making is caught by the same rule."""
    page = render(documents.plain()).replace("By chance:", "By chance 17:")
    assert unmarked(marks.read(page)) == {"17"}


def test_the_page_carries_its_document(case):
    document, page = case
    assert marks.inlined(page) == document


def test_the_numbers_that_matter_are_shown(case):
    document, page = case
    shown = {path for path, _, _ in page.marks}
    best = f"attacks.{document['strongest']}"
    wanted = {
        *(f"headline.identification_error.{end}" for end in ("value", "low", "high")),
        "guessing_error", "users", "pie_bits", "pie_null_bits", "name_bits",
        f"{best}.pse_bits.resolvable", f"{best}.equal_error_rate.value",
        "identifying_items.rare.items", "identifying_items.rare.bits",
        "input.sha256", "provenance.seed", "provenance.version", "provenance.command", "provenance.seconds",
        *(f"attacks.{i}.identification_error.value" for i in range(len(document["attacks"]))),
        *(f"identifying_items.shown.{i}.item" for i in range(len(document["identifying_items"]["shown"]))),
        *(
            f"by_known_events.{i}.identification_error.value"
            for i, row in enumerate(document["by_known_events"]) if row["train_events"]
        ),
    }  # fmt: skip
    if document["headline"]["null_identification_error"] is not None:
        wanted |= {"headline.null_identification_error"}
    if document["verdict"]:
        wanted |= {
            "verdict.decision", "verdict.limit", "verdict.profile.name", "verdict.profile.source", "verdict.whom",
            *(f"verdict.judged_risk.{end}" for end in ("value", "low", "high")),
            *(f"verdict.rests_on.{i}" for i in range(len(document["verdict"]["rests_on"]))),
            *(f"declared.{name}" for name, value in document["declared"].items() if value is not None and not isinstance(value, bool)),
            *(f"about.{name}" for name in document["about"]),
            "review.date",
            *(f"protection.{i}.attack.identification_error.value" for i in range(4)),
            *(f"frontier.{i}.bayes_error" for i in range(len(document["frontier"]))),
            *(
                f"windows.{i}.identification_error.value"
                for i, window in enumerate(document["windows"]) if window["identification_error"]
            ),
        }  # fmt: skip
    assert wanted <= shown


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (0.0, "0 %"), (1.0, "100 %"), (0.5, "50 %"), (0.57018, "57 %"), (0.9952, "99.5 %"), (0.000662, "0.07 %"),
        (7.7e-6, "0.0008 %"), (0.053, "5.3 %"), (0.01, "1 %"), (0.99984, "99.98 %"), (26.607, "2,661 %"),
    ],
)  # fmt: skip
def test_shares_in_percent(share, text):
    from entropie.words import percent

    assert percent(share) == text.replace(" %", "\N{NO-BREAK SPACE}%") == marks.percent(share)
