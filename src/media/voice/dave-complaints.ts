// What goes wrong with one session's end-to-end encryption again and again is told now and then: what a gateway sends
// must not fill the log. Held by dave-session.ts, on the audio thread.

import { Allowance } from "../../lib/allowance.ts";
import type { Clock } from "../../lib/clock.ts";
import type { LogFields, Logger } from "../../log.ts";

const COMPLAINTS_BURST = 10;
const COMPLAINTS_PER_SECOND = 0.1;

export class DaveComplaints {
  readonly #logger: Logger;
  readonly #allowance: Allowance;

  constructor({ clock, logger }: { readonly clock: Clock; readonly logger: Logger }) {
    this.#logger = logger;
    this.#allowance = new Allowance({ clock, burst: COMPLAINTS_BURST, perSecond: COMPLAINTS_PER_SECOND });
  }

  tell(message: string, fields: LogFields): void {
    if (this.#allowance.spend(1)) this.#logger.warn(message, fields);
  }
}
