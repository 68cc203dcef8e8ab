/** What every committed vector says, checked; the same function runs in Node and in Chromium. */

import { canonical, fromHex, hex, sha256 } from "../src/canonical.js";
import { Collection } from "../src/document.js";
import { record, Stream } from "../src/draw.js";

const bytesOf = (text) => new TextEncoder().encode(text);

async function refusal(work) {
  try {
    await work();
  } catch (problem) {
    return problem;
  }
  return undefined;
}

/** Never more hopeful than the package, and the same where one report is drawn by randomized response. */
function guaranteeFits(found, told, exact) {
  const close = (one, other) => Math.abs(one - other) <= 1e-9 * Math.max(1, Math.abs(other));
  const epsilon = told.epsilon ?? Infinity;
  return [
    close(found.theta, told.theta),
    found.epsilon === epsilon || close(found.epsilon, epsilon),
    close(found.all.certainty, told.all_certainty),
    close(found.alone.certainty, told.alone_certainty),
    found.all.error <= told.all_error + 1e-9,
    found.alone.error <= told.alone_error + 1e-9,
    !exact || close(found.alone.error, told.alone_error),
  ].every(Boolean);
}

/** The failures, each in a few words, and how many checks were made. */
export async function checkVectors(vectors) {
  const failures = [];
  let checks = 0;
  const expect = (holds, what) => {
    checks += 1;
    if (!holds) failures.push(what);
  };
  for (const { json, canonical: text, sha256: digest } of vectors.canonical) {
    expect(canonical(JSON.parse(json)) === text, `canonical ${text}`);
    expect(hex(await sha256(bytesOf(text))) === digest, `digest ${text}`);
  }
  for (const [name, one] of Object.entries(vectors.collections)) {
    const collection = await Collection.read(bytesOf(one.document), one.id);
    const exact = collection.mechanism.kind === "rr" && collection.reports === 1;
    expect(guaranteeFits(collection.guarantee, one.guarantee, exact), `guarantee ${name}`);
    for (const { code, stream, record: told } of one.draws) {
      const source = Stream.of(fromHex(stream));
      expect(hex(await record(collection, BigInt(code), source)) === told, `draw ${name} ${code}`);
      expect((await refusal(() => source.take(1))) instanceof RangeError, `bytes left over ${name} ${code}`);
    }
    for (const { name: text, code } of one.names) expect((await collection.codeOf(text)) === BigInt(code), `name ${text}`);
    for (const [code, item] of (collection.items ?? []).entries()) expect((await collection.codeOf(item)) === BigInt(code), `item ${item}`);
    const other = one.id.replace(/^./, (digit) => (digit === "0" ? "1" : "0"));
    expect((await refusal(() => Collection.read(bytesOf(one.document), other)))?.name === "InvalidDocument", `id ${name}`);
  }
  for (const [name, { document, id }] of Object.entries(vectors.refused))
    expect((await refusal(() => Collection.read(bytesOf(document), id)))?.name === "InvalidDocument", `refused ${name}`);
  return { checks, failures };
}
