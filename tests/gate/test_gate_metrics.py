"""The metrics file, read back by a strict parser of the text format that shares no code with the writer."""

from __future__ import annotations

import datetime
import re

import pytest
from gate_documents import GROUPS, SHA, headed, wilson

from entropie.errors import InvalidInput
from entropie.gate.judge import Gate
from entropie.gate.metrics import exposition, write_metrics
from entropie.gate.profiles import PROFILES, own_profile
from entropie.gate.waiver import Waiver

NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
NUMBER = r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?"
PAIR = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"(,|$)')
SAMPLE = re.compile(rf'({NAME})(?:\{{((?:[^"}}]|"(?:[^"\\\n]|\\["\\n])*")*)\}})? ({NUMBER})')
UNITS = (
    "_ratio",
    "_bits",
    "_seconds",
    "_info",
    "_people",
    "_items",
    "_events",
    "_verdict",
    "_limits",
    "_waived",
    "_lower_bound",
)

BITS = {"value": 3.0, "low": 2.5, "high": 3.5, "resolvable": 9.0, "unmatched_genuine_share": 0.0}

Samples = dict[tuple[str, tuple[tuple[str, str], ...]], float]


def parsed(text: str) -> tuple[Samples, dict[str, str]]:
    """Samples by name and labels, and the help of each family; anything out of the grammar is an error."""
    assert text.endswith("\n")
    assert not text.endswith("\n\n")
    samples, helps, typed, current = {}, {}, set(), None
    for line in text.removesuffix("\n").split("\n"):
        if found := re.fullmatch(rf"# HELP ({NAME}) ((?:[^\\\n]|\\[\\n])+)", line):
            assert found[1] not in helps, "a family is in one piece"
            current = found[1]
            helps[current] = found[2]
        elif found := re.fullmatch(rf"# TYPE ({NAME}) gauge", line):
            assert found[1] == current
            assert current not in typed
            typed.add(current)
        else:
            found = SAMPLE.fullmatch(line)
            assert found, line
            assert found[1] == current
            assert current in typed
            key = (found[1], tuple(labels(found[2] or "")))
            assert key not in samples, "a sample is there once"
            samples[key] = float(found[3])
    assert {name for name, _ in samples} == helps.keys() == typed
    return samples, helps


def labels(text: str) -> list[tuple[str, str]]:
    pairs, at = [], 0
    while at < len(text):
        found = PAIR.match(text, at)
        assert found, text
        pairs.append((found[1], re.sub(r"\\(.)", lambda m: "\n" if m[1] == "n" else m[1], found[2])))
        at = found.end()
    assert len(dict(pairs)) == len(pairs)
    return pairs


def judged(waiver: Waiver | None = None, **changes):
    document = Gate(PROFILES["ema"], waiver=waiver).applied(headed(**changes), datetime.date(2026, 11, 16))
    document["provenance"] |= {"version": "0.1.0", "seconds": 1.5}
    document["attacks"][document["strongest"]]["pse_bits"] = BITS
    return document


def test_every_number_is_the_documents():
    facts = {"guessing_error": 0.99, "pie_bits": 2.5, "name_bits": 6.64, "items": 50, "events": 2000}
    document = judged(**facts)
    samples, _ = parsed(exposition(document))
    held = (("profile", "ema"), ("measure", "worst"))
    matcher = judged()["attacks"][judged()["strongest"]]["matcher"]
    wanted = {
        ("entropie_guessing_risk_ratio", ()): 1.0 - 0.99,
        ("entropie_event_information_bits", ()): 2.5,
        ("entropie_score_information_lower_bound", ()): 0.0,
        ("entropie_name_bits", ()): 6.64,
        ("entropie_people", ()): 1000.0,
        ("entropie_items", ()): 50.0,
        ("entropie_events", ()): 2000.0,
        ("entropie_limit_ratio", held): 0.09,
        ("entropie_verdict_limits", held): 0.0,
        ("entropie_waived", held): 0.0,
        ("entropie_assessment_duration_seconds", ()): 1.5,
        ("entropie_assessment_timestamp_seconds", ()): datetime.datetime(
            2026, 11, 16, 10, 30, tzinfo=datetime.UTC
        ).timestamp(),
        ("entropie_review_timestamp_seconds", ()): datetime.datetime(2027, 11, 16, tzinfo=datetime.UTC).timestamp(),
        (
            "entropie_assessment_info",
            (
                *(("version", "0.1.0"), ("run", document["provenance"]["run"]), ("matcher", matcher)),
                *(("source", "events.csv"), ("input_sha256", SHA)),
            ),
        ): 1.0,
    }
    intervals = {
        ("entropie_identification_risk_ratio", ()): (0.5, 0.4, 0.6),
        ("entropie_most_exposed_risk_ratio", ()): (0.8, 0.7, 0.9),
        ("entropie_score_information_bits", ()): (3.0, 2.5, 3.5),
        ("entropie_judged_risk_ratio", held): tuple(wilson(0.8, 100, GROUPS).values()),
    }
    for (name, also), three in intervals.items():
        wanted |= {
            (name, (*also, ("bound", end))): value for end, value in zip(("value", "low", "high"), three, strict=True)
        }
    decisions = {"PASS": 0.0, "PASS (limited)": 0.0, "FAIL": 1.0, "INCONCLUSIVE": 0.0}
    wanted |= {("entropie_verdict", (*held, ("decision", name))): value for name, value in decisions.items()}
    assert samples == pytest.approx(wanted)


