// Finds YouTube's player script of the day and fetches it, unless it was prepared before: never run here, only read as
// text. Plugin thread.

import { type Cache, SourceError } from "../../src/plugin-api/plugin.ts";
import { webAddressIn } from "../reading/address.ts";
import type { Host } from "./chosen-clients.ts";
import { EMBED_URL } from "./clients.ts";
import { PreparedScripts } from "./prepared-scripts.ts";

const SCRIPT_HOST = "www.youtube.com";
const SCRIPT_BYTES_MAX = 6 * 1024 * 1024;
const PAGE_BYTES_MAX = 4 * 1024 * 1024;
const ADDRESS_TTL_MS = 6 * 60 * 60_000;
const TIMEOUT_MS = 10_000;
const HEADERS = { referer: EMBED_URL };
const TIMESTAMP = /(?:signatureTimestamp|sts)\s*:\s*(\d{1,8})/;

export interface PlayerScript {
  /** A script never changes at its address. */
  readonly url: string;
  readonly signatureTimestamp: number;
  /** As YouTube sent it, or as `prepareScript` made it. */
  readonly text: string;
  readonly isPrepared: boolean;
}

export class PlayerScripts {
  readonly #host: Host;
  readonly #addresses: Cache<string>;
  readonly #prepared: PreparedScripts;

  constructor(host: Host) {
    this.#host = host;
    this.#addresses = host.cache("player script address", { ttlMs: ADDRESS_TTL_MS, entriesMax: 1 });
    this.#prepared = new PreparedScripts(host);
  }

  /** Where it is. Rejects with a SourceError. */
  address(signal: AbortSignal): Promise<string> {
    const { playerScriptUrl } = this.#host.options;
    if (playerScriptUrl !== undefined && playerScriptUrl !== "")
      return Promise.resolve(checkedAddress(playerScriptUrl));
    return this.#addresses.getOrMake("", {
      signal,
      make: (shared) => this.#find(shared),
      isKeptFresh: true,
    });
  }

  /** The script at an address: prepared, if it was stored so. Rejects with a SourceError. */
  async load(url: string, signal: AbortSignal): Promise<PlayerScript> {
    const stored = await this.#prepared.get(url);
    if (stored === undefined) return this.#fetch(url, signal);
    return { url, signatureTimestamp: stored.signatureTimestamp, text: stored.code, isPrepared: true };
  }

  /** Stores a prepared script for later threads, in the background. */
  store({ url, signatureTimestamp, text }: PlayerScript): void {
    this.#prepared.set({ url, signatureTimestamp, code: text }).catch((error: unknown) => {
      this.#host.log.debug("the prepared player script could not be stored", { error });
    });
  }

  /** Discards a stored script that turned out to be of no use. */
  forget(url: string): void {
    this.#prepared.delete(url);
  }

  async #find(signal: AbortSignal): Promise<string> {
    const { http, options } = this.#host;
    const fetching = { signal, headers: HEADERS, sizeBytesMax: PAGE_BYTES_MAX };
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
    const request = { signal, headers: HEADERS, sizeBytesMax: SCRIPT_BYTES_MAX, timeoutMs: TIMEOUT_MS };
    const text = await this.#host.http.text(url, request);
    const timestamp = TIMESTAMP.exec(text)?.[1];
    if (timestamp === undefined) throw new SourceError("changed", "YouTube's player script has no signature timestamp");
    return { url, text, signatureTimestamp: Number(timestamp), isPrepared: false };
  }
}

/** Scripts come from one host only. */
function checkedAddress(text: string): string {
  const url = webAddressIn(text, `https://${SCRIPT_HOST}/`);
  if (url?.origin === `https://${SCRIPT_HOST}`) return url.href;
  throw new SourceError("changed", `a player script elsewhere than on ${SCRIPT_HOST} is not taken`);
}
