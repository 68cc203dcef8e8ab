"""JUnit XML and Markdown, read back by parsers of others: counts, colours, and no name that becomes markup."""

from __future__ import annotations

import datetime
from xml.etree import ElementTree

import pytest
from gate_documents import headed
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from entropie.document.measured import ShareInterval
from entropie.gate.comparison import compare
from entropie.gate.judge import Gate
from entropie.gate.judged import WORST_FIRST, Judged, worst
from entropie.gate.junit import junit
from entropie.gate.markdown import code, markdown, plain
from entropie.request import Limits

NOW = datetime.datetime(2026, 11, 18, 12, tzinfo=datetime.UTC)
NASTY = (
    "a|b", "</failure><x/>", "]]>", "\x00\x1b[31m\x7f", "\ufffe\ud800", "<script>alert(1)</script>", "[x](javascript:1)",
    "![p](https://evil/x.png)", "`code`", "``", "| --- |", "line\nbreak\r\n# head", "@team", "#12", "https://evil.example",
    "www.evil.example", "&lt;b&gt;", "\u202egnp.exe", "\\", "*bold* _it_ ~~s~~ $x$", "<!-- c -->", "'\"",
)  # fmt: skip


def case(name: str = "visits", decision: str = "FAIL", code: int = 1, **more) -> Judged:
    return Judged(name, "assess", decision, code, f"limit of {name}", (f"rests on {name}",), **more)


def shown(text: str) -> tuple[str, set[str]]:
    """The text that a reader of this Markdown sees, and the tags it is set in."""
    parsed = MarkdownIt("commonmark", {"html": True}).enable("table").enable("strikethrough")
    words, tags = [], set()
    for token in parsed.parse(text):
        tags.add(token.tag)
        for inner in token.children or []:
            tags.add(inner.tag or inner.type)
            words.append(inner.content)
        words.append("\n")
    return "".join(words), tags


@pytest.mark.parametrize("order", [[0], [0, 3], [3, 1, 0], [1, 3, 2, 0], []])
def test_one_exit_code(order):
    ranked = [code for code in WORST_FIRST if code in order]
    assert worst(order) == (ranked[0] if ranked else 0)
    assert WORST_FIRST == (70, 2, 1, 3, 0)


def test_a_case_is_red_where_the_exit_code_is_not_zero():
    judged = [
        case("met", "PASS", 0),
        case("limited, accepted", "PASS (limited)", 0),
        case("limited", "PASS (limited)", 3),
        case("waived", "WAIVED", 0),
        case("no limit", "NO LIMIT", 0),
        case("open", "INCONCLUSIVE", 3),
        case("failed", "FAIL", 1, seconds=1.5),
        Judged.failed("broken", "assess", "b.csv does not exist."),
        case("undecided", "undecided", 0),
    ]
    root = ElementTree.fromstring(junit(judged, "suite.toml", NOW))
    (suite,) = root
    counts = {"tests": "9", "failures": "3", "errors": "1", "time": "1.500"}
    assert counts.items() <= root.attrib.items()
    assert suite.attrib == {**counts, "name": "suite.toml", "skipped": "2", "timestamp": "2026-11-18T12:00:00"}
    marks = {test.get("name"): [(mark.tag, mark.get("type")) for mark in test] for test in suite}
    assert marks == {
        "met": [("system-out", None)],
        "limited, accepted": [("system-out", None)],
        "limited": [("failure", "PASS (limited)")],
        "waived": [("system-out", None)],
        "no limit": [("skipped", None)],
        "open": [("failure", "INCONCLUSIVE")],
        "failed": [("failure", "FAIL")],
        "broken": [("error", "ERROR")],
        "undecided": [("skipped", None)],
    }
    for one, test in zip(judged, suite, strict=True):
        assert (test[0].tag in ("failure", "error")) == (one.code != 0)
        assert test[0].text == "\n".join([one.sentence, *one.details])


@given(st.one_of(st.sampled_from(NASTY), st.text(st.characters(categories=None), max_size=40)))
def test_no_name_breaks_the_xml(name):
    root = ElementTree.fromstring(junit([case(name)], name, NOW).encode())
    assert [element.tag for element in root.iter()] == ["testsuites", "testsuite", "testcase", "failure"]


@pytest.mark.parametrize("name", NASTY)
def test_no_name_becomes_markup(name):
    text = markdown([case(name, decision="INCONCLUSIVE", code=3)], name)
    assert "\r" not in text
    plain_case, tags = shown(markdown([case("visits", decision="INCONCLUSIVE", code=3)], "visits"))
    words, found = shown(text)
    assert found == tags  # the same structure as with a harmless name
    assert not {"a", "img", "html_inline", "html_block", "link_open", "s"} & found
    assert words.count("\n") == plain_case.count("\n")


@given(st.text(st.characters(codec="utf-8"), max_size=30))
def test_plain_text_reads_as_it_was(text):
    from entropie.errors import printable

    words, _ = shown(f"x {plain(text)} x")
    assert words.strip().replace("\N{WORD JOINER}", "") == f"x {printable(text)} x".replace("\N{WORD JOINER}", "")


def test_nobody_is_called_and_nothing_linked():
    assert "@\N{WORD JOINER}team" in plain("@team")
    assert "#\N{WORD JOINER}12" in plain("fixes #12")
    assert plain("https://evil.example www.evil.example") == "https\\://evil.example www\\.evil.example"
    assert code("a`b|c") == "``a`b\\|c``"


def test_a_table_with_the_number_and_the_limit():
    risk = ShareInterval(0.96, 0.93, 0.98)
    text = markdown([case(risk=risk, limit=0.09), case("clicks", "PASS", 0)], "suite.toml")
    lines = text.replace("\N{NO-BREAK SPACE}", " ").splitlines()
    assert lines[0] == "### FAIL: of 2 limits 1 not met, 1 met"
    assert lines[4:8] == [
        "| decision | data | re-identified | 95 % CI | limit |",
        "|---|---|--:|--:|--:|",
        "| FAIL | `visits` | 96 % | 93 to 98 % | 9 % |",
        "| PASS | `clicks` |  |  |  |",
    ]
    assert "rests on visits" in text
    assert "rests on clicks" not in text  # a plain PASS needs no words


def test_of_an_assessment_and_a_comparison():
    document = Gate.of(Limits(profile="ema")).applied(headed())
    judged = Judged.of_assessment(document)
    assert (judged.decision, judged.code) == ("FAIL", 1)
    assert judged.limit == 0.09
    assert judged.sentence.startswith("ema limit 9")
    without = Judged.of_assessment(headed() | {"verdict": None})
    assert (without.decision, without.code, without.risk) == ("NO LIMIT", 0, None)
    compared = Judged.of_comparison(compare(headed(), headed()).to_json(), 0)
    assert compared.decision == "unchanged"
    (test,) = ElementTree.fromstring(junit([compared], "compare", NOW))[0]
    assert test[0].tag == "system-out"
