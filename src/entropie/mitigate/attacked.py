"""Every attacker in scope on some people, and the strongest of them: what an assessment of these people would judge."""

from __future__ import annotations

from dataclasses import dataclass

from entropie.attack.attacker import AttackerRow, Release, judged, strongest_row
from entropie.attack.attackers import attacker_rows, scoped
from entropie.attack.matchers import MATCHERS
from entropie.attack.measured import Attack, best_attack, measured_attack
from entropie.document.measured import ShareInterval
from entropie.measures.best import BestAttack
from entropie.request import Request


@dataclass(frozen=True, slots=True)
class Strongest:
    """The attacker in scope who re-identifies most.

    right     the share re-identified; the interval allows for the choice
    matcher   the best of the matchers, whose scores have bits
    judged    the attackers in scope that were run, by name
    """

    row: AttackerRow
    right: ShareInterval
    matcher: BestAttack
    judged: tuple[str, ...]


def strongest_on(release: Release, request: Request) -> Strongest:
    """Attack a release as an assessment does, and take the strongest of the attackers in scope."""
    rows, best = rows_on(release, request)
    row, right = strongest_row(rows)
    return Strongest(row, right, best, tuple(dict.fromkeys(one.attacker for one in judged(rows))))


def rows_on(release: Release, request: Request) -> tuple[tuple[AttackerRow, ...], BestAttack]:
    """Every attacker on a release, with its scope; and the best of the matchers."""
    attacks = [
        Attack(name, "partial", measured_attack(name, release.split, request.run, f"attacking: {name}"), None, 0.0)
        for name in request.attackers.matchers or MATCHERS
    ]
    matched = [AttackerRow.of_attack(attack, release.knows) for attack in attacks]
    return scoped([*attacker_rows(release, request), *matched], request), best_attack(attacks)
