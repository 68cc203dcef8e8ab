/** What the client throws on purpose. Every message is one sentence or two: name, rule, value, remedy. */

/** Root of all of them. */
export class EntropieError extends Error {
  constructor(message) {
    super(message);
    this.name = new.target.name;
  }
}

/** The document is damaged, is another one than its id says, or breaks a rule. */
export class InvalidDocument extends EntropieError {}

/** Nothing leaves this device: the user's policy, budget or opt-out says so, or the collection takes no answers. */
export class Refused extends EntropieError {}

/** Nothing can be kept on this device, so that nothing is drawn either. */
export class NotPersistent extends EntropieError {}

/** The answer is drawn and kept, but the collector has not confirmed it; the same bytes are sent later. */
export class NotSent extends EntropieError {}
