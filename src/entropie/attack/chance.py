"""What chance alone shows: people and events exchanged at random, in ways that no name has a part in.

Nothing here needs more of everybody than their order or how many have what: any part of an exchange can be made alone.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from entropie.attack.features import length_histogram
from entropie.data.split import Split
from entropie.data.traces import Traces
from entropie.errors import InvalidInput, InvalidParameter
from entropie.kernels.keyed import permuted_places, trace_hashes

_ROUNDS = 8
_LEAST_HALF_BITS = 4  # fewer bits would make few different permutations; small sizes walk a little longer instead
_LARGEST_SIZE = 2**62


def scattered(places: NDArray[np.int64], size: int, seed: int) -> NDArray[np.int64]:
    """Where a pseudo-random permutation of 0..size-1, keyed by the seed, sends some places; nothing else is computed.

    A Feistel network of eight rounds on the next even number of bits; what falls beyond the end is sent on until it
    does not.
    """
    if not 1 <= size <= _LARGEST_SIZE:
        raise InvalidParameter.of("size", "between 1 and 2^62", size)
    if places.size and not 0 <= int(places.min()) <= int(places.max()) < size:
        raise InvalidParameter.of("places", f"between 0 and {size - 1}", places.tolist()[:5])
    half_bits = max(_LEAST_HALF_BITS, ((size - 1).bit_length() + 1) // 2)
    keys = np.random.SeedSequence(seed).generate_state(_ROUNDS, np.uint64).astype(np.uint64)
    sent: NDArray[np.int64] = permuted_places(places.astype(np.int64, copy=False), size, half_bits, keys)
    return sent


def dealt_anew(traces: Traces, seed: int) -> Traces:
    """The same events given to people at random, as many to each as before."""
    popularity, items = np.unique(np.bincount(traces.items, minlength=traces.domain_size), return_counts=True)
    return dealt_people(*length_histogram(traces), popularity, items, seed, 0, traces.users)


def dealt_people(
    lengths: NDArray[np.int64],
    people: NDArray[np.int64],
    popularity: NDArray[np.int64],
    items: NDArray[np.int64],
    seed: int,
    begin: int,
    end: int,
) -> Traces:
    """People number begin..end-1 of `dealt_anew`, in the order of their numbers of events.

    people[i] people have lengths[i] events each, items[j] items have popularity[j] events each, both rising. Events
    are numbered along the items from the least popular on, and slots along the people; a slot gets the event that
    `scattered` sends it to.
    """
    slots_before, events_before = (_starts(each, many) for each, many in ((lengths, people), (popularity, items)))
    events = int(slots_before[-1])
    if events != int(events_before[-1]):
        raise InvalidInput(f"People have {events} events and items {int(events_before[-1])}; they must be the same.")
    people_before = np.concatenate(([0], np.cumsum(people)))
    if not 0 <= begin <= end <= int(people_before[-1]):
        raise InvalidParameter.of("begin", f"at most end, and both within the {people_before[-1]} people", (begin, end))
    numbers = np.arange(begin, end)
    kind = np.searchsorted(people_before, numbers, side="right") - 1
    offsets = np.concatenate((np.zeros(1, np.int64), np.cumsum(lengths[kind])))
    if begin == end or not offsets[-1]:
        return Traces(offsets, np.empty(0, np.uint32), int(items.sum()))
    first = int(slots_before[kind[0]] + (begin - people_before[kind[0]]) * lengths[kind[0]])
    event = scattered(np.arange(first, first + int(offsets[-1])), events, seed)
    kind = np.searchsorted(events_before, event, side="right") - 1
    items_before = np.concatenate(([0], np.cumsum(items)))
    codes = items_before[kind] + (event - events_before[kind]) // popularity[kind]
    return Traces(offsets, codes.astype(np.uint32), int(items.sum()))


def exchanged_targets(split: Split, seed: int, order: NDArray[np.int64] | None = None) -> NDArray[np.int64]:
    """A random exchange of targets that goes by what people did, so that their names do not change it.

    Person i gets the target of the person returned at i. `order` is that of `by_content`, if it is known already.
    """
    order = by_content(split) if order is None else order
    exchanged = np.empty_like(order)
    exchanged[order] = order[scattered(np.arange(order.size), order.size, seed)]
    return exchanged


def by_content(split: Split) -> NDArray[np.int64]:
    """People sorted by a hash of their events, an event being as popular as its item: no name has a part in it.

    People whose events are alike in this stand in the order of their names.
    """
    size = split.train.domain_size
    popular = [np.bincount(traces.items, minlength=size) for traces in (split.train, split.target)]
    return np.argsort(content_hashes(split.train, split.target, *popular), kind="stable")


def content_hashes(
    train: Traces, target: Traces, train_events: NDArray[np.int64], target_events: NDArray[np.int64]
) -> NDArray[np.uint64]:
    """Hash what each of some people did; the two arrays count everybody's events at each item of these traces."""
    kinds = (train_events.astype(np.uint64) << np.uint64(32)) + target_events.astype(np.uint64) + np.uint64(1)
    hashes = np.zeros(train.users, np.uint64)
    for traces, factor in ((train, 0x9E3779B97F4A7C15), (target, 0xC2B2AE3D27D4EB4F)):
        hashes = hashes * np.uint64(31) + trace_hashes(traces.offsets, traces.items, kinds, np.uint64(factor))
    return hashes


def _starts(each: NDArray[np.int64], many: NDArray[np.int64]) -> NDArray[np.int64]:
    """Events before each kind, and those of all kinds at the end."""
    starts: NDArray[np.int64] = np.concatenate((np.zeros(1, np.int64), np.cumsum(each * many)))
    return starts
