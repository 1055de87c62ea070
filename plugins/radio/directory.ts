// The servers of radio-browser: all have the same stations, any may be down. One is chosen at random, the next is tried
// when it fails, and those whose circuit breaker is open are skipped. Plugin thread.

import { type Backend, type PluginHost, SourceError } from "../../src/plugin-api/plugin.ts";

/** Names the others; it is served by all of them. */
const ANY_SERVER = "all.api.radio-browser.info";
const SERVERS_MAX = 6;
const SERVER = /^[a-z0-9-]{1,40}\.api\.radio-browser\.info$/;
const CONFIGURED_SERVER = /^[a-z0-9-]+(?:\.[a-z0-9-]+)+$/;
const SERVERS_TTL_MS = 6 * 60 * 60_000;
/** All that is asked in a row has to fit into the 15 s that a link may take: the list, these, and one more. */
const TIMEOUT_MS = 3500;
const ATTEMPTS_TIME_MS_MAX = 7000;
/** A hundred stations are some 100 KiB. */
const ANSWER_BYTES_MAX = 2 * 1024 * 1024;

interface DirectoryOptions {
  readonly host: Pick<PluginHost, "http" | "backend" | "cache" | "clock" | "userAgent" | "log">;
  /** Host names that the operator has chosen; none: the directory is asked for them. */
  readonly servers: readonly string[];
  /** From 0 to below 1. */
  readonly random: () => number;
}

export class StationDirectory {
  readonly #options: DirectoryOptions;
  readonly #chosen: readonly string[];

  constructor(options: DirectoryOptions) {
    this.#options = options;
    const names = options.servers.map((name) => name.trim().toLowerCase());
    for (const name of names) {
      if (!CONFIGURED_SERVER.test(name)) throw new Error(`servers: "${name}" is not a host name`);
    }
    this.#chosen = [...new Set(names)].slice(0, SERVERS_MAX);
  }

  /** The JSON answer of the first working server. Rejects with the SourceError of the last one tried. */
  async ask(
    path: string,
    query: Readonly<Record<string, string | number | undefined>>,
    signal: AbortSignal,
  ): Promise<unknown> {
    let last: unknown = new SourceError(
      "busy",
      "the circuit breakers of all radio-browser servers are open, as they kept failing",
    );
    const { clock } = this.#options.host;
    const backends = await this.#backends(signal);
    const startMs = clock.now();
    for (const backend of backends) {
      if (backend.isOpen) continue;
      try {
        return await backend.run(() => this.#json(`https://${backend.name}${path}`, query, signal));
      } catch (error) {
        signal.throwIfAborted();
        if (!isFault(error)) throw error;
        last = error;
        if (clock.now() - startMs > ATTEMPTS_TIME_MS_MAX) break;
      }
    }
    throw last;
  }

  async #backends(signal: AbortSignal): Promise<Backend[]> {
    const servers = shuffled(await this.#servers(signal), this.#options.random);
    return servers.map((name) => this.#options.host.backend(name));
  }

  async #servers(signal: AbortSignal): Promise<readonly string[]> {
    if (this.#chosen.length > 0) return this.#chosen;
    const cache = this.#options.host.cache<readonly string[]>("servers", { ttlMs: SERVERS_TTL_MS, entriesMax: 1 });
    try {
      return await cache.getOrMake("servers", {
        signal,
        isKeptFresh: true,
        make: async (shared) => readServers(await this.#json(`https://${ANY_SERVER}/json/servers`, {}, shared)),
      });
    } catch (error) {
      signal.throwIfAborted();
      // The list is optional: the common name of the servers resolves to one of them.
      this.#options.host.log.warn("the list of radio-browser's servers is not available", { error });
      return [ANY_SERVER];
    }
  }

  #json(
    url: string,
    query: Readonly<Record<string, string | number | undefined>>,
    signal: AbortSignal,
  ): Promise<unknown> {
    const { http, userAgent } = this.#options.host;
    const bounds = { timeoutMs: TIMEOUT_MS, sizeBytesMax: ANSWER_BYTES_MAX };
    return http.json(url, { signal, query, headers: { "user-agent": userAgent }, ...bounds });
  }
}

/** Names that are the directory's own, each once: what else a server names is not asked. */
function readServers(answer: unknown): readonly string[] {
  const entries: readonly unknown[] = Array.isArray(answer) ? answer.slice(0, 200) : [];
  const names = entries.map((entry) => {
    const name = typeof entry === "object" && entry !== null && "name" in entry ? entry.name : undefined;
    return typeof name === "string" ? name.toLowerCase() : "";
  });
  const servers = [...new Set(names.filter((name) => SERVER.test(name)))].sort().slice(0, SERVERS_MAX);
  if (servers.length === 0) throw new SourceError("changed", "radio-browser names none of its servers");
  return servers;
}

/** Whether another server may do better. */
function isFault(error: unknown): boolean {
  return error instanceof SourceError && ["busy", "changed", "unreachable"].includes(error.kind);
}

function shuffled<Value>(values: readonly Value[], random: () => number): Value[] {
  const keyed = values.map((value) => ({ value, key: random() }));
  return keyed.sort((one, other) => one.key - other.key).map(({ value }) => value);
}
