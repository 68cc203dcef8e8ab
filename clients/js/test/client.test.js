import assert from "node:assert/strict";
import { fork } from "node:child_process";
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test from "node:test";
import { fileURLToPath } from "node:url";

import { Client, FolderStore } from "../src/node.js";
import { waitMs } from "../src/transport.js";

const vectors = JSON.parse(await readFile(new URL("../../vectors.json", import.meta.url), "utf8"));
const ANYTHING = { minError: 0, maxCertainty: 1, maxEpsilon: Infinity };

/** A collector that answers from a list of (status, counts), the last one for ever, and keeps what it got. */
async function collector(t, name, ...answers) {
  const { document, id } = vectors.collections[name];
  const requests = [];
  const server = createServer((request, response) => {
    const parts = [];
    request.on("data", (part) => parts.push(part));
    request.on("end", () => {
      requests.push({ method: request.method, headers: request.headers, body: Buffer.concat(parts).toString("hex") });
      if (request.method === "GET") return response.end(document);
      const [status, counts, headers] = answers.length > 1 ? answers.shift() : (answers[0] ?? [200, { accepted: 1, duplicate: 0, invalid: 0 }]);
      if (status === 0) return request.socket.destroy();
      response.writeHead(status, headers);
      return response.end(JSON.stringify(counts ?? {}));
    });
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => server.close());
  const url = `http://127.0.0.1:${server.address().port}/v1/collections/${id}`;
  return { url, requests, posted: () => requests.filter(({ method }) => method === "POST").map(({ body }) => body) };
}

async function folder(t) {
  const made = await mkdtemp(join(tmpdir(), "entropie-"));
  t.after(() => rm(made, { recursive: true, force: true }));
  return made;
}

const opened = (url, store, policy = ANYTHING, more = {}) =>
  Client.open(url, { policy, store: new FolderStore(store), sleep: async () => undefined, ...more });

test("an answer is drawn once, kept and sent once, whatever is answered later", async (t) => {
  const { url, posted } = await collector(t, "drinks");
  const store = await folder(t);
  const client = await opened(url, store);
  assert.deepEqual(await client.report("drink 1"), { confirmed: true, repeated: false });
  assert.deepEqual(await client.report("drink 2"), { confirmed: true, repeated: true });
  assert.deepEqual(await (await opened(url, store)).report("drink 1"), { confirmed: true, repeated: true });
  assert.equal(posted().length, 1);
  assert.equal(posted()[0].length, 48);
});

test("what is kept is for its owner's eyes and does not hold the true answer", async (t) => {
  const { url } = await collector(t, "places");
  const store = await folder(t);
  await (await opened(url, store)).report("the café at the corner");
  for (const file of await readdir(store)) {
    assert.equal((await stat(join(store, file))).mode & 0o777, 0o600);
    assert.doesNotMatch(await readFile(join(store, file), "utf8"), /corner/);
  }
});

test("the same bytes are sent until the collector confirms", async (t) => {
  const later = { "retry-after": "1" };
  const { url, posted } = await collector(t, "drinks", [503, {}, later], [0], [429, {}, later], [507], [200, {}], [200, { accepted: 0, duplicate: 1, invalid: 0 }]);
  const waits = [];
  const client = await opened(url, await folder(t), ANYTHING, { attempts: 6, sleep: async (ms) => void waits.push(ms) });
  await client.report("drink 0");
  assert.equal(posted().length, 6);
  assert.equal(new Set(posted()).size, 1);
  assert.equal(waits.length, 5);
  assert.ok(waits[0] >= 1000 && waits[2] >= 1000);
});

test("what is not confirmed is sent again later, by another process too", async (t) => {
  const { url, posted } = await collector(t, "drinks", [503], [503], [200, { accepted: 1, duplicate: 0, invalid: 0 }]);
  const store = await folder(t);
  await assert.rejects((await opened(url, store, ANYTHING, { attempts: 2 })).report("drink 0"), { name: "NotSent" });
  assert.equal(await (await opened(url, store)).send(), 1);
  assert.equal(await (await opened(url, store)).send(), 0);
  assert.equal(posted().length, 3);
  assert.equal(new Set(posted()).size, 1);
});

test("waits are random below a bound that doubles and ends", () => {
  assert.equal(waitMs(0, null, () => 0.5), 250);
  assert.equal(waitMs(3, null, () => 1), 4000);
  assert.equal(waitMs(60, null, () => 1), 60_000);
  assert.equal(waitMs(0, "7", () => 0), 7000);
  assert.equal(waitMs(0, "Wed, 21 Oct 2015 07:28:00 GMT", () => 0), 0);
});

test("a collector that refuses for good is not asked again", async (t) => {
  for (const status of [400, 404, 410, 413]) {
    const { url, posted } = await collector(t, "drinks", [status]);
    await assert.rejects((await opened(url, await folder(t))).report("drink 0"), { name: "Refused" });
    assert.equal(posted().length, 1);
  }
});

test("requests carry nothing but their body", async (t) => {
  const { url, requests } = await collector(t, "drinks");
  await (await opened(url, await folder(t))).report("drink 0");
  for (const { headers } of requests) for (const name of ["cookie", "referer", "authorization", "origin"]) assert.equal(headers[name], undefined);
});

test("weak parameters, a spent budget, a closed collection and an opt-out are refused before anything is drawn", async (t) => {
  const { url, posted } = await collector(t, "several");
  const store = await folder(t);
  for (const policy of [{ ...ANYTHING, minError: 0.999 }, { ...ANYTHING, maxCertainty: 0.5 }, { ...ANYTHING, maxEpsilon: 1.9 }])
    await assert.rejects((await opened(url, store, policy)).report("drink 0"), { name: "Refused", message: /Nothing was drawn or sent\.$/ });
  for (const today of ["2019-12-31", "2120-01-02"])
    await assert.rejects((await opened(url, store, ANYTHING, { today: () => today })).report("drink 0"), { name: "Refused" });
  assert.deepEqual(await readdir(store), []);
  const twice = await opened(url, store, { ...ANYTHING, maxEpsilon: 4.5 });
  await twice.report("drink 0", { question: "monday" });
  await twice.report("drink 0", { question: "__proto__" });
  assert.deepEqual(await twice.report("drink 0", { question: "__proto__" }), { confirmed: true, repeated: true });
  await assert.rejects(twice.report("drink 0", { question: "tuesday" }), { message: /0\.5 of 4\.5 is left/ });
  await twice.optOut();
  await assert.rejects(twice.report("drink 0", { question: "monday" }), { message: /opted out/ });
  assert.equal(await twice.send(), 0);
  await twice.optIn();
  assert.deepEqual(await twice.report("drink 0", { question: "monday" }), { confirmed: true, repeated: true });
  assert.equal(posted().length, 2);
});

test("no more answers than the collection asks of a person", async (t) => {
  const { url } = await collector(t, "several");
  const client = await opened(url, await folder(t));
  for (let day = 0; day < 5; day++) await client.report("drink 0", { question: `day ${day}` });
  await assert.rejects(client.report("drink 0", { question: "day 5" }), { message: /All 5 answers/ });
});

test("another document than the address names is refused", async (t) => {
  const { url } = await collector(t, "drinks");
  await assert.rejects(opened(url.replace(/.$/, (last) => (last === "0" ? "1" : "0")), await folder(t)), { name: "InvalidDocument" });
  for (const wrong of ["http://example.org/v1/collections/" + "0".repeat(64), url + "?user=7", url.slice(0, -1), url.replace("//", "//me@")])
    await assert.rejects(opened(wrong, await folder(t)), { name: "EntropieError" });
});

test("where nothing can be kept, nothing is drawn", async (t) => {
  const { url, posted } = await collector(t, "drinks");
  const file = join(await folder(t), "file");
  await writeFile(file, "");
  await assert.rejects((await opened(url, file)).report("drink 0"), { name: "NotPersistent" });
  await assert.rejects((await Client.open(url, { policy: {} })).report("drink 0"), { name: "NotPersistent" });
  const damaged = await folder(t);
  await writeFile(join(damaged, "ledger.3.json"), '{"version":1,');
  await assert.rejects((await opened(url, damaged)).report("drink 0"), { name: "NotPersistent" });
  assert.deepEqual(posted(), []);
});

test("the preview says in words what leaves", async (t) => {
  const { url, posted } = await collector(t, "drinks");
  const client = await opened(url, await folder(t), {});
  const text = await client.preview();
  for (const part of ["Question: Drinks", url, "24 bytes", "one of 5 items", "10,000 people", "Spent on this device: 0 of 8"]) assert.ok(text.includes(part), part);
  assert.deepEqual(posted(), []);
});

test("eight processes at once draw one answer", async (t) => {
  const { url, posted } = await collector(t, "drinks", [200, { accepted: 0, duplicate: 1, invalid: 0 }]);
  const store = await folder(t);
  const worker = fileURLToPath(new URL("worker.mjs", import.meta.url));
  const codes = await Promise.all(Array.from({ length: 8 }, () => new Promise((resolve) => fork(worker, [url, store]).on("exit", resolve))));
  assert.deepEqual(new Set(codes), new Set([0]));
  assert.equal(new Set(posted()).size, 1);
});
