// The options that every plugin for servers of the operator's own has, and what is checked of them beyond their form.
// Plain data and pure. Main and plugin threads.

import type { OptionSchema } from "../../src/plugin-api/plugin.ts";

/** Each is a backend, of which a plugin can have 64. */
const SERVERS_MAX = 64;
/** Stands between colons in identifiers. */
const NAME = /^[\w.-]{1,40}$/;

/** Members of each of `servers`. */
export const SERVER_MEMBERS = {
  name: {
    type: "text",
    isRequired: true,
    meaning:
      "what the server is called in identifiers: 1 to 40 letters, digits, dots, dashes and underscores. Tracks that" +
      " clients keep name it: once it is changed they cannot be played any more",
  },
  url: {
    type: "server",
    isRequired: true,
    meaning:
      "address of the server, with its port and path: http://192.168.1.5:4533. It may be in a private network; its" +
      " host and port are let through",
  },
  username: { type: "text", meaning: "who the node is to the server; with `password`" },
  password: { type: "secret", meaning: "password of that user" },
  apiKey: { type: "secret", meaning: "in place of `username` and `password`: a key that the server has given out" },
} as const satisfies OptionSchema;

/** Members beside `servers`. */
export const COMMON_OPTIONS = {
  searchLimit: { type: "integer", default: 20, min: 1, max: 100, meaning: "tracks that a search asks each server for" },
  transcodeTo: {
    type: "choice",
    names: ["none", "mp3", "opus"],
    default: "none",
    meaning:
      "what servers are to make of a file before they send it; `none`: the file as it is, which can be sought in. Of" +
      " use for files that the node cannot decode, and for slow lines",
  },
} as const satisfies OptionSchema;

/** One of `servers`, as it was read. */
export interface ServerEntry {
  readonly name: string;
  readonly url: string;
  readonly username: string | undefined;
  readonly password: string | undefined;
  readonly apiKey: string | undefined;
}

export type TranscodeTo = (typeof COMMON_OPTIONS.transcodeTo.names)[number];

/** How the node is known to a server. */
export type Login =
  | { readonly kind: "password"; readonly username: string; readonly password: string }
  | { readonly kind: "apiKey"; readonly apiKey: string };

/** A server whose options make sense. */
export interface CheckedServer {
  readonly name: string;
  readonly url: string;
  readonly login: Login;
}

/** Throws an Error that says what is wrong with them; never with a value that may be a secret. */
export function checkedServers(servers: readonly ServerEntry[], pluginName: string): readonly CheckedServer[] {
  const path = `plugins.${pluginName}.servers`;
  if (servers.length === 0) throw new Error(`${path} names no server`);
  if (servers.length > SERVERS_MAX) throw new Error(`${path} names more than ${SERVERS_MAX} servers`);
  return servers.map((server, index) => {
    const { name, url } = server;
    if (!NAME.test(name)) {
      throw new Error(`${path}[${index}].name: expected 1 to 40 letters, digits, dots, dashes and underscores`);
    }
    if (servers.findIndex((other) => other.name === name) < index) {
      throw new Error(`${path}[${index}].name: another server is called ${name} already`);
    }
    const login = loginOf(server);
    if (login === undefined) throw new Error(`${path}[${index}]: expected either username and password, or apiKey`);
    return { name, url, login };
  });
}

/** Undefined: it says no way, or two. */
function loginOf({ username, password, apiKey }: ServerEntry): Login | undefined {
  if (apiKey !== undefined)
    return username === undefined && password === undefined ? { kind: "apiKey", apiKey } : undefined;
  return username !== undefined && password !== undefined ? { kind: "password", username, password } : undefined;
}
