// Log lines about interruptions of audio, of one player or of several at once: one line per incident, and two for one
// that lasts. When there are very many, only some of them are logged, with the number of the omitted ones. Main thread.

import type { Incident, Repair } from "../../bridge/audio-report.ts";
import type { Clock } from "../../lib/clock.ts";
import { TokenBucket } from "../../lib/token-bucket.ts";
import type { LogFields, Logger } from "../../log/log.ts";

const LINES_BURST = 5;
const LINES_PER_SECOND = 1 / 30;
const SHARED_MESSAGE =
  "audio of several players interrupted at once: an audio thread or the whole machine stood still; " +
  "check other programs, processor limits and the number of players";

export class IncidentLines {
  readonly #logger: Logger;
  readonly #bucket: TokenBucket;
  #unreported = 0;
  #isLastingLogged = false;

  constructor({ clock, logger }: { readonly clock: Clock; readonly logger: Logger }) {
    this.#logger = logger;
    this.#bucket = new TokenBucket({ clock, burst: LINES_BURST, perSecond: LINES_PER_SECOND });
  }

  /** One that is over. */
  report(incident: Incident): void {
    if (incident.wasLasting === true) {
      // Its beginning was logged: then so is its end, however many others there were. That of several players has
      // one line for all, but may end for each at another time.
      const message = isUnderrun(incident) ? "audio underrun ended" : "audio interruptions ended";
      if (this.#isLastingLogged || this.#mayLog()) {
        this.#logger.warn(message, { ...fieldsOf(incident), ...this.#takeUnreported() });
      }
      this.#isLastingLogged = false;
    } else if (this.#mayLog()) {
      this.#logger.warn("audio interrupted", { ...fieldsOf(incident), ...this.#takeUnreported() });
    }
  }

  /** One that has lasted `LASTING_MS` and is not over. */
  reportLasting(incident: Incident): void {
    this.#isLastingLogged = this.#mayLog();
    if (!this.#isLastingLogged) return;
    const why = describeServer(incident);
    const fields = { ...fieldsOf(incident), ...this.#takeUnreported() };
    const message = isUnderrun(incident) ? "audio underrun that does not end" : "audio keeps being interrupted";
    this.#logger.warn(why === undefined ? message : `${message}: ${why}`, fields);
  }

  /** One that interrupted several players at once. */
  reportShared(incident: Incident, players: number): void {
    if (this.#mayLog())
      this.#logger.warn(SHARED_MESSAGE, { players, ...fieldsOf(incident), ...this.#takeUnreported() });
  }

  #mayLog(): boolean {
    if (this.#bucket.take(1)) return true;
    this.#unreported += 1;
    return false;
  }

  #takeUnreported(): { readonly unreported?: number } {
    const count = this.#unreported;
    this.#unreported = 0;
    return count === 0 ? {} : { unreported: count };
  }

  /** There are few: the worker bounds them. */
  reportRepair({ kind, cause, silentMs }: Repair): void {
    const what = kind === "reopen" ? "reopening its track" : "starting a new voice session";
    this.#logger.warn(`player sends no audio although it should: ${what}`, { cause, silentMs });
  }
}

/** The input did not deliver, whatever it waited for. */
function isUnderrun({ cause }: Incident): boolean {
  return cause === "network" || cause === "inputStarved";
}

function fieldsOf({ cause, lengthMs, framesLost, repair, server }: Incident): LogFields {
  const { host, receivedRate, neededRate } = server ?? {};
  return {
    cause,
    lengthMs,
    framesLost,
    ...(host !== undefined && { host }),
    ...(receivedRate !== undefined && { receivedKBps: kilobytes(receivedRate) }),
    ...(neededRate !== undefined && { neededKBps: kilobytes(neededRate) }),
    ...(repair && { repair }),
  };
}

/** The mechanism in words, where it is known. */
function describeServer({ server }: Incident): string | undefined {
  if (server === undefined) return undefined;
  const { host, receivedRate, neededRate } = server;
  if (receivedRate === undefined) return `waiting for ${host}`;
  if (receivedRate === 0) return `the server ${host} sends nothing`;
  const needed = neededRate === undefined ? "" : `, the track needs ${kilobytes(neededRate)} kB/s`;
  return `the server ${host} delivers too slowly: ${kilobytes(receivedRate)} kB/s${needed}`;
}

function kilobytes(bytes: number): number {
  return Math.round(bytes / 100) / 10;
}
