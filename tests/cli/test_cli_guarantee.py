"""`guarantee` and `calibrate`: exact output, stable keys, one sentence for every bad input."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

PAPER = ["--domain", "10500393", "--users", "1370637"]


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("guarantee_rr.txt", ["guarantee", "--mechanism", "rr", *PAPER, "--epsilon", "12.72"]),
        ("guarantee_rr.json", ["guarantee", "--mechanism", "rr", *PAPER, "--epsilon", "12.72", "--json"]),
        (
            "guarantee_glh.txt",
            ["guarantee", "--mechanism", "glh", *PAPER, "--theta", "0.03", "--hash-size", "1e8", "--list", "10"],
        ),
        (
            "guarantee_glh.json",
            ["guarantee", "--mechanism", "glh", *PAPER, "--theta", "0.03", "--hash-size", "1e8", "--json"],
        ),
        (
            "guarantee_reports.txt",
            ["guarantee", "--mechanism", "rr", *PAPER, "--epsilon", "10", "--reports", "5", "--prior-max", "0.01"],
        ),
        (
            "guarantee_groups.txt",
            [
                "guarantee",
                "--mechanism",
                "rr",
                "--domain",
                "1000",
                "--epsilon",
                "2",
                "--group",
                "1:9K",
                "--group",
                "5:9",
                "--group",
                "5:981",
            ],
        ),
        (
            "guarantee_groups_unlinked.txt",
            [
                "guarantee",
                "--mechanism",
                "rr",
                "--domain",
                "1000",
                "--epsilon",
                "2",
                "--group",
                "1:9K",
                "--group",
                "5:990",
                "--unlinked",
            ],
        ),
        ("guarantee_noise.txt", ["guarantee", "--mechanism", "rr", *PAPER, "--epsilon", "0"]),
        ("calibrate.txt", ["calibrate", *PAPER, "--bayes-error", "0.92"]),
        ("calibrate_rr.json", ["calibrate", *PAPER, "--bayes-error", "0.92", "--mechanism", "rr", "--json"]),
        ("calibrate_verbose.txt", ["calibrate", *PAPER, "--bayes-error", "92%", "--verbose"]),
        (
            "calibrate_top.txt",
            ["calibrate", *PAPER, "--bayes-error", "0.92", "--top", "100", "--zipf", "0.7", "--scope", "alone"],
        ),
        ("calibrate_no_noise.txt", ["calibrate", "--users", "1e8", "--domain", "5", "--bayes-error", "0.9"]),
    ],
)
def test_exact_output(entropie, matches_golden, name, arguments):
    ran = entropie(*arguments)
    assert (ran.code, ran.err) == (0, "")
    matches_golden(name, ran.out)


@pytest.mark.parametrize("command", ["guarantee", "calibrate"])
def test_a_screen_holds_it_and_quiet_says_nothing(entropie, command):
    """At most 25 lines of at most 80 columns; --verbose prints every bound, --quiet none."""
    options = {
        "guarantee": ["--mechanism", "glh", "--theta", "3%", "--hash-size", "1e8", "--list", "10"],
        "calibrate": ["--bayes-error", "92%"],
    }[command]
    short = entropie(command, *PAPER, *options).out.splitlines()
    assert len(short) <= 25
    assert max(map(len, short)) <= 80
    full = entropie(command, *PAPER, *options, "-v").out
    assert max(map(len, full.splitlines())) <= 80
    assert "maximal leakage" in full
    assert entropie(command, *PAPER, *options, "-q").out == ""


def test_the_scope_is_said(entropie):
    """The first sentence is about the store that leaks; what one report tells alone never reads as that."""
    options = ["guarantee", "--mechanism", "rr", "--epsilon", "12", *PAPER]
    for more, holds in (
        ([], "whoever holds everybody's reports (by"),
        (["--reports", "3"], "everybody's reports, linked by person (by"),
        (["--reports", "3", "--unlinked"], "everybody's reports, not linked to each other (by"),
    ):
        text = " ".join(entropie(*options, *more).out.split())
        assert holds in text
        assert "what leaks: all reports one person's alone" in text
    document = json.loads(entropie(*options, "--reports", "3", "--json").out)
    single = json.loads(entropie(*options, "--reports", "3", "--unlinked", "--json").out)
    assert (document["all_reports"]["linked"], single["all_reports"]["linked"]) == (True, False)
    assert document["all_reports"]["posterior_max"] > single["all_reports"]["posterior_max"] > 0.0
    assert document["posterior_max"] < document["all_reports"]["posterior_max"]


def test_guarantee_json_has_the_documented_keys(entropie):
    rr = json.loads(entropie("guarantee", "--mechanism", "rr", *PAPER, "--epsilon", "1", "--json").out)
    documented = {
        "mechanism", "users", "reports_per_user", "alpha_bits", "alpha_bits_paper", "alpha_bits_ldp", "bayes_error",
        "bayes_error_paper", "bayes_error_fano", "list_error", "max_leakage_bits", "per_user_bits", "contraction",
        "posterior_max", "all_reports",
    }  # fmt: skip
    assert documented <= set(rr)
    assert set(rr["all_reports"]) == {"linked", "alpha_bits", "bayes_error", "list_error", "posterior_max"}
    channel = {"kind", "domain_size", "hash_size", "prime", "collision_probability", "epsilon", "theta"}
    assert set(rr["mechanism"]) == channel
    glh = json.loads(
        entropie("guarantee", "--mechanism", "glh", "--hash-size", "1000", *PAPER, "--epsilon", "1", "--json").out
    )
    assert documented | {"alpha_bits_ideal_hash", "bayes_error_ideal_hash"} <= set(glh)
    assert set(glh["mechanism"]) == channel
    assert rr["alpha_bits_ldp"] == pytest.approx(1.4427, abs=1e-4)
    assert rr["alpha_bits_paper"] == pytest.approx(3.336e-6, rel=1e-3)


def test_infinite_values_are_null(entropie):
    ran = entropie("guarantee", "--mechanism", "rr", *PAPER, "--theta", "1", "--json")
    document = json.loads(ran.out)
    assert document["mechanism"]["epsilon"] is None
    assert document["per_user_bits"] is None
    assert document["alpha_bits"] == pytest.approx(math.log2(1370637))


def test_calibrate_reads_the_shares_of_items(entropie):
    Path("shares.csv").write_text("item,count\na,70\nb,20\nc,10\n")
    arguments = ["calibrate", "--users", "1000", "--domain", "200", "--bayes-error", "90%", "--json"]
    ran = entropie(*arguments, "--top", "2", "--shares", "shares.csv")
    assert json.loads(ran.out)["weights"] == {"items": 2, "mass": pytest.approx(0.9)}
    ran = entropie(*arguments, "--top", "2", "--shares", "missing.csv")
    assert (ran.code, ran.out) == (2, "")
    assert "missing.csv" in ran.err


def test_calibrate_writes_the_parameter_document(entropie):
    ran = entropie("calibrate", *PAPER, "--bayes-error", "0.92", "--parameters", "p.json", "--json")
    document = json.loads(ran.out)
    assert json.loads(Path("p.json").read_text()) == document["parameters"]
    assert document["guarantee"]["bayes_error"] >= 0.92


MATRIX = [[0.6, 0.2, 0.2], [0.2, 0.6, 0.2], [0.2, 0.2, 0.6]]


def _saved(ending: str) -> str:
    """The matrix in one of the forms that are read; the sparse one as SciPy writes it."""
    Q = np.array(MATRIX)
    if ending == "csv":
        np.savetxt("q.csv", Q, delimiter=",")
    elif ending == "npy":
        np.save("q.npy", Q)
    elif ending == "npz":
        np.savez("q.npz", matrix=Q)
    else:
        rows, columns = np.nonzero(Q)
        cuts, shape = np.array([0, 3, 6, 9]), np.array([3, 3])
        parts = {"data": Q[rows, columns], "indices": columns, "indptr": cuts, "shape": shape}
        np.savez("q.npz", format=np.array(ending.encode()), **parts)
    return "q.npz" if ending in ("csr", "csc") else f"q.{ending}"


@pytest.mark.parametrize("ending", ["csv", "npy", "npz", "csr", "csc"])
def test_any_mechanism_as_a_matrix(entropie, ending):
    """It is randomized response over three items with epsilon ln 3; the matrix is symmetric, so columns are rows."""
    ran = entropie("guarantee", "--matrix", _saved(ending), "--users", "100", "--json")
    same = ["--mechanism", "rr", "--domain", "3", "--epsilon", str(math.log(3)), "--users", "100"]
    known = json.loads(entropie("guarantee", *same, "--json").out)
    document = json.loads(ran.out)
    assert document["alpha_bits"]["high"] == pytest.approx(known["alpha_bits"], abs=2e-6)
    assert document["bayes_error"]["low"] == pytest.approx(known["bayes_error"], abs=1e-9)
    assert document["all_reports"]["posterior_max"] == pytest.approx(known["all_reports"]["posterior_max"])
    text = entropie("guarantee", "--matrix", _saved(ending), "--users", "100").out
    assert text.startswith("At most 2.2")
    assert max(map(len, text.splitlines())) <= 80
    assert len(text.splitlines()) <= 25


SAVE = "save one row of probabilities per item as .csv, .npy or .npz."


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("0.5,0.5\n0.5,0.6\n", "Row 2 of q.csv sums to 1.1; every row must sum to 1."),
        ("0.5,0.5\n-1,2\n", "Row 2 of q.csv holds what is no probability; every entry must be from 0 to 1."),
        ("0.5,0.5\n1\n", f"Matrix q.csv cannot be read as numbers; {SAVE}"),
        ("a,b\n", f"Matrix q.csv cannot be read as numbers; {SAVE}"),
        (None, f"Matrix q.csv does not exist; {SAVE}"),
    ],
)
def test_a_wrong_matrix_is_named(entropie, content, sentence):
    if content is not None:
        Path("q.csv").write_text(content)
    ran = entropie("guarantee", "--matrix", "q.csv", "--users", "5")
    assert (ran.code, ran.out, ran.err) == (2, "", f"entropie: {sentence}\n")


def test_guarantee_of_a_parameter_document(entropie):
    setting = ["--mechanism", "glh", "--hash-size", "7", "--epsilon", "2"]
    Path("values.csv").write_text("item\n" + "3\n" * 20)
    entropie("obfuscate", "values.csv", "--column", "item", "--domain", "20", *setting, "--out", "r.csv")
    ran = entropie("guarantee", "--parameters", "r.csv.parameters.json", "--users", "100", "--json")
    assert ran.out == entropie("guarantee", *setting, "--domain", "20", "--users", "100", "--json").out
    both = entropie("guarantee", "--parameters", "r.csv.parameters.json", "--epsilon", "1", "--users", "9")
    assert both.err == "entropie: Give either --parameters or the mechanism's options, not both.\n"
    both = entropie("guarantee", "--matrix", _saved("csv"), "--epsilon", "1", "--users", "9")
    assert both.err == "entropie: Give --matrix alone, without --parameters or the mechanism's options.\n"


BAD = [
    (["guarantee", "--mechanism", "rr", *PAPER, "--epsilon", "-1"], "Option --epsilon must be a number of at least 0, got -1.0 instead."),
    (["guarantee", "--mechanism", "rr", *PAPER, "--epsilon", "nan"], "Option --epsilon must be a number of at least 0, got nan instead."),
    (["guarantee", "--mechanism", "rr", *PAPER, "--theta", "1.5"], "Option --theta must be a probability from 0 to 1, got 1.5 instead."),
    (["guarantee", "--mechanism", "rr", *PAPER], "Give --epsilon or --theta, one of the two."),
    (["guarantee", "--mechanism", "rr", *PAPER, "--epsilon", "1", "--theta", ".1"], "Give --epsilon or --theta, one of the two."),
    (["guarantee", "--mechanism", "rr", *PAPER, "--epsilon", "1", "--hash-size", "5"], "Randomized response does not take --hash-size; remove it."),
    (["guarantee", "--mechanism", "glh", *PAPER, "--theta", ".1"], "Local hashing needs --hash-size where --theta is given; --epsilon finds the best one."),
    (["guarantee", "--mechanism", "glh", *PAPER, "--epsilon", "1", "--hash-size", "1"], "Option --hash-size must be a whole number from 2 to 1000000000000000000, got 1 instead."),
    (["guarantee", "--mechanism", "glh", *PAPER, "--epsilon", "1", "--hash-size", "9", "--prime", "15"], "Option --prime must be a prime number from the hash size (9) to 2^62, got 15 instead."),
    (["guarantee", "--mechanism", "rr", "--domain", "1", "--users", "5", "--epsilon", "1"], "Option --domain must be a whole number from 2 to 1000000000000000000, got 1 instead."),
    (["guarantee", "--mechanism", "rr", "--domain", "9", "--users", "0", "--epsilon", "1"], "Option --users must be a whole number from 1 to 1000000000000000000, got 0 instead."),
    (["guarantee", "--mechanism", "rr", "--domain", "9", "--users", "100", "--epsilon", "1", "--prior-max", "0.001"], "Option --prior-max must be a probability from 1/users = 0.01 to 1, got 0.001 instead."),
    (["guarantee", "--mechanism", "rr", "--domain", "9", "--epsilon", "1", "--group", "7"], "Option --group must be reports and people, such as 3:1000, got '7' instead."),
    (["guarantee", "--mechanism", "rr", *PAPER, "--epsilon", "1", "--group", "7:9"], "Give --group without --users, --reports, --prior-max and --matrix."),
    (["calibrate", *PAPER, "--bayes-error", "1.2"], "Option --bayes-error must be a share from 0 to 1, got 1.2 instead."),
    (["calibrate", *PAPER, "--bayes-error", "0.9", "--zipf", "1"], "Give --top with --zipf: summed over all items the squared error is the same for every distribution."),
    (["calibrate", *PAPER, "--bayes-error", "0.9", "--max-epsilon", "0"], "Option --max-epsilon must be a number above 0, got 0.0 instead."),
    (["calibrate", *PAPER, "--bayes-error", "0.9", "--mechanism", "unary"], "Option --domain must be at most 65536 for unary, got 10500393 instead."),
    (["calibrate", *PAPER, "--bayes-error", "0.9", "--mechanism", "rr", "--hash-size", "7"], "Option --hash-size must be absent for rr, which does not hash, got 7 instead."),
]  # fmt: skip


@pytest.mark.parametrize(("arguments", "sentence"), BAD)
def test_bad_input_gets_one_sentence_and_code_2(entropie, arguments, sentence):
    ran = entropie(*arguments)
    assert (ran.code, ran.out, ran.err) == (2, "", f"entropie: {sentence}\n")


@pytest.mark.parametrize(
    ("arguments", "start"),
    [
        (["guarantee", "--mechanism", "rr", "--users", "5", "--epsilon", "1"], "entropie: Missing option '--domain'"),
        (["guarantee", *PAPER, "--epsilon", "1"], "entropie: Missing option '--mechanism'"),
        (
            ["guarantee", "--mechanism", "xx", *PAPER],
            "entropie: Option --mechanism must be one of rr, glh, hadamard, subset, unary, noise, erasure, got 'xx' instead.",
        ),
        (
            ["guarantee", "--mechanism", "rr", "--domain", "1.5", "--users", "2"],
            "entropie: Invalid value for '--domain'",
        ),
        (["nonsense"], "entropie: No such command 'nonsense'"),
        (["guarantee", "--nonsense"], "entropie: No such option"),
    ],
)
def test_usage_errors_are_one_line_and_code_2(entropie, arguments, start):
    ran = entropie(*arguments)
    assert ran.code == 2
    assert ran.err.startswith(start)
    assert ran.err.count("\n") == 1


def test_an_unreachable_target_is_code_1(entropie):
    ran = entropie("calibrate", "--users", "10", "--domain", "5", "--bayes-error", "0.95")
    assert ran.code == 1
    assert ran.err == (
        "entropie: An error rate of 0.95 cannot be guaranteed: by chance alone it is 0.9 at most; "
        "lower --bayes-error, or have more people.\n"
    )


def test_an_unreachable_target_is_a_document_too(entropie):
    arguments = ["calibrate", "--users", "10", "--domain", "5", "--bayes-error", "0.95", "--parameters", "p.json"]
    ran = entropie(*arguments, "--json")
    assert ran.code == 1
    assert json.loads(ran.out) == {
        "bayes_error_wanted": 0.95,
        "reachable": False,
        "reason": ran.err.removeprefix("entropie: ").rstrip("\n"),
    }
    assert ran.err == entropie(*arguments).err
    assert not Path("p.json").exists()


def test_no_command_shows_help(entropie):
    ran = entropie()
    assert ran.code == 2
    assert "Measure the risk:" in ran.out + ran.err
