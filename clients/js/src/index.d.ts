/** What a user allows. Speaks of an attacker who holds everybody's answers and knows everybody's data. */
export interface Policy {
  /** The error rate of the attacker, at least. Default 0.9. */
  minError?: number;
  /** Certainty about one person, at most. Default 0.5. */
  maxCertainty?: number;
  /** Epsilon of all answers from this device, at most. Default 8. */
  maxEpsilon?: number;
}

/** What the noise guarantees. */
export interface Guarantee {
  readonly theta: number;
  readonly epsilon: number;
  readonly alone: { readonly error: number; readonly certainty: number };
  readonly all: { readonly error: number; readonly certainty: number };
}

/** Keeps the ledger: `change` gets the state and gives the next one (undefined: no change) and a result. */
export interface Store {
  update<T>(change: (state: unknown) => [unknown, T?] | Promise<[unknown, T?]>): Promise<T>;
}

/** IndexedDB under a Web Lock: one ledger for all tabs of a site. */
export class BrowserStore implements Store {
  constructor(name?: string);
  update<T>(change: (state: unknown) => [unknown, T?] | Promise<[unknown, T?]>): Promise<T>;
}

/** A collection document whose id was checked. */
export class Collection {
  static read(bytes: Uint8Array, id: string): Promise<Collection>;
  readonly id: string;
  readonly title: string;
  /** The names to choose from; null where any text is an answer. */
  readonly items: readonly string[] | null;
  readonly people: number;
  /** Answers that a person may give. */
  readonly reports: number;
  /** First and last day in UTC, such as "2026-12-31". */
  readonly opens: string;
  readonly closes: string;
  readonly guarantee: Guarantee;
  isOpen(today: string): boolean;
}

export interface Options {
  policy: Policy;
  /** Where the ledger is kept; the browser's own unless given. Node needs a `FolderStore`. */
  store?: Store;
  /** How often an answer is tried before `NotSent`. Default 5. */
  attempts?: number;
  fetch?: typeof globalThis.fetch;
  sleep?: (milliseconds: number) => Promise<void>;
  /** For the waits between attempts alone; answers come from `crypto.getRandomValues`. */
  random?: () => number;
  /** The day in UTC. */
  today?: () => string;
}

export class Client {
  static open(url: string | URL, options: Options): Promise<Client>;
  readonly collection: Collection;
  readonly policy: Readonly<Required<Policy>>;
  readonly guarantee: Guarantee;
  /** In words: what leaves this device, what it is worth to an attacker, what it costs. */
  preview(): Promise<string>;
  /** Draw once, keep, send. `repeated`: the answer had been drawn before. */
  report(value: string, options?: { question?: string }): Promise<{ confirmed: true; repeated: boolean }>;
  /** Send again what was not confirmed; how many answers that were. */
  send(): Promise<number>;
  optOut(): Promise<void>;
  optIn(): Promise<void>;
}

export class EntropieError extends Error {}
/** The document is damaged, is another one than its id says, or breaks a rule. */
export class InvalidDocument extends EntropieError {}
/** Nothing was drawn or sent, or the collector takes nothing more. */
export class Refused extends EntropieError {}
/** Nothing can be kept on this device, so that nothing was drawn. */
export class NotPersistent extends EntropieError {}
/** Drawn and kept, but not confirmed; the same bytes are sent again by `send` or `report`. */
export class NotSent extends EntropieError {}
