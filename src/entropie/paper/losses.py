"""How far estimated distributions are from the truth: one step per mechanism, shared by the figures on utility."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from entropie.mechanisms.local_hashing import LocalHashing
from entropie.paper.settings import Settings
from entropie.paper.single import mechanism_of, stream
from entropie.paper.sources import remembered, single_data
from entropie.paper.steps import Step
from entropie.theory import local_hashing, paper, randomized_response
from entropie.theory.calibration import largest_theta
from entropie.theory.loss import local_hashing_l2
from entropie.theory.special import epsilon_of

TOP = 100
"""The most visited places that a loss is also given for."""

SHOWN = 20
"""The most visited places that are shown one by one."""

METHODS = ("emp", "emp+thr")


class Truth:
    """The distribution of the single check-ins, and its most frequent places in order."""

    def __init__(self, settings: Settings) -> None:
        data = single_data(settings)
        self.values = data.items
        self.users = data.users
        self.domain_size = data.domain_size
        self.shares: NDArray[np.float64] = np.bincount(data.items, minlength=data.domain_size) / data.users
        size = min(TOP, data.domain_size)
        top = np.argpartition(-self.shares, size - 1)[:size]
        self.top: NDArray[np.int64] = top[np.lexsort((top, -self.shares[top]))]


@remembered
def truth(settings: Settings) -> Truth:
    """The truth at this scale, computed once."""
    return Truth(settings)


def theorem_theta(users: int, domain_size: int, error: float) -> float:
    """The most truth that the paper's theorem allows for a guaranteed error."""
    return paper.theta_for(paper.alpha_bits_for(error, users), users, domain_size)


def most_truth(kind: str, users: int, domain_size: int, answers: int, error: float) -> float:
    """The same by the exact bound: randomized response over all items, or local hashing to so many answers."""

    def success(theta: float) -> float:
        epsilon = epsilon_of(theta, answers)
        if kind == "rr":
            return randomized_response.success(users, domain_size, epsilon)
        return local_hashing.success(users, domain_size, answers, epsilon)

    return largest_theta(success, error)


def loss_step(
    settings: Settings,
    kind: str,
    *,
    epsilon: float | None = None,
    theta: float | None = None,
    hash_size: int | None = None,
) -> Step:
    """The step of one mechanism with one setting."""
    size = hash_size or settings.scale.hash_size
    setting = f"epsilon {epsilon:g}" if epsilon is not None else f"theta {theta:.6g}"
    hashed = f", g = {size}" if kind == "glh" else ""
    work = settings.scale.domain_size / size if kind == "glh" else 0.0
    arguments = {"kind": kind, "epsilon": epsilon, "theta": theta, "hash_size": size}
    return Step(f"estimates: {kind}{hashed}, {setting}", loss, arguments, 0.2 + work / 400.0)


def loss(
    settings: Settings, *, kind: str, epsilon: float | None, theta: float | None, hash_size: int
) -> dict[str, Any]:
    """Squared error of the estimates over the top places and over all of them, as found and as the formula says."""
    known = truth(settings)
    mechanism = mechanism_of(kind, known.domain_size, hash_size, epsilon=epsilon, theta=theta)
    rng = stream(settings, "loss", kind, epsilon, theta, hash_size)
    runs: dict[str, list[float]] = {f"{method} {part}": [] for method in METHODS for part in ("top", "all")}
    shown: dict[str, list[float]] = {}
    for _ in range(settings.scale.repeats):
        found = mechanism.estimate(mechanism.simulate(known.values, rng))
        for method, estimates in zip(METHODS, (found.probabilities, found.significant()), strict=True):
            shown[method] = estimates[known.top[:SHOWN]].tolist()
            difference = estimates - known.shares
            runs[f"{method} top"].append(float(difference[known.top] @ difference[known.top]))
            runs[f"{method} all"].append(float(difference @ difference))
    rates, n = mechanism.rates, known.users
    given = mechanism.guarantee(users=n)
    shares = known.shares[known.top]
    result: dict[str, Any] = {
        "kind": kind,
        "epsilon": mechanism.epsilon if math.isfinite(mechanism.epsilon) else None,
        "theta": mechanism.theta,
        "hash_size": hash_size if kind == "glh" else None,
        "users": n,
        "domain_size": known.domain_size,
        "bayes_error": given.bayes_error,
        "bayes_error_paper": given.bayes_error_paper,
        "formula top": math.fsum(rates.l2(float(share), n) for share in shares),
        "formula all": rates.l2_sum(known.domain_size, n),
        "paper formula top": _paper_formula(mechanism, shares, n),
        "top_shares": shares[:SHOWN].tolist(),
        "top_estimates": shown,  # of the last run
        "runs": settings.scale.repeats,
    }
    for name, values in runs.items():
        spread = float(np.std(values, ddof=1)) / math.sqrt(len(values)) if len(values) > 1 else None
        result |= {name: float(np.mean(values)), f"{name} standard_error": spread}
    return result


def _paper_formula(mechanism: object, shares: NDArray[np.float64], users: int) -> float | None:
    """The paper's form for local hashing, which takes collisions to have probability 1/g."""
    if not isinstance(mechanism, LocalHashing):
        return None
    parts = (local_hashing_l2(float(share), users, mechanism.hash_size, mechanism.epsilon) for share in shares)
    return math.fsum(parts)
