// Finds YouTube's player script of the day and fetches it: never run here, only read as text. Plugin thread.

import { type Cache, SourceError } from "../../src/plugin-api/plugin.ts";
import { webAddressIn } from "../reading/address.ts";
import type { Host } from "./chosen-clients.ts";

const SCRIPT_HOST = "www.youtube.com";
const SCRIPT_BYTES_MAX = 6 * 1024 * 1024;
const PAGE_BYTES_MAX = 4 * 1024 * 1024;
const ADDRESS_TTL_MS = 6 * 60 * 60_000;
const SCRIPT_TTL_MS = 24 * 60 * 60_000;
const TIMEOUT_MS = 10_000;
const TIMESTAMP = /(?:signatureTimestamp|sts)\s*:\s*(\d{1,8})/;

export interface PlayerScript {
  /** A script never changes at its address. */
  readonly url: string;
  readonly text: string;
  readonly signatureTimestamp: number;
}

export class PlayerScripts {
  readonly #host: Host;
  readonly #addresses: Cache<string>;
  readonly #scripts: Cache<PlayerScript>;

  constructor(host: Host) {
    this.#host = host;
    this.#addresses = host.cache("player script address", { ttlMs: ADDRESS_TTL_MS, entriesMax: 1 });
    this.#scripts = host.cache("player script", { ttlMs: SCRIPT_TTL_MS, entriesMax: 2 });
  }

  /** Where it is. Rejects with a SourceError. */
  address(signal: AbortSignal): Promise<string> {
    const { playerScriptUrl } = this.#host.options;
    if (playerScriptUrl !== undefined && playerScriptUrl !== "")
      return Promise.resolve(checkedAddress(playerScriptUrl));
    return this.#addresses.getOrMake("", { signal, make: (shared) => this.#find(shared) });
  }

  async current(signal: AbortSignal): Promise<PlayerScript> {
    const url = await this.address(signal);
    return this.#scripts.getOrMake(url, { signal, make: (shared) => this.#fetch(url, shared) });
  }

  async #find(signal: AbortSignal): Promise<string> {
    const { http, options } = this.#host;
    const fetching = { signal, sizeBytesMax: PAGE_BYTES_MAX };
    const page = await http.text(`https://${SCRIPT_HOST}/iframe_api`, fetching).catch(() => "");
    signal.throwIfAborted();
    const id = /player\\?\/([0-9a-fA-F]{8})\\?\//.exec(page)?.[1];
    if (id !== undefined) return checkedAddress(`/s/player/${id}/${options.playerScriptVariant}`);
    const embedded = await http.text(`https://${SCRIPT_HOST}/embed/`, fetching);
    const path = /"jsUrl":"([^"\s]{1,300})"/.exec(embedded)?.[1];
    if (path !== undefined) return checkedAddress(path.replaceAll("\\/", "/"));
    throw new SourceError("changed", "neither /iframe_api nor /embed/ of YouTube names a player script");
  }

  async #fetch(url: string, signal: AbortSignal): Promise<PlayerScript> {
    const request = { signal, sizeBytesMax: SCRIPT_BYTES_MAX, timeoutMs: TIMEOUT_MS };
    const text = await this.#host.http.text(url, request);
    const timestamp = TIMESTAMP.exec(text)?.[1];
    if (timestamp === undefined) throw new SourceError("changed", "YouTube's player script has no signature timestamp");
    return { url, text, signatureTimestamp: Number(timestamp) };
  }
}

/** Scripts come from one host only. */
function checkedAddress(text: string): string {
  const url = webAddressIn(text, `https://${SCRIPT_HOST}/`);
  if (url?.origin === `https://${SCRIPT_HOST}`) return url.href;
  throw new SourceError("changed", `a player script elsewhere than on ${SCRIPT_HOST} is not taken`);
}
