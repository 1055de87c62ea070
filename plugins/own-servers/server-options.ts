// The options common to all plugins for the operator's servers, and the checks beyond their schema. Plain data and
// pure. Main and plugin threads.

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
  username: { type: "text", meaning: "user name at the server; with `password`" },
  password: { type: "secret", meaning: "password of that user" },
  apiKey: { type: "secret", meaning: "API key created on the server, instead of `username` and `password`" },
} as const satisfies OptionSchema;

/** Options beside `servers`. */
export const COMMON_OPTIONS = {
  searchLimit: { type: "integer", default: 20, min: 1, max: 100, meaning: "tracks that a search asks each server for" },
  transcodeTo: {
    type: "choice",
    names: ["none", "mp3", "opus"],
    default: "none",
    meaning:
      "how servers transcode a file before they send it; `none`: the original file, which supports seeking. Useful for" +
      " files that the node cannot decode, and for slow connections",
  },
} as const satisfies OptionSchema;

/** One of `servers`, as it was read. */
interface ServerEntry {
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

/** A server whose options have been validated. */
export interface CheckedServer {
  readonly name: string;
  readonly url: string;
  readonly login: Login;
}

/** Throws an Error that describes the invalid options; its message never contains a value that may be a secret. */
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

/** Undefined if no login method is given, or two. */
function loginOf({ username, password, apiKey }: ServerEntry): Login | undefined {
  if (apiKey !== undefined)
    return username === undefined && password === undefined ? { kind: "apiKey", apiKey } : undefined;
  return username !== undefined && password !== undefined ? { kind: "password", username, password } : undefined;
}
