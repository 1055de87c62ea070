// Rate-limited warnings about one session's end-to-end encryption: a gateway's messages must not fill the log. Held by
// dave-session.ts, on the audio thread.

import type { Clock } from "../../../lib/clock.ts";
import { TokenBucket } from "../../../lib/token-bucket.ts";
import type { LogFields, Logger } from "../../../log/log.ts";

const WARNINGS_BURST = 10;
const WARNINGS_PER_SECOND = 0.1;

export class DaveWarnings {
  readonly #logger: Logger;
  readonly #bucket: TokenBucket;

  constructor({ clock, logger }: { readonly clock: Clock; readonly logger: Logger }) {
    this.#logger = logger;
    this.#bucket = new TokenBucket({ clock, burst: WARNINGS_BURST, perSecond: WARNINGS_PER_SECOND });
  }

  warn(message: string, fields: LogFields): void {
    if (this.#bucket.spend(1)) this.#logger.warn(message, fields);
  }
}
