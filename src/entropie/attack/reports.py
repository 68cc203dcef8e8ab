"""Attack what people really sent: reports of a mechanism, with models learned from plain events."""

from __future__ import annotations

import time as clock
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from entropie.attack.attacker import AttackerRow, Naming, Release
from entropie.attack.chance import scattered
from entropie.attack.mechanism import HashedTargets, attack_hashed, randomized_response
from entropie.attack.scoring import AttackOutcome, attack
from entropie.attack.single import attack_single
from entropie.data.reported import Reported
from entropie.data.traces import Traces
from entropie.errors import InvalidParameter
from entropie.mechanisms.hashing import HashFamily
from entropie.mechanisms.mechanism import Mechanism
from entropie.request import Request


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
    offsets[j]:offsets[j+1], one each where `offsets` is left out. One item each is attacked without
    visiting pairs.
    """
    bounds = np.arange(train.users + 1, dtype=np.int64) if offsets is None else offsets
    if mechanism.reports_are == "items":
        sent = Traces(bounds, np.asarray(reports).astype(np.uint32), mechanism.domain_size)
        if np.diff(bounds).max(initial=0) <= 1:
            return attack_single(train, sent, theta=mechanism.theta)
        return attack(randomized_response(train, sent, theta=mechanism.theta), threads=threads)
    if mechanism.reports_are == "hashes":
        family: HashFamily = mechanism.family  # type: ignore[attr-defined]
        a, b, y = reports
        targets = HashedTargets(bounds, a, b, y, mechanism.domain_size, family.hash_size, family.prime, mechanism.theta)
        return attack_hashed(train, targets, threads=threads)
    raise InvalidParameter(
        f"Parameter `mechanism` must send items or hashes of items to be attacked, got {mechanism.title} instead."
    )


def report_rows(release: Release, request: Request) -> Iterator[AttackerRow]:
    """The row of the attacker who knows the mechanism and, from another file, what people do."""
    sent = release.known
    if not isinstance(sent, Reported):
        return
    begun, run = clock.perf_counter(), request.run
    run.progress("attacking: reports", 0.0)
    row, control = (
        Naming.of_outcome(_attacked(sent, order, run.threads), sent.pairs)
        for order in (None, scattered(np.arange(sent.pairs), sent.pairs, run.seed))
    )
    yield AttackerRow.of(
        "reports",
        "the mechanism and the known file",
        sent.known.users,
        row,
        control if request.attackers.control else None,
        matcher=sent.mechanism.kind,
        instead_of=("points",) if sent.fits else (),
        seconds=clock.perf_counter() - begun,
    )


def _attacked(sent: Reported, order: NDArray[np.int64] | None, threads: int | None) -> AttackOutcome:
    offsets, reports = sent.sent(order)
    return attack_reports(sent.mechanism, sent.known, reports, offsets, threads=threads)
