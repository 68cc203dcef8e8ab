"""Data made to get a PASS that is not deserved, and harmless data that deserve one, judged again and again.

    scripts/soak verdict [--trials N] [--seconds S] [--seed S]

Each trial draws a kind of data, sizes and a limit. *Wrong*: a PASS, or a limited one, although a group of at least 20
people has a true risk of more than twice the limit. The last row is the other way round: harmless data that do pass.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent / "gate"))

from adversarial import KINDS as HABITS
from adversarial import RISKS, Crowd, harmless
from together import NOT_ALWAYS, TOGETHER, TOGETHER_RISKS

import entropie

KINDS = {**HABITS, **{kind: made for kind, made in TOGETHER.items() if kind not in NOT_ALWAYS}}
TRUE_RISKS = {**RISKS, **TOGETHER_RISKS}
LIMITS = (0.05, 0.09, 0.2, 0.33)
DECISIONS = ("PASS", "PASS (limited)", "INCONCLUSIVE", "FAIL")
HARMLESS = "harmless"


@dataclass(frozen=True, slots=True)
class Trial:
    """Data of one kind held against a limit."""

    kind: str
    crowd: Crowd
    limit: float

    def decision(self) -> str:
        """What `assess` decides."""
        made = harmless if self.kind == HARMLESS else KINDS[self.kind]
        found = entropie.assess(
            made(self.crowd), limit=self.limit, limit_name="trial", fail_on="worst", control=False, replicates=2
        )
        assert found.verdict is not None
        return str(found.verdict["decision"])


def trials(seed: int) -> Iterator[Trial]:
    """Without end: every kind in turn, with sizes and a limit drawn for it."""
    rng = np.random.default_rng(seed)
    while True:
        for kind in (*KINDS, HARMLESS):
            people = int(rng.choice((240, 600, 1600, 4000)))
            crowd = Crowd(people, int(rng.integers(12, 31)), int(rng.integers(20, 61)), int(rng.integers(2**31)))
            yield Trial(
                kind, crowd, float(rng.choice([one for one in LIMITS if 2.0 * one < TRUE_RISKS.get(kind, 1.0)]))
            )


def table(found: Counter[tuple[str, str]]) -> str:
    """Decisions by kind of data."""
    lines = [f"| data | {' | '.join(DECISIONS)} | wrong |", f"|---|{'---:|' * (len(DECISIONS) + 1)}"]
    for kind in (*KINDS, HARMLESS):
        counts = [found[kind, decision] for decision in DECISIONS]
        wrong = counts[3] if kind == HARMLESS else counts[0] + counts[1]
        lines.append(f"| {kind} | {' | '.join(map(str, counts))} | {wrong} |")
    return "\n".join(lines)


def main() -> int:
    """Try as often as asked for or as time allows; exit code 1 where a PASS was wrong."""
    parser = argparse.ArgumentParser(prog="scripts/soak verdict", description=__doc__)
    parser.add_argument("--trials", type=int, default=900)
    parser.add_argument("--seconds", type=float, default=1800.0)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    found: Counter[tuple[str, str]] = Counter()
    begun = time.perf_counter()
    for number, trial in enumerate(trials(asked.seed)):
        if number >= asked.trials or time.perf_counter() - begun > asked.seconds:
            break
        decision = trial.decision()
        found[trial.kind, decision] += 1
        if trial.kind != HARMLESS and decision.startswith("PASS"):
            print(f"wrong: {trial}: {decision}", file=sys.stderr)
    print(table(found))
    return int(any(found[kind, decision] for kind in KINDS for decision in DECISIONS[:2]))


if __name__ == "__main__":
    sys.exit(main())
