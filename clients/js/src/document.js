/** The collection document as a client reads it: checked field by field, nothing derived is taken on trust. */

import { fromHex, verified } from "./canonical.js";
import { codeOfName, ONE } from "./draw.js";
import { InvalidDocument, Refused } from "./errors.js";
import { guarantee } from "./guarantee.js";

const FIELDS = {
  collection: ["closes", "items", "limits", "mechanism", "opens", "people", "pool_size", "reports_per_person", "schema", "seed", "title", "version"],
  limits: ["bayes_error", "certainty", "list_error", "list_size"],
  rr: ["domain_size", "kind", "schema", "theta_numerator", "version"],
  glh: ["domain_size", "hash_size", "kind", "prime", "schema", "theta_numerator", "version"],
};
const DIGITS = /^(0|[1-9][0-9]{0,38})$/;
const SHARE = /^(0|1|0\.[0-9]{0,11}[1-9])$/;
const MOST_BYTES = 16_000_000;
const MOST_NAME_BYTES = 1_000;
const LARGEST_POOL = 1n << 20n;
const LARGEST_PRIME = 1n << 62n;
const MOST_CELLS = 1n << 62n;

const demand = (holds, field, rule) => {
  if (!holds) throw new InvalidDocument(`Field \`${field}\` of the collection must be ${rule}; ask the operator for a new document.`);
};

const fieldsOf = (value, name, fields) => {
  const given = value !== null && typeof value === "object" && !Array.isArray(value) ? Object.keys(value).sort() : [];
  demand(given.join() === fields.join(), name, `an object with exactly the fields ${fields.join(", ")}`);
};

const whole = (value, field, least, most) => {
  const rule = `a whole number from ${least} to ${most}, as text`;
  demand(typeof value === "string" && DIGITS.test(value), field, rule);
  demand(BigInt(value) >= least && BigInt(value) <= most, field, rule);
  return BigInt(value);
};

const day = (value, field) => {
  const rule = "a day such as 2026-12-31";
  demand(typeof value === "string" && /^[0-9]{4}-[0-9]{2}-[0-9]{2}$/.test(value), field, rule);
  const date = new Date(`${value}T00:00:00Z`);
  demand(!Number.isNaN(date.valueOf()) && date.toISOString().startsWith(value) && value >= "0001", field, rule);
  return value;
};

const name = (value, field) => {
  const rule = `text of 1 to ${MOST_NAME_BYTES} bytes`;
  demand(typeof value === "string" && value.isWellFormed(), field, rule);
  const size = new TextEncoder().encode(value).length;
  demand(size <= MOST_NAME_BYTES && value.trim() !== "" && !value.includes("\0"), field, rule);
  return value;
};

/** Whether a number below 2^64 is prime (Miller and Rabin, with bases that leave no doubt there). */
function isPrime(number) {
  const small = [2n, 3n, 5n, 7n, 11n, 13n, 17n, 19n, 23n, 29n, 31n, 37n];
  if (number < 2n) return false;
  for (const one of small) if (number % one === 0n) return number === one;
  let [odd, twos] = [number - 1n, 0];
  for (; odd % 2n === 0n; twos++) odd /= 2n;
  return small.every((base) => {
    let power = powerOf(base, odd, number);
    if (power === 1n) return true;
    for (let step = 0; step < twos; step++, power = (power * power) % number) if (power === number - 1n) return true;
    return false;
  });
}

function powerOf(base, exponent, modulus) {
  let made = 1n;
  for (; exponent > 0n; exponent >>= 1n, base = (base * base) % modulus)
    if (exponent & 1n) made = (made * base) % modulus;
  return made;
}

