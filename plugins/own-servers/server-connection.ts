// The connection to one server of the operator's own: its address in front of each path, its health counted, and its
// errors in words for clients, which never learn where it is. Plugin threads.

import {
  type Backend,
  type HttpAnswer,
  type HttpRequest,
  type PluginHost,
  SourceError,
} from "../../src/plugin-api/plugin.ts";
import { type Members, objectOf } from "../reading/json.ts";

/** A search waits for all servers: none may take all of its time. */
const TIMEOUT_MS = 8000;

/** An error from a server, worded so that clients may see it. */
export class ServerTrouble extends SourceError {
  /** The HTTP status that says so, where it is one. */
  readonly status: number | undefined;

  constructor(kind: SourceError["kind"], message: string, more: Pick<ServerTrouble, "retryAfterMs" | "status">) {
    super(kind, message, { retryAfterMs: more.retryAfterMs });
    this.status = more.status;
  }
}

export class ServerConnection {
  /** As the operator calls it. */
  readonly name: string;
  readonly #url: string;
  readonly #host: PluginHost;
  readonly #backend: Backend;

  constructor(host: PluginHost, { name, url }: { readonly name: string; readonly url: string }) {
    this.name = name;
    this.#url = url;
    this.#host = host;
    this.#backend = host.backend(name);
  }

  /** The address of a path. */
  at(path: string, query: Readonly<Record<string, string | undefined>> = {}): string {
    const url = new URL(`${this.#url}${path}`);
    for (const [name, value] of Object.entries(query)) if (value !== undefined) url.searchParams.set(name, value);
    return url.href;
  }

  /** `read` converts the answer, whatever its status is. An error it throws counts as the server's failure. */
  async ask<Value>(path: string, request: HttpRequest, read: (answer: HttpAnswer) => Value): Promise<Value> {
    const url = `${this.#url}${path}`;
    const work = async (): Promise<Value> =>
      read(await this.#host.http.request(url, { timeoutMs: TIMEOUT_MS, ...request }));
    try {
      return await this.#backend.run(work);
    } catch (error) {
      throw this.#toSourceError(error);
    }
  }

  /** An object in JSON. Throws what another status means. */
  readMembers(answer: HttpAnswer): Members {
    if (answer.status < 200 || answer.status > 299) throw this.statusTrouble(answer);
    const members = membersIn(answer.text);
    if (members !== undefined) return members;
    const found = answer.text.trimStart().startsWith("<") ? "a page" : "something else";
    throw this.trouble("changed", `answered ${found} where JSON was expected; is its address right?`);
  }

  /** The error for a status that came without an explanation. */
  statusTrouble(answer: HttpAnswer): ServerTrouble {
    const { status } = answer;
    const trouble = (kind: SourceError["kind"], what: string, retryAfterMs?: number): ServerTrouble =>
      this.trouble(kind, `${what} (HTTP ${status})`, { status, retryAfterMs });
    if (status === 401 || status === 403) return trouble("unavailable", "refused the node's login");
    if (status === 404) return trouble("changed", "has no such interface; is its address right?");
    const { kind, retryAfterMs } = this.#host.http.statusError(answer);
    return trouble(kind, kind === "busy" ? "is busy or has failed" : "refused what it was asked", retryAfterMs);
  }

  /** The text that follows `the server "home" `. */
  trouble(
    kind: SourceError["kind"],
    what: string,
    more: Pick<ServerTrouble, "retryAfterMs" | "status"> = { retryAfterMs: undefined, status: undefined },
  ): ServerTrouble {
    return new ServerTrouble(kind, `the server "${this.name}" ${what}`, more);
  }

  /** The host's own message contains the address, which must appear in the log only. */
  #toSourceError(error: unknown): unknown {
    if (error instanceof ServerTrouble || !(error instanceof SourceError)) return error;
    this.#host.log.debug("request to a configured server failed", {
      server: this.name,
      problem: error.message,
    });
    const { kind, retryAfterMs } = error;
    return this.trouble(kind, WORDS[kind] ?? "could not be asked", { retryAfterMs, status: undefined });
  }
}

const WORDS: Partial<Record<SourceError["kind"], string>> = {
  unreachable: "cannot be reached; the log and the node's list of sources say why",
  busy: "is not requested for a while, as it was busy or kept failing (its circuit breaker is open)",
  changed: "answered too much, or led in circles",
};

/** The JSON object in the text; undefined if it is not one. */
export function membersIn(text: string): Members | undefined {
  try {
    return objectOf(JSON.parse(text));
  } catch {
    // A page, or nothing at all: the caller says so.
    return undefined;
  }
}
