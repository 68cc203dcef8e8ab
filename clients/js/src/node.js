/** What Node keeps: a folder of numbered states, each made whole and synced before it takes its number.
 *
 * The next number is taken by a hard link, which fails where another process was faster: two processes never both
 * change the same state, and a process that dies leaves no lock behind.
 */

import { randomBytes } from "node:crypto";
import { link, mkdir, open, readFile, readdir, unlink } from "node:fs/promises";
import { join } from "node:path";

import { NotPersistent } from "./errors.js";

export * from "./index.js";

const NUMBERED = /^ledger\.(\d{1,15})\.json$/;
const KEPT = 16; // older states stay so long that no reader of the folder misses the newest

/** The ledger in a folder of its own, readable by its owner alone. */
export class FolderStore {
  #turn = Promise.resolve();

  constructor(folder) {
    this.folder = folder;
  }

  /** Read the state, let `change` make the next one, and keep it durably; a change that came second is made again. */
  update(change) {
    const made = this.#turn.then(() => this.#update(change));
    this.#turn = made.catch(() => undefined);
    return made;
  }

  async #update(change) {
    for (;;) {
      const [number, state] = await this.#newest();
      const [next, result] = await change(state);
      if (next === undefined || (await this.#take(number + 1, next))) return result;
    }
  }

  async #numbers() {
    const found = (await readdir(this.folder)).map((name) => NUMBERED.exec(name)?.[1]).filter(Boolean);
    return found.map(Number).sort((one, other) => other - one);
  }

  async #newest() {
    try {
      await mkdir(this.folder, { recursive: true, mode: 0o700 });
      for (;;) {
        const [number = 0] = await this.#numbers();
        if (number === 0) return [0, undefined];
        try {
          return [number, JSON.parse(await readFile(this.#file(number), "utf8"))];
        } catch (problem) {
          if (problem.code !== "ENOENT") throw problem;
        }
      }
    } catch (problem) {
      throw this.#refusal(problem);
    }
  }

  async #take(number, state) {
    const hidden = join(this.folder, `.ledger.${randomBytes(8).toString("hex")}`);
    try {
      const file = await open(hidden, "wx", 0o600);
      try {
        await file.writeFile(JSON.stringify(state));
        await file.sync();
      } finally {
        await file.close();
      }
      await link(hidden, this.#file(number));
      await this.#syncFolder();
      const [newest, ...older] = await this.#numbers();
      if (newest > number) {
        await unlink(this.#file(number)).catch(() => undefined); // a number long given up: others are far ahead
        return false;
      }
      for (const old of older.slice(KEPT)) await unlink(this.#file(old)).catch(() => undefined);
      return true;
    } catch (problem) {
      if (problem.code === "EEXIST") return false;
      throw this.#refusal(problem);
    } finally {
      await unlink(hidden).catch(() => undefined);
    }
  }

  async #syncFolder() {
    const folder = await open(this.folder, "r").catch(() => undefined); // Windows opens no folders
    if (!folder) return;
    try {
      await folder.sync();
    } finally {
      await folder.close();
    }
  }

  #file(number) {
    return join(this.folder, `ledger.${number}.json`);
  }

  #refusal(problem) {
    const why = problem instanceof SyntaxError ? "it holds a damaged state" : problem.code ?? problem.message;
    return new NotPersistent(`The folder ${JSON.stringify(this.folder)} cannot keep the ledger (${why}); nothing was drawn or sent.`);
  }
}
