// Log lines about interruptions of one player's audio: one line per incident. When there are very many, only some of
// them are logged, with the number of the omitted ones. Main thread.

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
    this.#logger.warn("audio interrupted", fields);
  }

  /** There are few: the worker bounds them. */
  reportRepair({ kind, cause, silentMs }: Repair): void {
    const what = kind === "reopen" ? "reopening its track" : "starting a new voice session";
    this.#logger.warn(`player sends no audio although it should: ${what}`, { cause, silentMs });
  }
}
