"""Time one LDP frequency oracle of pure-ldp or multi-freq-ldpy and print the result as a JSON line.

l2_error is the Euclidean norm of (estimated - empirical) relative frequencies. pure-ldp's estimates are
unbiased; multi-freq-ldpy clips its own at zero and renormalises them, so the errors are not like for like.
Imports, data generation and numba compilation are not timed; peak_bytes covers the whole process.
"""

import argparse
import json
import math
import resource
import time
from collections.abc import Callable
from importlib.metadata import version
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Oracle = tuple[Callable[[int], Any], Callable[[list[Any]], Floats]]  # privatise one value, estimate all k


def zipf_values(n: int, k: int) -> NDArray[np.int64]:
    """Draw n values in 0..k-1 with probability proportional to 1 / (value + 1)."""
    cumulative = np.cumsum(1.0 / np.arange(1, k + 1))
    draws = np.random.default_rng(1).random(n) * cumulative[-1]
    values: NDArray[np.int64] = np.searchsorted(cumulative[:-1], draws, side="right")
    return values


def pure_ldp(k: int, epsilon: float, g: int | None) -> Oracle:
    from pure_ldp.frequency_oracles import DEClient, DEServer, LHClient, LHServer

    options = {"index_mapper": lambda value: value} | ({} if g is None else {"g": g})  # default maps 1..k
    client_class, server_class = (DEClient, DEServer) if g is None else (LHClient, LHServer)

    def estimate(reports: list[Any]) -> Floats:
        server = server_class(epsilon, k, **options)
        server.aggregate_all(reports)
        server.check_and_update_estimates()  # vectorised; estimate_all() would loop over the domain in Python
        estimates: Floats = server.get_estimates / len(reports)  # the server estimates counts
        return estimates

    return client_class(epsilon, k, **options).privatise, estimate


def multi_freq_ldpy(k: int, epsilon: float, g: int | None) -> Oracle:
    from multi_freq_ldpy.pure_frequency_oracles.GRR import GRR_Aggregator_MI, GRR_Client
    from multi_freq_ldpy.pure_frequency_oracles.LH import LH_Aggregator_MI, LH_Client

    if g is None:
        return lambda v: GRR_Client(v, k, epsilon), lambda reports: GRR_Aggregator_MI(reports, k, epsilon)
    optimal = g == optimal_hash_size(epsilon)
    if not optimal and g != 2:
        raise SystemExit("multi-freq-ldpy only hashes to 2 values or to the optimal number")
    return (
        lambda v: LH_Client(v, k, epsilon, optimal),
        lambda reports: LH_Aggregator_MI(reports, k, epsilon, optimal),
    )


def optimal_hash_size(epsilon: float) -> int:
    """The hash size both packages use for optimal local hashing."""
    return round(math.exp(epsilon)) + 1


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--package", choices=["pure-ldp", "multi-freq-ldpy"], required=True)
    parser.add_argument("--mechanism", choices=["rr", "olh"], required=True)
    parser.add_argument("--n", type=int, required=True, help="number of users")
    parser.add_argument("--k", type=int, required=True, help="domain size")
    parser.add_argument("--epsilon", type=float, required=True)
    parser.add_argument("--hash-size", type=int, help="olh only; default round(e^epsilon) + 1")
    args = parser.parse_args()
    if args.mechanism == "rr" and args.hash_size is not None:
        parser.error("--hash-size needs --mechanism olh")
    g = None if args.mechanism == "rr" else args.hash_size or optimal_hash_size(args.epsilon)

    make = pure_ldp if args.package == "pure-ldp" else multi_freq_ldpy
    privatise, estimate = make(args.k, args.epsilon, g)
    values = zipf_values(args.n, args.k)
    inputs = values.tolist()
    privatise(inputs[0])  # compiles multi-freq-ldpy's client

    start = time.perf_counter()
    reports = [privatise(value) for value in inputs]
    privatised = time.perf_counter()
    estimates = estimate(reports)
    end = time.perf_counter()
    peak_bytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024

    truth = np.bincount(values, minlength=args.k) / args.n
    result = {
        "package": args.package,
        "version": version(args.package),
        **vars(args),
        "hash_size": g,
        "client_seconds": round(privatised - start, 3),
        "server_seconds": round(end - privatised, 3),
        "total_seconds": round(end - start, 3),
        "peak_bytes": peak_bytes,
        "l2_error": float(np.linalg.norm(estimates - truth)),
    }
    print(json.dumps(result))


if __name__ == "__main__":
    main()
