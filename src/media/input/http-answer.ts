// A site's answer to a GET: from HttpClient over undici, or from a bare socket for old Shoutcast servers. Audio and
// probe threads.

import type { HttpHeaders } from "../../network/header-value.ts";

export interface HttpAnswer {
  /** Address of the answer after redirects. Keeps user name and password while the origin is the same. */
  readonly url: URL;
  /** Any status but a redirect. */
  readonly status: number;
  readonly headers: HttpHeaders;
  readonly body: HttpBody;
}

/** A body being received; nothing is read from the network beyond a small buffer until `next` asks. */
export interface HttpBody {
  /**
   * The next bytes, or undefined at the regular end. Rejects with NodeError "input-interrupted" when the connection was
   * lost or has been silent for `timeoutMs` (default: the setting `socketTimeoutMs`). One call at a time.
   */
  next(timeoutMs?: number): Promise<Uint8Array | undefined>;
  /** Drops the connection; a pending `next` rejects. Any number of times. */
  cancel(): void;
}
