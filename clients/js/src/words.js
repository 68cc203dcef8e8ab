/** How numbers are written for people: the same rules as the collector's own pages. */

const TIE = 12;

const trimmed = (value, decimals) => {
  const text = value.toLocaleString("en-US", { minimumFractionDigits: decimals, maximumFractionDigits: decimals });
  return text.includes(".") ? text.replace(/0+$/, "").replace(/\.$/, "") : text;
};

const decimalsOf = (value) => {
  const gap = Math.min(value, 100 - value);
  if (value <= 0 || value >= 100) return 0;
  if (gap < 1) return Math.min(TIE, -Math.floor(Math.log10(gap)));
  return value < 10 ? 1 : 0;
};

/** A share in percent with the digits that matter: 57 %, 5.3 %, 0.2 %, 99.98 %. */
export function percent(share) {
  const value = share * 100;
  let decimals = decimalsOf(value);
  let text = trimmed(value, decimals);
  while (decimals < TIE && ((text === "0" && value > 0) || (text === "100" && value < 100)))
    text = trimmed(value, ++decimals);
  return `${text}\u00a0%`;
}

/** 1370637 as 1,370,637. */
export const count = (number) => number.toLocaleString("en-US");

/** A number and what is counted: 1 person, 1,511 people. */
export const plural = (number, noun, more = `${noun}s`) => `${count(number)} ${number === 1 ? noun : more}`;

/** A plain number with three significant digits. */
export const digits = (value) =>
  Number.isFinite(value) ? Number(value.toPrecision(3)).toLocaleString("en-US", { maximumFractionDigits: 20 }) : "infinite";

/** A name as it may be shown: what moves a cursor, turns the direction of text or breaks a line is spelled out. */
export const printable = (text) =>
  text.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, (c) => `\\u{${c.codePointAt(0).toString(16)}}`);
