// Log lines about interruptions of audio, of one player or of several at once: one line per incident. When there are
// very many, only some of them are logged, with the number of the omitted ones. Main thread.

import type { Incident, Repair } from "../../bridge/audio-report.ts";
import type { Clock } from "../../lib/clock.ts";
import { TokenBucket } from "../../lib/token-bucket.ts";
import type { Logger } from "../../log/log.ts";

const LINES_BURST = 5;
const LINES_PER_SECOND = 1 / 30;
const SHARED_MESSAGE =
  "audio of several players interrupted at once: an audio thread or the whole machine stood still; " +
  "check other programs, processor limits and the number of players";

export class IncidentLines {
  readonly #logger: Logger;
  readonly #bucket: TokenBucket;
  #unreported = 0;

  constructor({ clock, logger }: { readonly clock: Clock; readonly logger: Logger }) {
    this.#logger = logger;
    this.#bucket = new TokenBucket({ clock, burst: LINES_BURST, perSecond: LINES_PER_SECOND });
  }

  /** `players`: how many it interrupted at once. */
  report({ cause, lengthMs, framesLost, repair }: Incident, players = 1): void {
    if (!this.#bucket.take(1)) {
      this.#unreported += 1;
      return;
    }
    const unreported = this.#unreported === 0 ? {} : { unreported: this.#unreported };
    this.#unreported = 0;
    const fields = { cause, lengthMs, framesLost, ...(repair && { repair }), ...unreported };
    if (players === 1) this.#logger.warn("audio interrupted", fields);
    else this.#logger.warn(SHARED_MESSAGE, { players, ...fields });
  }

  /** There are few: the worker bounds them. */
  reportRepair({ kind, cause, silentMs }: Repair): void {
    const what = kind === "reopen" ? "reopening its track" : "starting a new voice session";
    this.#logger.warn(`player sends no audio although it should: ${what}`, { cause, silentMs });
  }
}