function mechanismOf({ mechanism: fields, pool_size: pool, seed }) {
  demand(["rr", "glh"].includes(fields?.kind), "kind", "rr or glh");
  fieldsOf(fields, "mechanism", FIELDS[fields.kind]);
  demand(fields.schema === "entropie.parameters" && fields.version === 1, "mechanism", "a parameter document of version 1");
  const hashes = fields.kind === "glh";
  demand((pool === null) === !hashes, "pool_size", "there with local hashing, and only with it");
  const domain = whole(fields.domain_size, "domain_size", 2n, MOST_CELLS);
  const hashSize = hashes ? whole(fields.hash_size, "hash_size", 2n, LARGEST_PRIME) : null;
  const least = hashes && hashSize > domain ? hashSize : domain;
  const prime = hashes ? whole(fields.prime, "prime", least, LARGEST_PRIME) : null;
  demand(!hashes || isPrime(prime), "prime", "a prime number");
  const made = {
    kind: fields.kind,
    domain,
    hashSize,
    prime,
    pool: hashes ? whole(pool, "pool_size", 1n, LARGEST_POOL) : null,
    numerator: whole(fields.theta_numerator, "theta_numerator", 0n, ONE),
    answers: hashSize ?? domain,
    seed: fromHex(seed),
  };
  demand(!hashes || made.pool * hashSize <= MOST_CELLS, "hash_size", "so small that cells stay below 2^62");
  return made;
}

function limitsOf(limits) {
  fieldsOf(limits, "limits", FIELDS.limits);
  whole(limits.list_size, "list_size", 1n, 10n ** 18n);
  const share = (field) => {
    const value = limits[field];
    demand(value === null || (typeof value === "string" && SHARE.test(value)), field, 'a share such as "0.9", or null');
    return value === null ? null : Number(value);
  };
  return { error: share("bayes_error"), certainty: share("certainty"), listError: share("list_error") };
}

function itemsOf(items, domain) {
  if (items === null) return null;
  demand(Array.isArray(items) && BigInt(items.length) === domain, "items", "a list of as many names as the mechanism has items, or null");
  const codes = new Map(items.map((item, code) => [name(item, `items[${code}]`).normalize("NFC"), BigInt(code)]));
  demand(codes.size === items.length, "items", "a list that names every item once");
  return codes;
}

/** One collection; `Collection.read` is the only way to make it. */
export class Collection {
  /** The collection of exactly these bytes, whose SHA-256 must be `id`. */
  static async read(bytes, id) {
    if (bytes.length > MOST_BYTES) throw new InvalidDocument(`The document must have at most ${MOST_BYTES} bytes, got ${bytes.length}.`);
    return new Collection(await verified(bytes, id), id);
  }

  constructor(fields, id) {
    fieldsOf(fields, "document", FIELDS.collection);
    demand(fields.schema === "entropie.collection" && fields.version === 1, "schema", "entropie.collection, version 1");
    demand(typeof fields.seed === "string" && /^[0-9a-f]{64}$/.test(fields.seed), "seed", "64 hexadecimal digits");
    demand(typeof fields.title === "string" && [...fields.title].length <= 200, "title", "at most 200 characters");
    this.id = id;
    this.title = name(fields.title, "title");
    this.mechanism = mechanismOf(fields);
    this.limits = limitsOf(fields.limits);
    this.items = fields.items;
    this.codes = itemsOf(fields.items, this.mechanism.domain);
    this.people = Number(whole(fields.people, "people", 1n, 10n ** 12n));
    this.reports = Number(whole(fields.reports_per_person, "reports_per_person", 1n, 10n ** 6n));
    this.opens = day(fields.opens, "opens");
    this.closes = day(fields.closes, "closes");
    demand(this.opens <= this.closes, "closes", "a day from the first on");
    this.guarantee = guarantee(this.mechanism, this.people, this.reports);
  }

  /** The code of a name; where items are listed, it must be one of them. */
  async codeOf(value) {
    const given = typeof value === "string" && value.isWellFormed() ? value : undefined;
    if (given === undefined) throw new Refused("The answer must be text; nothing was drawn or sent.");
    if (this.codes === null) return codeOfName(this.mechanism.seed, given, this.mechanism.domain);
    const code = this.codes.get(given.normalize("NFC"));
    if (code === undefined) throw new Refused("The answer must be one of the listed items; nothing was drawn or sent.");
    return code;
  }

  /** Whether reports are taken on a day in UTC, such as "2026-12-31". */
  isOpen(today) {
    return this.opens <= today && today <= this.closes;
  }
}

