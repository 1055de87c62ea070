// Proof-of-origin tokens, set by the operator or made by a server of the operator's. None of them is ever written
// anywhere. Plugin thread.

import { type Cache, SourceError } from "../../src/plugin-api/plugin.ts";
import type { Host } from "./chosen-clients.ts";
import { string } from "./read-json.ts";

const POT_TTL_MS = 6 * 60 * 60_000;
const POT_VIDEOS_MAX = 200;
const POT_TIMEOUT_MS = 8000;

export class OriginTokens {
  readonly #host: Host;
  readonly #tokens: Cache<string>;

  constructor(host: Host) {
    this.#host = host;
    this.#tokens = host.cache("origin tokens", { ttlMs: POT_TTL_MS, entriesMax: POT_VIDEOS_MAX });
  }

  /** Undefined if there is none; playing works without a token, but fails more often. */
  async tokenFor(videoId: string, signal: AbortSignal): Promise<string | undefined> {
    const { token, visitorData, providerUrl } = this.#host.options.pot;
    if (token !== "" && visitorData !== "") return token;
    if (providerUrl === undefined || providerUrl === "") return undefined;
    try {
      return await this.#tokens.getOrMake(videoId, {
        signal,
        make: (shared) => this.#make(providerUrl, videoId, shared),
      });
    } catch (error) {
      signal.throwIfAborted();
      const reason = error instanceof Error ? error.message : String(error);
      this.#host.log.warn("no proof-of-origin token available; continuing without", { reason });
      return undefined;
    }
  }

  #make(
    baseUrl: string,
    videoId: string,
    signal: AbortSignal,
  ): Promise<{ readonly value: string; readonly ttlMs: number }> {
    return this.#host.backend("token provider").run(async () => {
      const request = { signal, timeoutMs: POT_TIMEOUT_MS, body: { content_binding: videoId } };
      const answer = await this.#host.http.json(`${baseUrl.replace(/\/$/, "")}/get_pot`, request);
      const value = string(answer, "poToken");
      if (value === undefined || !/^[\w=%.~-]{1,4000}$/.test(value)) {
        throw new SourceError("changed", "the token provider answered without poToken");
      }
      const leftMs = Date.parse(string(answer, "expiresAt") ?? "") - this.#host.clock.now();
      return { value, ttlMs: leftMs > 0 ? Math.min(leftMs, POT_TTL_MS) : POT_TTL_MS };
    });
  }
}
