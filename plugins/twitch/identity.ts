// As whom the plugin asks Twitch: the client id of the site's own page and a device id, as set by the operator or read
// from the page, no more often than needed. Plugin thread.

import {
  type Backend,
  type Cache,
  type HttpAnswer,
  type PluginHost,
  SourceError,
} from "../../src/plugin-api/plugin.ts";

const PAGE = "https://www.twitch.tv/";
/** The client id of another page of Twitch's, which yt-dlp sends: its requests may pass where those of PAGE fail. */
const OTHER_CLIENT_ID = "ue6666qo983tsx6so1t0vnawi233wa";
const CACHED_MS = 24 * 60 * 60_000;
/** A refused identity is not looked for more often. */
const GAP_MS = 10 * 60_000;
const CLIENT_ID = /\bclientId\s*[=:]\s*"([a-zA-Z0-9]{10,60})"/;
const DEVICE_ID = /(?:^|[;,\s])unique_id=([\w-]{8,100})/;

export interface Identity {
  readonly clientId: string;
  readonly deviceId: string;
}

interface IdentityOptions {
  readonly clientId: string | undefined;
  readonly deviceId: string | undefined;
}

export class TwitchIdentity {
  readonly #host: Pick<PluginHost<IdentityOptions>, "options" | "http" | "clock">;
  readonly #backend: Backend;
  readonly #found: Cache<Identity>;
  /** Where the page gives none: any will do, as long as it stays. */
  readonly #ownDeviceId = crypto.randomUUID().replaceAll("-", "");
  #readAtMs = Number.NEGATIVE_INFINITY;

  constructor(host: Pick<PluginHost<IdentityOptions>, "options" | "http" | "clock" | "backend" | "cache">) {
    this.#host = host;
    this.#backend = host.backend("client id of www.twitch.tv");
    this.#found = host.cache("identity", { ttlMs: CACHED_MS, entriesMax: 1, persist: true });
  }

  async get(signal: AbortSignal): Promise<Identity> {
    const { clientId, deviceId } = this.#host.options;
    if (clientId !== undefined) return { clientId, deviceId: deviceId ?? this.#ownDeviceId };
    const make = (shared: AbortSignal) => this.#backend.run(() => this.#read(shared));
    const found = await this.#found.getOrMake("page", { signal, make, isKeptFresh: true });
    return { clientId: found.clientId, deviceId: deviceId ?? found.deviceId };
  }

  /** Twitch has refused it. False if no other one is available now. */
  renew({ clientId }: Identity): boolean {
    if (this.#host.options.clientId !== undefined) return false;
    const known = this.#found.get("page");
    // Another request was refused before this one, and the new identity is there or being fetched.
    if (known?.clientId !== clientId) return true;
    if (this.#host.clock.now() - this.#readAtMs < GAP_MS) return false;
    this.#found.delete("page");
    return true;
  }

  /** The integrity check has refused it. False if the other client id is set by the operator, or refused itself. */
  useOther({ clientId, deviceId }: Identity): boolean {
    if (this.#host.options.clientId !== undefined || clientId === OTHER_CLIENT_ID) return false;
    this.#found.set("page", { clientId: OTHER_CLIENT_ID, deviceId });
    return true;
  }

  async #read(signal: AbortSignal): Promise<Identity> {
    const { http, clock } = this.#host;
    const answer = await http.request(PAGE, { signal });
    if (answer.status < 200 || answer.status > 299) throw http.statusError(answer);
    const clientId = CLIENT_ID.exec(answer.text)?.[1];
    if (clientId === undefined) {
      throw new SourceError("changed", `${PAGE} has no clientId="…" in it; set plugins.twitch.clientId to go without`);
    }
    this.#readAtMs = clock.now();
    return { clientId, deviceId: deviceIdOf(answer) ?? this.#ownDeviceId };
  }
}

function deviceIdOf({ headers }: HttpAnswer): string | undefined {
  return DEVICE_ID.exec(headers["set-cookie"] ?? "")?.[1];
}
