export * from "./index.js";
import type { Store } from "./index.js";

/** The ledger in a folder of its own, readable by its owner alone; several processes may share it. */
export class FolderStore implements Store {
  constructor(folder: string);
  update<T>(change: (state: unknown) => [unknown, T?] | Promise<[unknown, T?]>): Promise<T>;
}
