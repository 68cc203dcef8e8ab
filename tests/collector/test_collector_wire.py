"""Streams, pool, records and devices, against oracles that share no code, and vectors that other languages can use."""

from __future__ import annotations

import hashlib
import struct
from collections import Counter

import pytest
from collector_made import SEED, drinks, places
from hypothesis import given
from hypothesis import strategies as st

from entropie.collector.device import report
from entropie.collector.pool import code_of_name, hash_function
from entropie.collector.stream import expanded, from_bytes
from entropie.collector.wire import RECORD_BYTES, decode, encode
from entropie.errors import EntropieError, InvalidInput


def numbers(data: bytes):
    """An oracle of the stream: a generator of words."""
    for place in range(0, len(data) - 7, 8):
        yield struct.unpack(">Q", data[place : place + 8])[0]


def below(words, bound: int) -> int:
    bits = max(1, len(bin(bound - 1)) - 2)
    return next(top for word in words if (top := int(bin(word)[2:].zfill(64)[:bits], 2)) < bound)


def blocks(seed: bytes, label: bytes, index: int) -> bytes:
    head = seed + label + bytes(16 - len(label)) + struct.pack(">Q", index)
    return b"".join(hashlib.sha256(head + struct.pack(">Q", place)).digest() for place in range(40))


@given(st.integers(0, 2**20), st.sampled_from([3, 101, 1009, 2**31 - 1, 2**61 - 1]))
def test_functions_of_the_pool(index, prime):
    words = numbers(blocks(bytes.fromhex(SEED), b"hash function", index))
    a = 1 + below(words, prime - 1)
    assert hash_function(bytes.fromhex(SEED), index, prime) == (a, below(words, prime))


def test_codes_of_names_do_not_depend_on_how_accents_are_written():
    seed = bytes.fromhex(SEED)
    assert code_of_name(seed, "caf\u00e9", 10**9) == code_of_name(seed, "cafe\u0301", 10**9)
    own = hashlib.sha256(seed + "café".encode()).digest()
    assert code_of_name(seed, "café", 10**9) == below(numbers(blocks(own, b"item", 0)), 10**9)


@given(st.binary(min_size=400, max_size=400), st.integers(0, 99))
def test_a_device_draws_in_the_order_that_is_written(data, code):
    made = places(pool=1000)
    words = numbers(data[16:])
    index, lie = below(words, 1000), below(words, 8)
    truthful = next(words) < made.device.theta_numerator
    a, b = hash_function(made.seed_bytes, index, 101)
    cell = index * 8 + ((a * code + b) % 101 % 8 if truthful else lie)
    assert report(made, code, from_bytes(data)) == data[:16] + struct.pack(">Q", cell)
    simple = drinks()
    words = numbers(data[16:])
    lie, truthful = below(words, 5), next(words) < simple.device.theta_numerator
    assert report(simple, code % 5, from_bytes(data)) == data[:16] + struct.pack(">Q", code % 5 if truthful else lie)


def test_a_device_needs_the_operating_system_alone():
    made = drinks()
    sent = [report(made, 3) for _ in range(400)]
    assert len({one[:16] for one in sent}) == 400
    assert Counter(one[-1] for one in sent).most_common(1)[0][0] == 3


def test_a_stream_of_bytes_ends():
    with pytest.raises(EOFError):
        from_bytes(b"1234567").word()


@given(st.integers(1, 2**64))
def test_public_streams_stay_below_their_bound(bound):
    stream = expanded(bytes(32), "item")
    assert all(0 <= stream.below(bound) < bound for _ in range(5))


@given(
    st.lists(st.tuples(st.binary(min_size=16, max_size=16), st.integers(0, 2**64 - 1)), min_size=1, max_size=9),
    st.integers(1, 2**62),
)
def test_bodies_are_read_as_they_are_written(records, cells):
    body = b"".join(encode(nonce, cell) for nonce, cell in records)
    valid = [(nonce, cell) for nonce, cell in records if cell < cells]
    found = decode(body, cells)
    assert list(zip(found.nonces, found.cells, strict=True)) == valid
    assert found.invalid == len(records) - len(valid)
    assert found.sent == len(records)


@given(st.binary(max_size=100))
def test_no_body_breaks_the_decoder(body):
    try:
        found = decode(body, 5)
    except EntropieError:
        assert not body or len(body) % RECORD_BYTES
    else:
        assert found.sent == len(body) // RECORD_BYTES


def test_a_nonce_has_its_length():
    with pytest.raises(InvalidInput):
        encode(b"short", 1)
