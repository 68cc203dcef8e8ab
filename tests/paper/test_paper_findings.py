"""The small scale of every figure: orderings, monotonicity, formulas within sampling error, bounds never crossed."""

from __future__ import annotations

import itertools
import json
import math

import numpy as np
import pytest

from entropie.paper import published, sources
from entropie.paper.registry import ALL, FIGURES

Z = 5.0
"""Standard errors allowed: the seed is fixed, and by chance a test would fail once in a million."""


def rising(values, slack=0.0):
    return all(after >= before - slack for before, after in itertools.pairwise(values))


def pick(rows, **wanted):
    return [row for row in rows if all(row.get(key) == value for key, value in wanted.items())]


def test_every_figure_is_there_with_its_files(small, folder):
    assert list(small.findings) == list(ALL)
    for name in ALL:
        stem = f"fig{name}" if name.isdigit() else name
        document = json.loads((folder / f"{stem}.json").read_text(encoding="utf-8"))
        assert document["rows"] == small.rows[name]
        assert document["findings"] == small.findings[name]
        lines = (folder / f"{stem}.csv").read_text(encoding="utf-8").splitlines()
        assert len(lines) == len(small.rows[name]) + 1
        if small.charts and name != "cities":
            assert (folder / f"{stem}.svg").read_text(encoding="utf-8").startswith("<svg")
            assert (folder / f"{stem}.png").read_bytes().startswith(b"\x89PNG")
    captions = (folder / "captions.md").read_text(encoding="utf-8")
    assert all(f"- {line}\n" in captions for lines in small.findings.values() for line in lines)


def test_figure_1_meets_the_printed_values_and_the_bounds_are_in_order(small):
    rows = small.rows["1"]
    printed = [row for row in rows if row["printed_theorem_bits"] is not None]
    assert [row["epsilon"] for row in printed] == [0.1, 1.0, 10.0]
    for row in printed:
        assert row["proposition_bits"] == pytest.approx(row["printed_proposition_bits"], rel=0.04)
        assert row["theorem_bits"] == pytest.approx(row["printed_theorem_bits"], rel=0.04)
    for row in rows:
        assert row["exact_bits"] <= row["theorem_bits"]
        assert row["exact_bits"] <= row["any_mechanism_bits"] <= row["proposition_bits"]
    for key in ("proposition_bits", "any_mechanism_bits", "theorem_bits", "exact_bits"):
        assert rising([row[key] for row in rows])


def test_figure_2_bits_stay_within_what_the_sample_can_show(small):
    rows = [row for row in small.rows["2"] if row["purpose"] != "reference"]
    assert {row["users"] for row in pick(rows, data="check-ins", purpose="curve")} == {1_000, 2_000}
    for row in rows:
        impostors = row["users"] * (row["users"] - 1)
        assert row["resolvable_bits"] == pytest.approx(math.log2(impostors / 10))
        assert row["pse_bits"] <= math.log2(impostors / 3) + 1e-9
        assert row["pse_low_bits"] <= row["pse_bits"] <= row["pse_high_bits"]
        assert row["pse_finite_bits"] <= row["name_bits"] + 1e-9
        assert row["published_bits"] == published.published_bits(row["data"], row["matcher"], row["events"]) or (
            row["purpose"] == "size" and row["published_bits"] is None
        )


