// Asks Twitch's own interface, gql.twitch.tv, and says what its refusals mean. Plugin thread.

import { type Backend, type JsonMembers, type PluginHost, SourceError } from "../../src/plugin-api/plugin.ts";
import { listOf, type Members, membersOf, trimmedText } from "../reading/json.ts";
import type { Identity, TwitchIdentity } from "./identity.ts";

const ADDRESS = "https://gql.twitch.tv/gql";
const MESSAGE_LENGTH_MAX = 200;
const SIZE_BYTES_MAX = 1024 * 1024;
/** Statuses that mean a refused client id or token. */
const REFUSALS = new Set([400, 401, 403]);

export interface Operation<Value> {
  readonly name: string;
  readonly body: JsonMembers;
  /** Where its hash is set: what to change when Twitch does not know it. */
  readonly hashOption?: string;
  /** Reads the member `data`; undefined if the item does not exist. Throws a SourceError for an invalid answer. */
  readonly read: (data: Members) => Value | undefined;
}

export class TwitchGql {
  readonly #host: Pick<PluginHost, "http">;
  readonly #identity: TwitchIdentity;
  readonly #backend: Backend;

  constructor(host: Pick<PluginHost, "http" | "backend">, identity: TwitchIdentity) {
    this.#host = host;
    this.#identity = identity;
    this.#backend = host.backend("gql.twitch.tv");
  }

  /** Runs an operation and returns the value read. A refused identity is renewed once. */
  async ask<Value>(operation: Operation<Value>, signal: AbortSignal): Promise<Value | undefined> {
    const identity = await this.#identity.get(signal);
    try {
      return await this.#backend.run(() => this.#attempt(operation, identity, signal));
    } catch (error) {
      if (!(error instanceof IdentityRefusal) || !this.#identity.renew(identity)) throw error;
    }
    const other = await this.#identity.get(signal);
    return this.#backend.run(() => this.#attempt(operation, other, signal));
  }

  async #attempt<Value>(
    operation: Operation<Value>,
    identity: Identity,
    signal: AbortSignal,
  ): Promise<Value | undefined> {
    const { http } = this.#host;
    const answer = await http.request(ADDRESS, {
      signal,
      body: operation.body,
      sizeBytesMax: SIZE_BYTES_MAX,
      headers: { "client-id": identity.clientId, "x-device-id": identity.deviceId },
    });
    if (REFUSALS.has(answer.status)) throw new IdentityRefusal(answer.status);
    if (answer.status < 200 || answer.status > 299) throw http.statusError(answer);
    const { data, errors } = membersOf(parsed(answer.text));
    const value = operation.read(membersOf(data));
    // An error in a successful answer concerns a part of it that is not used here.
    if (value !== undefined) return value;
    throwFirst(listOf(errors), operation);
    if (Object.keys(membersOf(data)).length > 0) return undefined;
    throw new SourceError("changed", `Twitch answered the query ${operation.name} without data`);
  }
}

class IdentityRefusal extends SourceError {
  constructor(status: number) {
    super("changed", `gql.twitch.tv refuses the client id (HTTP ${status}); set plugins.twitch.clientId to another`);
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    const found = text.trimStart().startsWith("<") ? "a page" : "something else";
    throw new SourceError("changed", `${ADDRESS} answered ${found} where JSON was expected`);
  }
}

function throwFirst(errors: readonly unknown[], { name, hashOption }: Operation<unknown>): void {
  const message = trimmedText(membersOf(errors[0]).message)?.slice(0, MESSAGE_LENGTH_MAX);
  if (message === undefined) return;
  if (message === "PersistedQueryNotFound") {
    const advice = hashOption === undefined ? "" : `; set plugins.twitch.${hashOption} to its new hash`;
    throw new SourceError(
      "changed",
      `Twitch does not know the query ${name} any more (PersistedQueryNotFound)${advice}`,
    );
  }
  const isBusy = /^service (timeout|error|unavailable)/i.test(message);
  throw new SourceError(isBusy ? "busy" : "changed", `Twitch did not answer the query ${name}: ${message}`);
}
