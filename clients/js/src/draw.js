/** The exact draws of a device: from an item code and a stream of bytes to a record of 24 bytes.
 *
 * Everything is a function of a byte stream, so that the same bytes give the same record in Python and here.
 */

import { sha256 } from "./canonical.js";

/** The numerator of probability 1. */
export const ONE = 1n << 64n;
export const RECORD_BYTES = 24;
const NONCE_BYTES = 16;
const LABEL_BYTES = 16;

/** Bytes that were given are used up. */
class UsedUp extends RangeError {}

const bitLength = (value) => (value === 0n ? 0 : value.toString(2).length);
const bigEndian = (bytes) => bytes.reduce((sum, byte) => (sum << 8n) | BigInt(byte), 0n);

/** An unsigned integer as 8 bytes, most significant first. */
const eightBytes = (value) => {
  const bytes = new Uint8Array(8);
  new DataView(bytes.buffer).setBigUint64(0, BigInt(value));
  return bytes;
};

const joined = (...parts) => {
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let place = 0;
  for (const part of parts) {
    whole.set(part, place);
    place += part.length;
  }
  return whole;
};

/** Uniform integers from bytes; `take(count)` gives so many next ones. */
export class Stream {
  constructor(take) {
    this.take = take;
  }

  /** The operating system's randomness. */
  static ofSystem() {
    return new Stream((count) => globalThis.crypto.getRandomValues(new Uint8Array(count)));
  }

  /** Given bytes; it ends with an error where they do. */
  static of(bytes) {
    let place = 0;
    return new Stream((count) => {
      if (place + count > bytes.length) throw new UsedUp("The bytes are used up.");
      return bytes.slice(place, (place += count));
    });
  }

  /** Uniform on 0 .. 2^64-1. */
  word() {
    return bigEndian(this.take(8));
  }

  /** Uniform on 0 .. bound-1: a word cut to the bits of bound-1, thrown away while it is too large. */
  below(bound) {
    const shift = 64n - BigInt(Math.max(1, bitLength(bound - 1n)));
    let drawn = this.word() >> shift;
    while (drawn >= bound) drawn = this.word() >> shift;
    return drawn;
  }

  /** True with probability numerator/2^64. */
  happens(numerator) {
    return this.word() < numerator;
  }
}

/** What `use` makes of the public stream of a seed, for one purpose and one index. */
async function expanded(seed, label, index, use) {
  const head = joined(seed, new Uint8Array(LABEL_BYTES), eightBytes(index));
  head.set(new TextEncoder().encode(label), seed.length);
  for (let blocks = 1; ; blocks *= 2) {
    const made = Array.from({ length: blocks }, (_, block) => sha256(joined(head, eightBytes(block))));
    try {
      return use(Stream.of(joined(...(await Promise.all(made)))));
    } catch (problem) {
      if (!(problem instanceof UsedUp)) throw problem;
    }
  }
}

/** The numbers a and b of function `index` of the pool. */
export function hashFunction(seed, index, prime) {
  return expanded(seed, "hash function", index, (stream) => [1n + stream.below(prime - 1n), stream.below(prime)]);
}

/** The code of a name in an open domain. */
export async function codeOfName(seed, name, domain) {
  const own = await sha256(joined(seed, new TextEncoder().encode(name.normalize("NFC"))));
  return expanded(own, "item", 0, (stream) => stream.below(domain));
}

/** The record of one report about the item `code`. Truth and lie are both always made, so that time tells nothing. */
export async function record(collection, code, stream = Stream.ofSystem()) {
  const { domain, hashSize, prime, pool, numerator, seed } = collection.mechanism;
  const nonce = stream.take(NONCE_BYTES);
  if (hashSize === null) {
    const lie = stream.below(domain);
    return joined(nonce, eightBytes([lie, code][Number(stream.happens(numerator))]));
  }
  const index = stream.below(pool);
  const lie = stream.below(hashSize);
  const truthful = stream.happens(numerator);
  const [a, b] = await hashFunction(seed, index, prime);
  const truth = ((a * code + b) % prime) % hashSize;
  return joined(nonce, eightBytes(index * hashSize + [lie, truth][Number(truthful)]));
}
