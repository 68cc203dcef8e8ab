"""docs/choosing.md: its charts are what the commands beside them draw, and its figures are what the program finds."""

from __future__ import annotations

import re
from fractions import Fraction
from pathlib import Path

import pytest
from click.testing import CliRunner

from entropie.cli.main import cli
from entropie.drawing import available
from entropie.mechanisms.calibrate import calibrate
from entropie.mechanisms.erasure import Erasure
from entropie.page.design_charts import trade_off

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "choosing.md").read_text(encoding="utf-8")
COMMANDS = re.findall(r"`entropie (calibrate [^`]+) --chart docs/(figures/[\w-]+\.svg)`", PAGE)


@pytest.mark.skipif(not available(), reason="charts need the extra `report`")
@pytest.mark.parametrize(("command", "figure"), COMMANDS)
def test_charts_are_drawn_by_the_commands_beside_them(command: str, figure: str, tmp_path: Path) -> None:
    assert f"({figure})" in PAGE
    ran = CliRunner().invoke(cli, [*command.split(), "--chart", str(tmp_path / "chart.svg"), "--quiet"])
    assert ran.exit_code == 0
    assert (tmp_path / "chart.svg").read_text() == (ROOT / "docs" / figure).read_text()


def test_both_charts_are_named() -> None:
    assert len(COMMANDS) == 2


def test_a_chart_shows_the_losses_of_the_trade_off() -> None:
    found = calibrate(users=10**5, domain_size=50, bayes_error=0.9)
    rows = trade_off(found)["layer"][0]["data"]["values"]
    assert len({row["by"] for row in rows}) == 5
    for row in found.trade_off:
        label = f"{row.certainty * 100:g}\N{NO-BREAK SPACE}%"
        leak = {"all": "all reports leak", "alone": "one person's alone"}[row.scope]
        drawn = [one["loss"] for one in rows if one["certainty"] == label and one["leak"] == leak]
        assert not drawn or min(drawn) <= row.loss <= 1.01 * min(drawn)


def test_sentences_with_figures() -> None:
    many = calibrate(users=1370637, domain_size=10500393, bayes_error=0.92)
    loss = {other.mechanism.kind: other.expected_loss.loss for other in many.alternatives}
    assert 200 < loss["rr"] / many.expected_loss.loss < 1000  # hundreds of times less
    assert round(many.mechanism.hash_size, -3) == 13_000
    few = calibrate(users=10**5, domain_size=50, bayes_error=0.9)
    assert few.mechanism.kind == "rr"
    hashing = next(other for other in few.alternatives if other.mechanism.kind == "glh")
    assert hashing.expected_loss.loss < 1.5 * few.expected_loss.loss


def test_an_error_rate_is_kept_by_publishing_a_sample() -> None:
    sample = Erasure.from_theta(domain_size=10**6, theta=Fraction(8, 100)).guarantee(users=10**6)
    assert sample.bayes_error == pytest.approx(0.92, abs=1e-6)
    assert sample.all_reports.bayes_error == pytest.approx(0.92, abs=1e-5)
    assert sample.posterior_max == 1.0


def test_a_chart_is_an_svg(tmp_path: Path) -> None:
    asked = ["calibrate", "--users", "100", "--domain", "5", "--bayes-error", "0.5", "--chart", str(tmp_path / "a.png")]
    ran = CliRunner().invoke(cli, asked)
    assert ran.exit_code != 0
    assert not list(tmp_path.iterdir())
