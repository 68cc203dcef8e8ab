"""What a device draws for one report: from an item code and a stream of random bytes to a record of 24 bytes.

The order of the draws, which test vectors hold every client to (`stream.py` says how each is drawn):

    randomized response                         local hashing
    1. nonce = the next 16 bytes                1. nonce = the next 16 bytes
    2. lie = below(k)                           2. j = below(K)
    3. truthful = happens(T)                    3. lie = below(g)
    4. cell = code if truthful, else lie        4. truthful = happens(T)
                                                5. y = h_j(code) if truthful, else lie;  cell = j * g + y

Truth and lie are both always made, so that the time taken says nothing. On a device the stream is the operating
system's, and the record is made once: it is stored before it is sent, and a retry sends the same bytes.
"""

from __future__ import annotations

from entropie.collector.document import Collection
from entropie.collector.pool import hash_function
from entropie.collector.stream import Stream
from entropie.collector.wire import NONCE_BYTES, encode
from entropie.mechanisms.local_hashing import LocalHashing
from entropie.mechanisms.values import checked_value


def report(collection: Collection, code: int, stream: Stream | None = None) -> bytes:
    """The record of one report about the item `code`, drawn from the operating system or the stream given."""
    stream = Stream() if stream is None else stream
    mechanism = collection.device
    code = checked_value(code, mechanism.domain_size)
    nonce = stream.take(NONCE_BYTES)
    if isinstance(mechanism, LocalHashing):
        index = stream.below(collection.functions)
        lie = stream.below(mechanism.hash_size)
        truthful = stream.happens(mechanism.theta_numerator)
        truth = mechanism.family.value(*hash_function(collection.seed_bytes, index, mechanism.family.prime), code)
        return encode(nonce, index * mechanism.hash_size + (lie, truth)[truthful])
    lie = stream.below(mechanism.domain_size)
    return encode(nonce, (lie, code)[stream.happens(mechanism.theta_numerator)])
