"""Attack what people really sent: reports of a mechanism, with models learned from plain events."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from entropie.attack.mechanism import HashedTargets, attack_hashed, randomized_response
from entropie.attack.scoring import AttackOutcome, attack
from entropie.data.traces import Traces
from entropie.errors import InvalidParameter
from entropie.mechanisms.choice import RandomChoice
from entropie.mechanisms.local_hashing import LocalHashing
from entropie.mechanisms.mechanism import Mechanism

__all__ = ["attack_reports"]


def attack_reports(
    mechanism: Mechanism,
    train: Traces,
    reports: Any,
    offsets: NDArray[np.int64] | None = None,
    *,
    threads: int | None = None,
) -> AttackOutcome:
    """Score all people for reports made by `mechanism`, which the attacker knows.

    `reports` is what the mechanism's `simulate` or `obfuscate_many` gave; those of user j stand at
    offsets[j]:offsets[j+1], one each where `offsets` is left out.
    """
    if isinstance(mechanism, RandomChoice):
        raise InvalidParameter("Parameter `mechanism` must be a plain mechanism, not a random choice of several.")
    bounds = np.arange(train.users + 1, dtype=np.int64) if offsets is None else offsets
    if isinstance(mechanism, LocalHashing):
        a, b, y = reports
        family = mechanism.family
        targets = HashedTargets(bounds, a, b, y, mechanism.domain_size, family.hash_size, family.prime, mechanism.theta)
        return attack_hashed(train, targets, threads=threads)
    sent = Traces(bounds, np.asarray(reports).astype(np.uint32), mechanism.domain_size)
    return attack(randomized_response(train, sent, theta=mechanism.theta), threads=threads)
