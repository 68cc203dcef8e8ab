"""Time one frequency oracle of entropie and print the result as a JSON line, like `rivals.py` does for others.

Imports, data generation and compilation are not timed; the best of several rounds is reported, since a shared machine
only ever adds time. peak_bytes covers the whole process.
"""

from __future__ import annotations

import argparse
import json
import resource
import time
from typing import Any

import numpy as np
from rivals import optimal_hash_size, zipf_values

import entropie
from entropie.mechanisms.mechanism import Mechanism


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mechanism", choices=["rr", "olh", "glh"], required=True)
    parser.add_argument("--n", type=int, required=True)
    parser.add_argument("--k", type=int, required=True)
    parser.add_argument("--epsilon", type=float)
    parser.add_argument("--theta", type=float)
    parser.add_argument("--hash-size", type=int)
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args()
    mechanism = build(args)
    values = zipf_values(args.n, args.k).astype(np.uint64)
    rng = np.random.default_rng(2)
    mechanism.estimate(mechanism.simulate(values[:2000], rng)).probabilities  # noqa: B018 - compiles

    best = (float("inf"), 0.0, 0.0)
    estimates: Any = None
    reports: Any = None
    for _ in range(args.rounds):
        estimates = reports = None  # the last round's memory is given back outside of this round's time
        begun = time.perf_counter()
        reports = mechanism.simulate(values, rng)
        simulated = time.perf_counter()
        estimates = mechanism.estimate(reports).probabilities
        ended = time.perf_counter()
        best = min(best, (ended - begun, simulated - begun, ended - simulated))
    truth = np.bincount(values.astype(np.int64), minlength=args.k) / args.n
    print(
        json.dumps(
            {
                "package": "entropie",
                "version": entropie.__version__,
                "mechanism": args.mechanism,
                "n": args.n,
                "k": args.k,
                "hash_size": getattr(mechanism, "hash_size", None),
                "client_seconds": best[1],
                "server_seconds": best[2],
                "total_seconds": best[0],
                "peak_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
                "l2_error": float(np.linalg.norm(estimates - truth)),
            }
        )
    )


def build(args: argparse.Namespace) -> Mechanism:
    if args.mechanism == "rr":
        return entropie.RandomizedResponse(domain_size=args.k, epsilon=args.epsilon)
    size = args.hash_size or optimal_hash_size(args.epsilon)
    if args.theta is not None:
        return entropie.LocalHashing.from_theta(domain_size=args.k, hash_size=size, theta=args.theta)
    return entropie.LocalHashing(domain_size=args.k, hash_size=size, epsilon=args.epsilon)


if __name__ == "__main__":
    main()