def test_bits_beyond_the_data_are_a_lower_bound():
    document = headed()
    document["attacks"][document["strongest"]]["pse_bits"] |= {
        "value": 15.871,
        "low": 15.1,
        "high": 15.871,
        "resolvable": 15.25,
    }
    samples, helps = parsed(exposition(document))
    name = "entropie_score_information_bits"
    assert [samples[name, (("bound", end),)] for end in ("value", "low", "high")] == [15.25, 15.1, 15.25]
    assert samples["entropie_score_information_lower_bound", ()] == 1.0
    assert "lower bound" in helps["entropie_score_information_lower_bound"]


def test_a_limit_of_ones_own_keeps_its_name():
    samples, _ = parsed(exposition(Gate(own_profile(0.1, "board", "average")).applied(headed())))
    assert samples["entropie_limit_ratio", (("profile", "own"), ("measure", "average"), ("limit_name", "board"))] == 0.1


def test_names_end_in_their_unit():
    _, helps = parsed(exposition(judged()))
    for name, text in helps.items():
        assert name.startswith("entropie_")
        assert name.endswith(UNITS), name
        assert text.endswith("."), name


def test_a_waiver_and_its_last_second():
    waiver = Waiver("a pilot", datetime.date(2026, 12, 31), "J. Doe", "ema")
    samples, _ = parsed(exposition(judged(waiver)))
    by_name = {name: value for (name, _), value in samples.items()}
    assert by_name["entropie_waived"] == 1.0
    end = datetime.datetime(2027, 1, 1, tzinfo=datetime.UTC).timestamp()
    assert by_name["entropie_waiver_expiry_timestamp_seconds"] == end


def test_without_a_verdict_there_is_none():
    samples, _ = parsed(exposition(headed()))
    assert not {name for name, _ in samples} & {
        "entropie_verdict", "entropie_limit_ratio", "entropie_judged_risk_ratio", "entropie_waived"
    }  # fmt: skip


@pytest.mark.parametrize(
    "source", ['a"b', "a\\b", "a\nb", 'x",evil="1"} 7\nfake 1', "\\n", 'ends in \\"', "}", "ü 你", ""]
)
def test_labels_are_escaped(source):
    document = headed()
    document["input"]["source"] = source
    samples, _ = parsed(exposition(document))
    (found,) = [dict(pairs) for name, pairs in samples if name == "entropie_assessment_info"]
    assert found["source"] == source
    assert len(samples) == len(parsed(exposition(headed()))[0])


def test_a_label_moves_no_cursor_and_turns_no_text():
    document = headed()
    document["input"]["source"] = "a\x1b[31m\u202eb"
    assert "a\\\\x1b[31m\\\\u202eb" in exposition(document)
    assert exposition(document).replace("\n", "").isprintable()


def test_numbers_survive_the_text():
    samples, _ = parsed(exposition(headed(average=(1e-17, 0.0, 0.1 + 0.2), pie_bits=1e-300)))
    assert samples["entropie_event_information_bits", ()] == 1e-300
    assert samples["entropie_identification_risk_ratio", (("bound", "high"),)] == 1.0 - (1.0 - (0.1 + 0.2))


def test_the_file_is_replaced_whole(tmp_path):
    file = tmp_path / "entropie.prom"
    file.write_text("old")
    write_metrics(file, judged())
    assert file.read_bytes() == exposition(judged()).encode()
    with pytest.raises(InvalidInput):
        write_metrics(file, headed(pie_bits=None))
    assert file.read_bytes() == exposition(judged()).encode()
    assert [path.name for path in tmp_path.iterdir()] == ["entropie.prom"]