def test_figure_2_one_event_tells_how_often_two_people_share_it(small):
    """All who have the event score the same: D = -log2 of the chance that two different people have it."""
    for kind in ("check-ins", "ratings"):
        traces = sources.source(small.settings, kind).traces
        first = [
            run[(len(run) + 1) // 2] if kind == "check-ins" else run[0]
            for run in np.split(traces.items, traces.offsets[1:-1])
        ]
        counts = np.unique(first, return_counts=True)[1]
        shared = float((counts * (counts - 1)).sum()) / (len(first) * (len(first) - 1))
        found = pick(small.rows["2"], data=kind, matcher="markov", events="1", purpose="curve")[0]
        assert found["pse_bits"] == pytest.approx(-math.log2(shared), abs=0.05)


def test_figure_2_more_events_identify_better(small):
    for kind in ("check-ins", "ratings"):
        curve = pick(small.rows["2"], data=kind, matcher="markov", purpose="curve")
        errors = [row["error"] for row in curve if row["events"] != "whole"]
        assert rising(errors[::-1]), kind
        assert errors[-1] < errors[0]
        assert curve[1]["pse_bits"] > curve[0]["pse_bits"]


def test_figure_2_the_papers_estimate_of_whole_traces_follows_the_number_of_people(small):
    """A sample-size effect: eight times the people, three bits more, with nobody mistaken at either size."""
    for kind in ("check-ins", "ratings"):
        few, many = (
            pick(small.rows["2"], data=kind, matcher="markov", events="whole", purpose=purpose)[0]
            for purpose in ("size", "curve")
        )
        gained = many["pse_paper_bits"] - few["pse_paper_bits"]
        assert gained == pytest.approx(many["name_bits"] - few["name_bits"], abs=0.6)
        assert abs(many["pse_paper_bits"] - many["name_bits"]) < 1.0
        assert max(few["error"], many["error"]) < 0.02


def test_figure_2_noise_sets_the_papers_estimate_of_few_ratings(small):
    """Equal genuine scores without an impostor: ten times the noise takes log2 10 bits off; whole traces do not care."""
    five, whole = (
        pick(small.rows["2"], data="ratings", matcher="markov", events=events, purpose="curve")[0]
        for events in ("5", "whole")
    )
    assert five["pse_paper_bits"] - five["pse_paper_wide_bits"] == pytest.approx(math.log2(10), abs=0.1)
    assert whole["pse_paper_bits"] == pytest.approx(whole["pse_paper_wide_bits"], abs=0.1)


def test_figure_3_knowing_more_helps(small):
    for kind in ("check-ins", "ratings"):
        for matcher in ("markov", "visit"):
            rows = pick(small.rows["3"], data=kind, matcher=matcher)
            assert len(rows) == 5
            assert len({row["users"] for row in rows}) == 1  # the same people throughout
            assert rows[-1]["error"] < rows[0]["error"]
    maximum = pick(small.rows["2"], data="check-ins", matcher="markov", events="whole", purpose="curve")[0]
    partial = pick(small.rows["3"], data="check-ins", matcher="markov")[-1]
    assert maximum["error"] < partial["error"]


def test_figure_4_curves_fall_and_pass_the_equal_error_rate(small):
    rows = small.rows["4"]
    for curve in dict.fromkeys(row["curve"] for row in rows):
        points = pick(rows, curve=curve)
        assert rising([row["frr"] for row in points])
        assert rising([-row["far"] for row in points])
        assert all(0.0 <= row[key] <= 1.0 for row in points for key in ("far", "frr"))
        rate = points[0]["equal_error"]
        nearest = min(points, key=lambda row: abs(row["far"] - row["frr"]))
        assert rate == pytest.approx((nearest["far"] + nearest["frr"]) / 2, abs=0.02)
        assert points[0]["equal_error_low"] <= rate <= points[0]["equal_error_high"]


def exact_information(values, domain_size, theta):
    """I(U;Y) in bits by its definition: entropy of the reports minus entropy of one person's report."""
    counts = np.bincount(values, minlength=domain_size)
    output = theta * counts / len(values) + (1 - theta) / domain_size
    truth, lie = theta + (1 - theta) / domain_size, (1 - theta) / domain_size
    entropy_given = -truth * np.log2(truth) - (domain_size - 1) * lie * np.log2(lie)
    return float(-(output @ np.log2(output)) - entropy_given)


def test_figure_5_order_of_bounds_and_exact_information(small):
    rows = small.rows["5"]
    data = sources.single_data(small.settings)
    n, k = data.users, data.domain_size
    assert np.all(np.diff(data.offsets) == 1)
    for row in rows:
        slack = Z * row["pie_standard_error_bits"]
        assert row["proposition_bits"] >= row["any_mechanism_bits"] >= row["exact_bits"] * (1 - 1e-12)
        assert row["theorem_bits"] >= row["exact_bits"] >= row["pie_bits"] - slack
        assert row["contraction_bits"] >= row["pie_bits"] - slack
        assert row["theorem_bits"] == pytest.approx(row["theta"] * math.log2(min(n, k)))
    for row in pick(rows, kind="rr"):
        assert row["pie_bits"] == pytest.approx(exact_information(data.items, k, row["theta"]), rel=1e-6, abs=1e-9)
    for kind in ("rr", "glh"):
        for key in ("proposition_bits", "theorem_bits", "exact_bits", "pie_bits"):
            assert rising([row[key] for row in pick(rows, kind=kind)], slack=1e-12)


def test_figure_6_no_attack_crosses_a_bound(small):
    rows = small.rows["6"]
    assert rows == small.rows["5"]
    for row in rows:
        deviation = math.sqrt(max(row["error"] * (1 - row["error"]), 1 / row["users"]) / row["users"])
        for bound in ("error_exact", "error_by_fano", "error_by_theorem", "error_by_proposition"):
            assert row["error"] >= row[bound] - Z * deviation, (row["kind"], row["epsilon"], bound)
        assert row["error_exact"] >= row["error_by_fano"] >= row["error_by_theorem"] - 1e-12
        assert row["error_by_theorem"] >= row["error_by_proposition"] - 1e-12


def test_figure_6_says_where_the_value_by_pse_is_crossed(small):
    rows = [row | {"error_high": row["error_by_pse"] + 0.01} for row in small.rows["6"]]
    assert "no bound" not in " ".join(FIGURES["6"].findings(rows))
    lower = [row | {"error_high": row["error_by_pse"] - 0.01} if row["epsilon"] >= 9.0 else row for row in rows]
    assert "is no bound: from epsilon 9 (" in " ".join(FIGURES["6"].findings(lower))


def test_figure_6_measured_error_is_the_expected_one(small):
    """With maximum knowledge success is theta V(U|X) + (1-theta)/n, V(U|X) = distinct places/n; ten percent are seen."""
    data = sources.single_data(small.settings)
    distinct = len(set(data.items.tolist()))
    seen = 0
    for row in pick(small.rows["6"], kind="rr"):
        expected = row["theta"] * distinct / data.users + (1 - row["theta"]) / data.users
        deviation = math.sqrt(expected * (1 - expected) / data.users)
        success = 1 - row["error"]
        assert abs(success - expected) <= Z * deviation
        assert row["error_expected"] == pytest.approx(1 - expected)
        seen += abs(success - 0.9 * expected) > Z * deviation
    assert seen >= 1


@pytest.mark.parametrize("name", ["7", "9"])
def test_figures_7_and_9_loss_is_what_the_formula_says(small, name):
    rows = small.rows[name]
    if name == "7":
        found = [(row["l2"], row["l2_standard_error"], row["formula"]) for row in rows if row["method"] == "emp"]
    else:
        found = [
            (row[f"l2_{part}"], row[f"l2_{part}_standard_error"], row[f"formula_{part}"])
            for row in rows
            for part in ("top", "all")
        ]
    assert len(found) >= 12
    for value, spread, formula in found:
        assert abs(value - formula) <= Z * spread, (value, spread, formula)
    assert any(abs(value - 1.1 * formula) > Z * spread for value, spread, formula in found)


def test_figure_7_threshold_helps_where_there_is_noise_and_more_truth_helps(small):
    rows = pick(small.rows["7"], places="all places")
    for mechanism in ("randomized response", "local hashing"):
        emp = pick(rows, mechanism=mechanism, method="emp")
        cut = pick(rows, mechanism=mechanism, method="emp+thr")
        assert cut[0]["l2"] < emp[0]["l2"]
        assert rising([-row["formula"] for row in emp])
        assert all(row["bayes_error"] >= row["bayes_error_paper"] - 1e-12 for row in emp)


def test_figure_8_a_guarantee_keeps_more_than_a_small_epsilon(small):
    rows = [row for row in small.rows["8"] if row["place"] == 1 and row["method"] == "emp"]
    wanted = small.settings.scale.wanted_error
    for mechanism in ("randomized response", "local hashing"):
        plain, theorem, exact = pick(rows, mechanism=mechanism)
        assert plain["mean_relative_error"] > theorem["mean_relative_error"] > exact["mean_relative_error"]
        assert theorem["bayes_error_paper"] == pytest.approx(wanted)
        assert exact["bayes_error"] == pytest.approx(wanted)
        assert theorem["bayes_error"] > wanted
    twenty = pick(small.rows["8"], mechanism="local hashing", method="emp", setting=exact["setting"])
    assert rising([-row["share"] for row in twenty])
    mean = np.mean([abs(row["estimate"] - row["share"]) / row["share"] for row in twenty])
    assert twenty[0]["mean_relative_error"] == pytest.approx(mean)


def test_figure_9_loss_falls_with_the_hash_size(small):
    rows = small.rows["9"]
    for key in ("formula_top", "formula_all", "l2_all"):
        assert rising([-row[key] for row in rows], slack=1e-9 if key != "l2_all" else 1e-4)
    assert all(row["theta"] == pytest.approx(0.5) for row in rows)


def test_figure_10_exact_bounds_allow_more_truth(small):
    rows = pick(small.rows["10"], part="equal error")
    pairs = {(row["kind"], row["error"]): row for row in rows if row["bound"] == "exact"}
    compared = 0
    for row in rows:
        if row["bound"] == "theorem" and row["theta"]:
            exact = pairs[row["kind"], row["error"]]
            assert exact["theta"] > row["theta"]
            assert exact["l2_top"] < row["l2_top"]
            compared += 1
    assert compared >= 8
    n = small.settings.scale.users
    sizes = pick(small.rows["10"], part="hash size")
    plain, hashed = sizes[0], sizes[1:]
    best = min(hashed, key=lambda row: row["l2_top"])
    assert plain["hash_size"] is None
    assert best["hash_size"] <= n
    assert best["l2_top"] < plain["l2_top"]
    assert best["list_success"] > plain["list_success"]
    attacks = {row["matcher"]: row["error"] for row in pick(small.rows["10"], part="adversary")}
    assert attacks["pitman_yor"] < min(attacks["markov"], attacks["visit"])


def test_a_finding_says_so_where_there_are_no_real_data(small):
    assert small.rows["cities"] == []
    assert "--data" in small.findings["cities"][0]


def test_findings_come_from_the_columns_shown_alone(small):
    """A page shows the table that its findings follow from."""
    for name in ALL:
        figure = FIGURES[name]
        again = [{column: row.get(column) for column in figure.shown} for row in small.rows[name]]
        assert figure.findings(json.loads(json.dumps(again))) == small.findings[name]
