// Log lines about what was missing of one player's sound: one an incident, and when there are very many, some of them,
// with how many were not told. Main thread.

import type { Incident, Repair } from "../../bridge/sound-report.ts";
import { Allowance } from "../../lib/allowance.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Logger } from "../../log.ts";

const LINES_BURST = 5;
const LINES_PER_SECOND = 1 / 30;

export class IncidentLines {
  readonly #logger: Logger;
  readonly #allowance: Allowance;
  #untold = 0;

  constructor({ clock, logger }: { readonly clock: Clock; readonly logger: Logger }) {
    this.#logger = logger;
    this.#allowance = new Allowance({ clock, burst: LINES_BURST, perSecond: LINES_PER_SECOND });
  }

  tell({ cause, lengthMs, framesLost, repair }: Incident): void {
    if (!this.#allowance.take(1)) {
      this.#untold += 1;
      return;
    }
    const untold = this.#untold === 0 ? {} : { untold: this.#untold };
    this.#untold = 0;
    const fields = { cause, lengthMs, framesLost, ...(repair && { repair }), ...untold };
    this.#logger.warn("sound was missing", fields);
  }

  /** There are few: the worker bounds them. */
  tellRepair({ kind, cause, silentMs }: Repair): void {
    const what = kind === "reopen" ? "its track is opened anew" : "a new voice session is begun";
    this.#logger.warn(`a player that should sound sends nothing: ${what}`, { cause, silentMs });
  }
}
