// Log lines about what was missing of one player's sound: one an incident, and when there are very many, some of them,
// with how many were not told. Main thread.

import type { Incident, Repair } from "../../bridge/audio-report.ts";
import type { Clock } from "../../lib/clock.ts";
import { TokenBucket } from "../../lib/token-bucket.ts";
import type { Logger } from "../../log/log.ts";

const LINES_BURST = 5;
const LINES_PER_SECOND = 1 / 30;

export class IncidentLines {
  readonly #logger: Logger;
  readonly #bucket: TokenBucket;
  #unreported = 0;

  constructor({ clock, logger }: { readonly clock: Clock; readonly logger: Logger }) {
    this.#logger = logger;
    this.#bucket = new TokenBucket({ clock, burst: LINES_BURST, perSecond: LINES_PER_SECOND });
  }

  report({ cause, lengthMs, framesLost, repair }: Incident): void {
    if (!this.#bucket.take(1)) {
      this.#unreported += 1;
      return;
    }
    const unreported = this.#unreported === 0 ? {} : { unreported: this.#unreported };
    this.#unreported = 0;
    const fields = { cause, lengthMs, framesLost, ...(repair && { repair }), ...unreported };
    this.#logger.warn("sound was missing", fields);
  }

  /** There are few: the worker bounds them. */
  reportRepair({ kind, cause, silentMs }: Repair): void {
    const what = kind === "reopen" ? "its track is opened anew" : "a new voice session is begun";
    this.#logger.warn(`a player that should sound sends nothing: ${what}`, { cause, silentMs });
  }
}
