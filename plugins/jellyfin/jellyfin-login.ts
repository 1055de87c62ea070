// Authenticates the node at a Jellyfin server: with the operator's API key, or with a session created from user name
// and password and reused until the server refuses it. Plugin thread.

import type { Cache, PluginHost } from "../../src/plugin-api/plugin.ts";
import { type ServerConnection, ServerTrouble } from "../own-servers/server-connection.ts";
import type { Login } from "../own-servers/server-options.ts";
import { type JellyfinSession, readSession } from "./jellyfin-answers.ts";

/** Sessions do not expire by themselves; one a day is not a burden. */
const SESSION_TTL_MS = 24 * 60 * 60_000;
/** Jellyfin locks users out after a few wrong passwords: a refused one is not tried with each request. */
const REFUSAL_MS = 5 * 60_000;
const KEY = "session";

/** Credentials sent with each request. */
export interface JellyfinAccess {
  /** Secret. */
  readonly headers: { readonly authorization: string };
  /** Undefined with an API key, which belongs to no user. */
  readonly session: JellyfinSession | undefined;
}

interface JellyfinLoginOptions {
  readonly host: PluginHost;
  readonly connection: ServerConnection;
  readonly login: Login;
  readonly deviceId: string;
}

export class JellyfinLogin {
  readonly #options: JellyfinLoginOptions;
  readonly #sessions: Cache<JellyfinSession>;
  #refusal: { readonly trouble: ServerTrouble; readonly untilMs: number } | undefined;

  constructor(options: JellyfinLoginOptions) {
    this.#options = options;
    const name = `session ${options.connection.name}`;
    this.#sessions = options.host.cache(name, { ttlMs: SESSION_TTL_MS, entriesMax: 1 });
  }

  /**
   * Runs `work` with valid credentials, and once more with a new session if the server does not accept the old one any
   * more. Rejects with the error of `work`, or with the reason why there is no session.
   */
  async use<Value>(work: (access: JellyfinAccess) => Promise<Value>, signal: AbortSignal): Promise<Value> {
    const access = await this.#access(signal);
    try {
      return await work(access);
    } catch (error) {
      const { session } = access;
      if (!(error instanceof ServerTrouble) || error.status !== 401 || session === undefined) throw error;
      // Keep a session that another request has created in the meantime: each login ends the one before.
      if (this.#sessions.get(KEY)?.token === session.token) this.#sessions.delete(KEY);
      return work(await this.#access(signal));
    }
  }

  async #access(signal: AbortSignal): Promise<JellyfinAccess> {
    const { login } = this.#options;
    if (login.kind === "apiKey") return { headers: this.#headers(login.apiKey), session: undefined };
    const make = (shared: AbortSignal): Promise<JellyfinSession> => this.#logIn(login, shared);
    const session = await this.#sessions.getOrMake(KEY, { signal, make });
    return { headers: this.#headers(session.token), session };
  }

  async #logIn(login: Extract<Login, { kind: "password" }>, signal: AbortSignal): Promise<JellyfinSession> {
    const { connection, host } = this.#options;
    if (this.#refusal !== undefined && host.clock.now() < this.#refusal.untilMs) throw this.#refusal.trouble;
    const body = { Username: login.username, Pw: login.password };
    const request = { signal, body, headers: this.#headers() };
    return connection.ask("/Users/AuthenticateByName", request, (answer) => {
      if (answer.status === 401 || answer.status === 403) {
        const trouble = connection.trouble("unavailable", "refused user name or password");
        this.#refusal = { trouble, untilMs: host.clock.now() + REFUSAL_MS };
        throw trouble;
      }
      const session = readSession(connection.readMembers(answer));
      if (session === undefined) throw connection.trouble("changed", "answered no session where one was expected");
      return session;
    });
  }

  /** Values are percent-encoded: a quote would end one early. */
  #headers(token?: string): JellyfinAccess["headers"] {
    const { host, deviceId } = this.#options;
    const version = /\/([\w.-]+)/.exec(host.userAgent)?.[1] ?? "1";
    const values = { Token: token, Client: "Tonearm", Device: "Tonearm", DeviceId: deviceId, Version: version };
    const pairs = Object.entries(values).flatMap(([name, value]) => {
      return value === undefined ? [] : [`${name}="${encodeURIComponent(value)}"`];
    });
    return { authorization: `MediaBrowser ${pairs.join(", ")}` };
  }
}
