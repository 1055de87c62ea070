// Follows the short links of Spotify's apps, one redirect at a time, and only to pages of Spotify. Plugin thread.

import type { Backend, HttpAnswer, PluginHost } from "../../src/plugin-api/plugin.ts";
import { webAddressIn } from "../reading/address.ts";
import { parseLink, type SpotifyTarget } from "./identifier.ts";

const REDIRECTS_MAX = 3;
const TIMEOUT_MS = 5000;
const SIZE_BYTES_MAX = 512 * 1024;

export class ShortLinks {
  readonly #http: PluginHost["http"];
  readonly #backend: Backend;

  constructor({ http, backend }: Pick<PluginHost, "http" | "backend">) {
    this.#http = http;
    this.#backend = backend("short links");
  }

  /** Undefined: it leads to nothing that can be loaded. */
  async follow(first: string, signal: AbortSignal): Promise<Exclude<SpotifyTarget, { kind: "shortLink" }> | undefined> {
    let url = first;
    for (let count = 0; count < REDIRECTS_MAX; count++) {
      const target = await this.#backend.run(() => this.#targetOf(url, signal));
      const link = target === undefined ? undefined : parseLink(target);
      if (link?.kind !== "shortLink") return link;
      url = link.url;
    }
    return undefined;
  }

  /** Some servers redirect only requests for the page itself. */
  async #targetOf(url: string, signal: AbortSignal): Promise<string | undefined> {
    for (const method of ["HEAD", "GET"] as const) {
      const answer = await this.#http.request(url, {
        signal,
        method,
        redirect: "manual",
        timeoutMs: TIMEOUT_MS,
        sizeBytesMax: SIZE_BYTES_MAX,
      });
      const target = locationOf(answer, url);
      if (target !== undefined) return target;
      if (method === "GET" && (answer.status === 429 || answer.status >= 500)) throw this.#http.statusError(answer);
    }
    return undefined;
  }
}

function locationOf({ status, headers }: HttpAnswer, base: string): string | undefined {
  return status >= 300 && status <= 399 ? webAddressIn(headers.location ?? "", base)?.href : undefined;
}
