// Has links opened by a yt-cipher server of the operator's instead of the player script here. Plugin thread.

import { type Cache, type JsonMembers, SourceError } from "../../src/plugin-api/plugin.ts";
import { webAddressIn } from "../reading/address.ts";
import type { Host } from "./chosen-clients.ts";
import type { FormatLink } from "./formats.ts";
import { FOLLOWED_VERSION } from "./manifest.ts";
import type { PlayerScripts } from "./player-script.ts";
import { number, string } from "./read-json.ts";
import { asUnavailable, type Riddles, riddlesOf, type Unlocker } from "./unlocker.ts";

const BACKEND = "remote cipher";
const TIMESTAMP_TTL_MS = 24 * 60 * 60_000;
const ANSWER_BYTES_MAX = 64 * 1024;

export class RemoteCipher implements Unlocker {
  readonly #host: Host;
  readonly #scripts: Pick<PlayerScripts, "address">;
  readonly #baseUrl: string;
  readonly #timestamps: Cache<number>;
  /** The script of a `resolve`, by its signal: its links fit the timestamp that it has sent. */
  readonly #addresses = new WeakMap<AbortSignal, Promise<string>>();

  constructor(parts: {
    readonly host: Host;
    readonly scripts: Pick<PlayerScripts, "address">;
    readonly baseUrl: string;
  }) {
    this.#host = parts.host;
    this.#scripts = parts.scripts;
    this.#baseUrl = parts.baseUrl.replace(/\/$/, "");
    this.#timestamps = this.#host.cache("remote timestamps", { ttlMs: TIMESTAMP_TTL_MS, entriesMax: 4 });
  }

  get isReady(): boolean {
    return !this.#host.backend(BACKEND).isOpen;
  }

  async prepare(): Promise<void> {}

  signatureTimestamp(signal: AbortSignal): Promise<number> {
    return asUnavailable(this.#timestamp(signal), signal);
  }

  async open(link: FormatLink, signal: AbortSignal): Promise<string> {
    const riddles = riddlesOf(link);
    return asUnavailable(this.#resolved(riddles, signal), signal);
  }

  async #timestamp(signal: AbortSignal): Promise<number> {
    const scriptUrl = await this.#addressFor(signal);
    return this.#timestamps.getOrMake(scriptUrl, {
      signal,
      make: async (shared) => {
        const timestamp = number(await this.#ask("get_sts", { player_url: scriptUrl }, shared), "sts");
        if (timestamp !== undefined) return timestamp;
        throw new SourceError("changed", "the remote cipher server answered get_sts without sts");
      },
    });
  }

  async #resolved({ url, challenge, signature, parameter }: Riddles, signal: AbortSignal): Promise<string> {
    const answer = await this.#ask(
      "resolve_url",
      {
        stream_url: url.href,
        player_url: await this.#addressFor(signal),
        ...(signature !== undefined && { encrypted_signature: signature, signature_key: parameter }),
        ...(challenge !== undefined && { n_param: challenge }),
      },
      signal,
    );
    const resolved = webAddressIn(string(answer, "resolved_url") ?? "");
    if (resolved === undefined) throw new SourceError("changed", "the remote cipher server answered without a link");
    return resolved.href;
  }

  #addressFor(signal: AbortSignal): Promise<string> {
    const address = this.#addresses.get(signal) ?? this.#scripts.address(signal);
    this.#addresses.set(signal, address);
    return address;
  }

  #ask(route: string, body: JsonMembers, signal: AbortSignal): Promise<unknown> {
    const { password, userAgent } = this.#host.options.remoteCipher;
    return this.#host.backend(BACKEND).run(() =>
      this.#host.http.json(`${this.#baseUrl}/${route}`, {
        signal,
        body,
        sizeBytesMax: ANSWER_BYTES_MAX,
        headers: { authorization: password, "user-agent": userAgent, "plugin-version": FOLLOWED_VERSION },
      }),
    );
  }
}
