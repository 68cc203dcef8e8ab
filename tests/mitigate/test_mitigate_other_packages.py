"""Against pycanon and anonymeter, in an environment of their own: they need other versions than the lock has.

python3 -m venv others && others/bin/pip install pycanon anonymeter
OTHERS_PYTHON=$PWD/others/bin/python pytest tests/mitigate/test_mitigate_other_packages.py
"""

from __future__ import annotations

import json
import os
import random
import subprocess
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as pa_csv
import pytest

import entropie

PYTHON = os.environ.get("OTHERS_PYTHON", "")
pytestmark = pytest.mark.skipif(not PYTHON, reason="OTHERS_PYTHON names no Python that has pycanon and anonymeter")

PYCANON = """
import json, sys, pandas
from pycanon import anonymity
table, known = pandas.read_csv(sys.argv[1]), sys.argv[2].split(",")
found = {"k": anonymity.k_anonymity(table, known)}
for name in sys.argv[3].split(","):
    found[name] = [float(measure(table, known, [name])) for measure in (anonymity.l_diversity, anonymity.t_closeness)]
print(json.dumps(found))
"""
ANONYMETER = """
import json, sys, warnings, pandas
warnings.simplefilter("ignore")
from anonymeter.evaluators import InferenceEvaluator, LinkabilityEvaluator
table = pandas.read_csv(sys.argv[1])
left, right, secret = sys.argv[2].split(","), sys.argv[3].split(","), sys.argv[4]
control = table.sample(250, random_state=1)
linked = LinkabilityEvaluator(table, table, (left, right), n_attacks=200, n_neighbors=1, control=control)
linked.evaluate(n_jobs=1)
guessed = InferenceEvaluator(table, table, aux_cols=left + right, secret=secret, regression=False, n_attacks=200, control=control)
guessed.evaluate(n_jobs=1)
rates = [each.results().attack_rate for each in (linked, guessed)]
print(json.dumps([[float(rate.value), float(rate.error)] for rate in rates]))
"""


def ran(program: str, *arguments: object) -> object:
    command = [PYTHON, "-c", program, *map(str, arguments)]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()[-1])


def people(count: int) -> pa.Table:
    draw = random.Random(1).random
    rows = [
        (18 + int(60 * draw()), "fm"[draw() < 0.5], "abc"[int(3 * draw())], int(1000 * draw() ** 3) // 50 * 50, "uvwxyz"[int(6 * draw() ** 1.5)])
        for _ in range(count)
    ]  # fmt: skip
    return pa.table({name: [row[i] for row in rows] for i, name in enumerate(["age", "sex", "town", "pay", "ill"])})


@pytest.mark.parametrize("limit", [{"l_diversity": 3, "k": 4}, {"t_closeness": 0.3}])
def test_pycanon_finds_in_the_table_written_what_was_asked_for(tmp_path: Path, limit: dict) -> None:
    pa_csv.write_csv(people(600), tmp_path / "people.csv")
    found = entropie.generalise(
        tmp_path / "people.csv", columns=["age", "sex", "town"], sensitive="ill", keep=["pay"], **limit
    )
    assert found.plan is not None
    assert found.after is not None
    entropie.apply(found.plan, tmp_path / "people.csv", tmp_path / "safer.csv")
    left = [level.column for level in found.columns if level.method != "drop"]
    theirs = ran(PYCANON, tmp_path / "safer.csv", ",".join(left), "pay,ill")
    ours = entropie.attributes(tmp_path / "safer.csv", columns=left, sensitive=["pay", "ill"])
    assert isinstance(theirs, dict)
    assert theirs["k"] == ours.anonymity.k == found.after.smallest_group >= limit.get("k", 1)
    for column in ours.sensitive:
        assert theirs[column.column] == [column.distinct_l, pytest.approx(column.t, abs=1e-9)]
    different, distance = theirs["ill"]
    assert different >= limit.get("l_diversity", 1)
    assert distance <= limit.get("t_closeness", 1.0) + 1e-9


def test_anonymeter_links_and_guesses_as_many_where_all_rows_differ(tmp_path: Path) -> None:
    """Elsewhere it takes one of several nearest rows, as they stand in the file, and counts agreement, not truth."""
    rows = 300
    table = people(rows).append_column("height", pa.array(range(rows))).append_column("weight", pa.array(range(rows)))
    pa_csv.write_csv(table, tmp_path / "people.csv")
    linked, guessed = ran(ANONYMETER, tmp_path / "people.csv", "age,height", "sex,weight", "ill")  # type: ignore[misc]
    ours = entropie.attributes(
        tmp_path / "people.csv", columns=["age", "height", "sex", "weight"], sensitive=["ill"],
        link=[(("age", "height"), ("sex", "weight"))],
    )  # fmt: skip
    assert ours.links[0].linked.value == pytest.approx(linked[0], abs=2 * linked[1] + 1e-9)
    inference = ours.sensitive[0].inference
    assert inference.in_table.value == pytest.approx(guessed[0], abs=2 * guessed[1] + 1e-9)
    assert min(linked[0], guessed[0]) > 0.9
