"""One check-in per person, sent through a mechanism: what is guaranteed, what the data hold, what an attack finds."""

from __future__ import annotations

from typing import Any

import numpy as np

from entropie.attack.reports import attack_reports
from entropie.attack.single import pie_bits
from entropie.mechanisms.hashing import HashFamily
from entropie.mechanisms.mechanism import Mechanism
from entropie.mechanisms.registry import make_mechanism
from entropie.paper.attacks import measured
from entropie.paper.settings import Settings
from entropie.paper.sources import single_data
from entropie.paper.steps import Step
from entropie.theory import any_mechanism, fano, joint, paper

MECHANISMS = ("rr", "glh")
TITLES = {"rr": "randomized response", "glh": "local hashing"}


def mechanism_of(
    kind: str, domain_size: int, hash_size: int, *, epsilon: float | None = None, theta: float | None = None
) -> Mechanism:
    """Randomized response (rr) or local hashing (glh) with this budget or this probability of the truth."""
    own = {"hash_size": hash_size} if kind == "glh" else {}
    return make_mechanism(kind, domain_size=domain_size, epsilon=epsilon, theta=theta, own=own)


def stream(settings: Settings, *words: object) -> np.random.Generator:
    """A generator of its own for every use, the same in every run."""
    numbers = [int.from_bytes(str(word).encode(), "little") for word in words]
    return np.random.default_rng([settings.seed, *numbers])


def single_steps(settings: Settings) -> list[Step]:
    """All that figures 5 and 6 show: a step per mechanism and budget, and one for the information in hashed data."""
    seconds = 0.2 + settings.scale.users / 40_000
    steps = [
        Step(f"single check-in: {kind}, epsilon {epsilon:g}", single, {"kind": kind, "epsilon": epsilon}, seconds / 4)
        for kind in MECHANISMS
        for epsilon in settings.scale.epsilons
    ]
    hashed = Step("single check-in: information in hashed data", hashed_information, {}, seconds)
    return [*steps, hashed]


def single(settings: Settings, *, kind: str, epsilon: float) -> dict[str, Any]:
    """Guarantees of one budget, the exact information in the data, and an attack on reports that were drawn."""
    data = single_data(settings)
    mechanism = mechanism_of(kind, data.domain_size, settings.scale.hash_size, epsilon=epsilon)
    reports = mechanism.simulate(data.items, stream(settings, "single", kind, epsilon))
    outcome = attack_reports(mechanism, data, reports, threads=settings.threads)
    n, k = data.users, data.domain_size
    given = mechanism.guarantee(users=n)
    distinct = np.unique(data.items).size
    in_data = pie_bits(data)
    found = measured(outcome, n, settings)
    return {
        "kind": kind,
        "epsilon": epsilon,
        "theta": mechanism.theta,
        "domain_size": k,
        "proposition_bits": given.alpha_bits_ldp,
        "any_mechanism_bits": any_mechanism.alpha_bits(n, k, epsilon),
        "theorem_bits": given.alpha_bits_paper,
        "exact_bits": given.alpha_bits,
        "ideal_hash_bits": given.alpha_bits_ideal_hash,
        "data_bits": in_data,
        "contraction_bits": given.contraction * in_data,
        "pie_bits": pie_bits(data, theta=mechanism.theta) if kind == "rr" else None,
        "error_by_proposition": paper.bayes_error(given.alpha_bits_ldp, n),
        "error_by_theorem": given.bayes_error_paper,
        "error_by_fano": fano.bayes_error(given.alpha_bits, n),
        "error_by_pse": paper.bayes_error(max(0.0, found["pse_bits"]), n),
        "error_exact": given.bayes_error,
        "error_expected": 1.0 - (mechanism.theta * distinct / n + (1.0 - mechanism.theta) / n)
        if kind == "rr"
        else None,
        **found,
    }


def hashed_information(settings: Settings) -> dict[str, Any]:
    """I(U;Y) of these data under local hashing, by epsilon: a mean over functions drawn from the family."""
    data, scale = single_data(settings), settings.scale
    thetas = [mechanism_of("glh", data.domain_size, scale.hash_size, epsilon=each).theta for each in scale.epsilons]
    found = joint.pie_bits_local_hashing(
        joint.Joint.sparse(data.offsets, data.items, np.ones(data.items.size), data.domain_size),
        thetas,
        HashFamily.smallest(data.domain_size, scale.hash_size).prime,
        scale.hash_size,
        stream(settings, "functions"),
        scale.hash_functions,
    )
    return {
        "epsilons": list(scale.epsilons),
        "pie_bits": found.bits.tolist(),
        "standard_error_bits": found.standard_error_bits.tolist(),
    }
