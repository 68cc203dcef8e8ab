/** Requests that tell nothing but their body, and retries of the same bytes. */

import { NotSent, Refused } from "./errors.js";

const PRIVATE = { credentials: "omit", referrerPolicy: "no-referrer", cache: "no-store", redirect: "error", mode: "cors" };
const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 60_000;

const PERMANENT = {
  400: "does not understand the answer",
  404: "does not know this collection",
  410: "has closed this collection",
  413: "says that the answer is too large",
  415: "does not take answers in this form",
};

/** Ask for a document; the bytes of the answer. */
export async function fetched(url, fetch) {
  const answer = await fetch(url, { ...PRIVATE, method: "GET" }).catch(() => undefined);
  if (!answer?.ok) {
    const why = PERMANENT[answer?.status] ?? (answer ? `answered ${answer.status}` : "cannot be reached");
    throw new Refused(`The collector ${why}; nothing was drawn or sent.`);
  }
  return new Uint8Array(await answer.arrayBuffer());
}

/** How long to wait before a further attempt: random below a bound that doubles, and no less than was asked for. */
export function waitMs(attempt, retryAfter, random) {
  const asked = /^[0-9]{1,5}$/.test(retryAfter ?? "") ? 1000 * Number(retryAfter) : 0;
  return Math.min(LONGEST_WAIT_MS, asked + random() * FIRST_WAIT_MS * 2 ** Math.min(attempt, 10));
}

/** Whether the collector's answer says that it has the record, new or for the second time. */
const taken = (counts) => counts?.accepted + counts?.duplicate === 1 && counts.invalid === 0;

/** Send a record until the collector has confirmed it; the same bytes every time. */
export async function deliver(url, record, { fetch, attempts, sleep, random }) {
  let last = "cannot be reached";
  for (let attempt = 0; attempt < attempts; attempt++) {
    const headers = { "content-type": "application/octet-stream" };
    const answer = await fetch(url, { ...PRIVATE, method: "POST", headers, body: record }).catch(() => undefined);
    if (answer?.ok && taken(await answer.json().catch(() => undefined))) return;
    if (PERMANENT[answer?.status]) throw new Refused(`The collector ${PERMANENT[answer.status]}; the answer is kept and not drawn again.`);
    last = answer ? `answered ${answer.status} without confirming` : "cannot be reached";
    if (attempt + 1 < attempts) await sleep(waitMs(attempt, answer?.headers.get("retry-after"), random));
  }
  throw new NotSent(`The collector ${last}; the answer is kept on this device and the same bytes are sent again later.`);
}
