// Asks Audius' API: at its own address, and at one of the nodes of others that it lists while that fails. Plugin thread.

import { type Cache, type HttpAnswer, type PluginHost, SourceError } from "../../src/plugin-api/plugin.ts";
import { webAddressIn } from "../reading/address.ts";
import { listOf, membersOf, objectOf, parsedJson, trimmedText } from "../reading/json.ts";

const HOME = "https://api.audius.co";
/** Anybody may ask who gives a name. */
const APPLICATION = { app_name: "Tonearm" };
const NODES = { ttlMs: 10 * 60_000, entriesMax: 1 };
const NODES_READ_MAX = 100;
const KEY = "node";
/** All requests of a load have 20 s together, those for a link 15 s. */
const TIMEOUT_MS = 5000;
const NODES_TIMEOUT_MS = 3000;

interface AudiusRequest {
  readonly signal: AbortSignal;
  readonly query?: Readonly<Record<string, string | number>>;
}

/** An HTTP error without one of Audius: something in front of it may have answered. */
export class StrangeError extends SourceError {}

export class AudiusApi {
  readonly #host: Pick<PluginHost, "http" | "backend" | "cache">;
  /** The one that is asked in place of the API's own address. */
  readonly #nodes: Cache<string>;

  constructor(host: Pick<PluginHost, "http" | "backend" | "cache">) {
    this.#host = host;
    this.#nodes = host.cache("node", NODES);
  }

  /** The `data` of an answer. Rejects with a SourceError: `not-found` for 404. */
  get(path: string, { query, signal }: AudiusRequest): Promise<unknown> {
    const { http } = this.#host;
    return this.#anywhere(signal, async (base) => {
      const answer = await http.request(`${base}/v1${path}`, {
        signal,
        headers: { accept: "application/json" },
        query: { ...query, ...APPLICATION },
        timeoutMs: TIMEOUT_MS,
      });
      if (answer.status < 200 || answer.status > 299) throw this.#errorOf(answer);
      const { data } = membersOf(parsedJson(answer.text));
      if (data === undefined) throw new SourceError("changed", "Audius' API answered without `data`");
      return data;
    });
  }

  /** The file of a track, on the node that stores it. Rejects like `get`; `unavailable`: it is not for everybody. */
  stream(id: string, signal: AbortSignal): Promise<URL> {
    const { http } = this.#host;
    return this.#anywhere(signal, async (base) => {
      const url = new URL(`${base}/v1/tracks/${id}/stream`);
      for (const [name, value] of Object.entries(APPLICATION)) url.searchParams.set(name, value);
      // A node that has the file itself may send it at once.
      const headers = { range: "bytes=0-0" };
      const answer = await http.request(url.href, { signal, headers, redirect: "manual", timeoutMs: TIMEOUT_MS });
      if (answer.status >= 400) throw this.#errorOf(answer);
      const { location } = answer.headers;
      const file = location === undefined ? url : webAddressIn(location, url.href);
      if (file === undefined) throw new SourceError("changed", "Audius' API names no address of the track's file");
      return file;
    });
  }

  /** At the API's address; while that fails, at another node's. */
  async #anywhere<Value>(signal: AbortSignal, ask: (base: string) => Promise<Value>): Promise<Value> {
    const node = this.#nodes.get(KEY);
    const first = node ?? HOME;
    try {
      return await this.#backendOf(first).run(() => ask(first));
    } catch (error) {
      signal.throwIfAborted();
      if (!mayDifferElsewhere(error)) throw error;
      const other = node === undefined ? await this.#otherNode(error, signal) : HOME;
      const value = await this.#askOther(other, { ask, trouble: error, signal });
      if (other === HOME) this.#nodes.delete(KEY);
      else this.#nodes.set(KEY, other);
      return value;
    }
  }

  /** Rejects with `trouble` if it says no more. */
  async #askOther<Value>(
    other: string,
    { ask, trouble, signal }: { ask: (base: string) => Promise<Value>; trouble: SourceError; signal: AbortSignal },
  ): Promise<Value> {
    try {
      return await this.#backendOf(other).run(() => ask(other));
    } catch (error) {
      signal.throwIfAborted();
      throw mayDifferElsewhere(error) ? trouble : error;
    }
  }

  #errorOf(answer: HttpAnswer): SourceError {
    const error = this.#host.http.statusError(answer);
    // Refusals may be without words.
    const isOwn =
      objectOf(parsedJson(answer.text)) !== undefined || (answer.text === "" && error.kind === "unavailable");
    return isOwn ? error : new StrangeError(error.kind, error.message, { retryAfterMs: error.retryAfterMs });
  }

  #backendOf(base: string) {
    if (base === HOME) return this.#host.backend("api.audius.co");
    return this.#host.backend("other nodes", { host: new URL(base).host });
  }

  /** Rejects with `trouble` if there is none. */
  async #otherNode(trouble: SourceError, signal: AbortSignal): Promise<string> {
    const answer = await this.#host.http.json(HOME, { signal, timeoutMs: NODES_TIMEOUT_MS }).catch(() => undefined);
    signal.throwIfAborted();
    const nodes = listOf(membersOf(answer).data)
      .slice(0, NODES_READ_MAX)
      .flatMap((entry) => webAddressIn(trimmedText(entry) ?? "") ?? [])
      .filter(({ username, origin }) => username === "" && origin !== HOME);
    const node = nodes[Math.floor(Math.random() * nodes.length)];
    if (node === undefined) throw trouble;
    return node.href.replace(/[/?#]*$/, "");
  }
}

/** Whether another node may give a better answer. */
function mayDifferElsewhere(error: unknown): error is SourceError {
  if (!(error instanceof SourceError)) return false;
  return error instanceof StrangeError || ["busy", "changed", "unreachable"].includes(error.kind);
}
