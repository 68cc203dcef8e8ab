/** Canonical JSON and its SHA-256: sorted keys, no white space, ASCII, whole numbers only. */

import { InvalidDocument } from "./errors.js";

const byCodePoint = (one, other) => {
  const [a, b] = [Array.from(one, (c) => c.codePointAt(0)), Array.from(other, (c) => c.codePointAt(0))];
  for (let i = 0; i < Math.min(a.length, b.length); i++) if (a[i] !== b[i]) return a[i] - b[i];
  return a.length - b.length;
};

const quoted = (text) =>
  JSON.stringify(text).replace(/[\u007f-\uffff]/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`);

/** The one text that stands for a value; what JSON readers do not agree on is refused. */
export function canonical(value) {
  if (value === null || typeof value === "boolean") return String(value);
  if (typeof value === "string") return quoted(value);
  if (typeof value === "number") {
    if (!Number.isSafeInteger(value) || Object.is(value, -0))
      throw new InvalidDocument("A number of the document must be whole and below 2^53; write a larger one as text.");
    return String(value);
  }
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  if (typeof value !== "object") throw new InvalidDocument(`A document holds JSON values, got a ${typeof value}.`);
  const keys = Object.keys(value).sort(byCodePoint);
  return `{${keys.map((key) => `${quoted(key)}:${canonical(value[key])}`).join(",")}}`;
}

/** SHA-256 of bytes. */
export async function sha256(bytes) {
  const subtle = globalThis.crypto?.subtle;
  if (!subtle) throw new InvalidDocument("This page cannot check the document: SHA-256 needs https or localhost.");
  return new Uint8Array(await subtle.digest("SHA-256", bytes));
}

/** Bytes as hexadecimal text. */
export const hex = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");

/** Hexadecimal text as bytes. */
export const fromHex = (text) => Uint8Array.from(text.match(/../g) ?? [], (pair) => parseInt(pair, 16));

/** The value that bytes stand for, which must be the canonical text with this SHA-256. */
export async function verified(bytes, id) {
  const found = hex(await sha256(bytes));
  if (found !== id)
    throw new InvalidDocument(`The document must have the id ${id}, got ${found}; the collector sent another one.`);
  let value, text;
  try {
    text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
    value = JSON.parse(text);
  } catch {
    throw new InvalidDocument("The document is not JSON; ask the operator for the right address.");
  }
  if (canonical(value) !== text)
    throw new InvalidDocument("The document is not in canonical form; ask the operator for a new one.");
  return value;
}
