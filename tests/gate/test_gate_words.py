from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from entropie.cli import output
from entropie.gate.words import percent, plain_percent, points


@pytest.mark.parametrize(
    ("share", "text"),
    [(0.0, "0 %"), (1.0, "100 %"), (0.5, "50.00 %"), (0.0048, "0.480 %"), (0.9952, "99.520 %"), (1e-6, "0.000100 %")],
)
def test_percent(share, text):
    assert percent(share) == text.replace(" ", "\N{NO-BREAK SPACE}")


@given(st.floats(1e-6, 1.0 - 1e-6))
def test_as_the_rest_of_the_program_writes_it(share):
    assert percent(share) == output.percent(share)


def test_written_shares_and_differences():
    written = [plain_percent(share) for share in (0.09, 0.33, 0.07, 0.005, 0.29)]
    assert [text.replace("\N{NO-BREAK SPACE}", " ") for text in written] == ["9 %", "33 %", "7 %", "0.5 %", "29 %"]
    assert points(0.1234) == "+12.34 percentage points"
    assert points(-0.000001) == "+0.00 percentage points"
