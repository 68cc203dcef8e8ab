"""Every number on the page is one of the document, at the place the page says, formatted by an independent hand."""

from __future__ import annotations

import re

import pytest
import report_documents as documents
import report_marks as marks

from entropie.report import render

CASES = {
    "bare": documents.bare(),
    "plain": documents.plain(),
    **{decision: documents.full(decision) for decision in ("PASS", "FAIL", "INCONCLUSIVE")},
    "current": documents.current("INCONCLUSIVE"),
    "small windows": documents.with_small_windows(),
    "short windows": documents.with_small_windows(hours=True),
}
CONSTANTS = {
    "95",  # the level of every interval
    "90",  # what --protect 0.9 means
    "05/2014",  # the opinion
    "29",  # of the Article 29 Working Party
    "SHA-256",
    "11.2", "20.0", "23.2",  # published bits
    "5", "10", "20",  # equal-error rates of the reference curves
    "100", "top-20",  # top 20 and top 100 items
    "0.9", "30d",  # options named where a part is missing
}  # fmt: skip


@pytest.fixture(scope="module", params=CASES, ids=str)
def case(request):
    document = CASES[request.param]
    return document, marks.read(render(document))


def test_every_marked_number_is_the_documents(case):
    document, page = case
    assert len(page.marks) > 100
    for path, form, shown in page.marks:
        assert shown == marks.OWN_FORMATS[form](marks.at(document, path)), (path, form)


def test_no_number_is_unmarked(case):
    _, page = case
    loose = set()
    for text in page.loose:
        loose.update(re.findall(r"[\w./-]*\d[\w./-]*", text.replace("\N{NO-BREAK SPACE}", " ")))
    assert {word.strip(".-") for word in loose} <= CONSTANTS


def test_the_check_for_unmarked_numbers_sees_one():
    """A page with a number of its own making is caught by the same rule."""
    page = render(documents.plain()).replace("Guessing names", "Guessing 17 names")
    words = {w for text in marks.read(page).loose for w in re.findall(r"\d+", text)}
    assert "17" in words - CONSTANTS


def test_the_page_carries_its_document(case):
    document, page = case
    assert marks.inlined(page) == document


def test_the_numbers_that_matter_are_shown(case):
    document, page = case
    shown = {path for path, _, _ in page.marks}
    best = f"attacks.{document['strongest']}"
    wanted = {
        "headline.identification_error.value",
        "headline.identification_error.low",
        "headline.identification_error.high",
        "headline.null_identification_error",
        "guessing_error",
        "users",
        "pie_bits",
        "name_bits",
        f"{best}.pse_bits.value",
        f"{best}.pse_bits.resolvable",
        f"{best}.equal_error_rate.value",
        "input.sha256",
        "provenance.seed",
        "provenance.version",
        "provenance.command",
        "provenance.seconds",
        *(f"attacks.{i}.identification_error.value" for i in range(6)),
    }
    if document["verdict"]:
        wanted |= {
            "verdict.decision",
            "verdict.limit",
            "verdict.profile.name",
            "verdict.profile.source",
            "verdict.profile.speaks_of",
            "verdict.judged_risk.value",
            "verdict.sentence",
            "declared.attacker",
            "declared.population",
            "declared.context",
            "declared.attempt_probability",
            "review.date",
            *(f"protection.{i}.attack.identification_error.value" for i in range(4)),
            *(f"frontier.{i}.bayes_error" for i in range(12)),
            *(f"windows.{i}.pse_bits.value" for i, window in enumerate(document["windows"]) if window["pse_bits"]),
        }
        if "people_needed" in document["verdict"]:
            wanted |= {
                "verdict.people_needed",
                "protection.2.guarantee.list_error",
                "protection.3.guarantee.list_error",
            }
    if "most_exposed" in document["headline"]:
        wanted |= {
            "headline.most_exposed.people",
            "headline.most_exposed.right.value",
            "attacker_levels.0.matchers_tried",
        }
        wanted |= {f"identifying_items.shown.{i}.bits_per_event" for i in range(6)}
    if "identifying_items" in document:
        wanted |= {"identifying_items.rare.bits", "identifying_items.other.bits"}
        wanted |= {f"identifying_items.shown.{i}.item" for i in range(6)}
        wanted |= {f"attacker_levels.{i}.identification_error.value" for i in range(3)}
    assert wanted <= shown


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (0.0, "0 %"), (1.0, "100 %"), (0.5, "50.0 %"), (0.57018, "57.0 %"), (0.9952, "99.52 %"), (0.000662, "0.066 %"),
        (7.7e-6, "0.00077 %"), (1e-9, "almost 0 %"), (1 - 1e-9, "almost 100 %"), (0.01, "1.0 %"), (0.00999, "1.00 %"),
        (26.607, "2,660.7 %"),
    ],
)  # fmt: skip
def test_shares_in_percent(share, text):
    from entropie.report.words import percent

    assert percent(share) == text.replace(" %", "\N{NO-BREAK SPACE}%") == marks.percent(share)
