import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import test from "node:test";

import { Collection } from "../src/document.js";
import { Stream } from "../src/draw.js";
import { checkVectors } from "./check_vectors.js";

const vectors = JSON.parse(await readFile(new URL("../../vectors.json", import.meta.url), "utf8"));

test("the committed vectors", async () => {
  const { checks, failures } = await checkVectors(vectors);
  assert.deepEqual(failures, []);
  assert.ok(checks > 250, `${checks} checks`);
});

test("a wrong draw would be noticed", async () => {
  const changed = structuredClone(vectors);
  changed.collections.drinks.draws[0].record = changed.collections.drinks.draws[0].record.replace(/.$/, "f");
  changed.collections.places.guarantee.all_error = 0.1;
  assert.equal((await checkVectors(changed)).failures.length, 2);
});

test("bounded draws are uniform, also where half of all words are thrown away", () => {
  for (const bound of [2n, 3n, 5n, 6n]) {
    const seen = Array(Number(bound)).fill(0);
    const source = Stream.ofSystem();
    for (let i = 0; i < 6000; i++) seen[Number(source.below(bound))] += 1;
    const mean = 6000 / Number(bound);
    for (const count of seen) assert.ok(Math.abs(count - mean) < 6 * Math.sqrt(mean), `${bound}: ${seen}`);
  }
});

test("an answer that is not listed, or no text, is refused", async () => {
  const { document, id } = vectors.collections.drinks;
  const collection = await Collection.read(new TextEncoder().encode(document), id);
  for (const wrong of ["water", "", 1, null, undefined, "\ud800", "__proto__"])
    await assert.rejects(collection.codeOf(wrong), { name: "Refused" });
});
