// The parts of a plugin's options that the node itself needs: the configured servers, and the texts that are secret.
// Any thread.

import { parseUrl, serverOf } from "../lib/parse-url.ts";
import type { OptionSchema, OptionValues } from "../plugin-api/plugin.ts";

/** A server that a plugin and its tracks may reach although it is in a private network. */
interface AllowedServer {
  /** In lower case; an IPv6 address without brackets, a full name without the dot at its end. */
  readonly host: string;
  readonly port: number;
}

/** The addresses of the `server` options, each once. */
export function allowedServersOf<Schema extends OptionSchema>(
  schema: Schema,
  values: OptionValues<Schema>,
): readonly AllowedServer[] {
  const servers = new Map<string, AllowedServer>();
  for (const text of textsOf("server", schema, values)) {
    const url = parseUrl(text);
    if (url === undefined || !/^https?:$/.test(url.protocol)) continue;
    const server = serverOf(url);
    const colon = server.lastIndexOf(":");
    servers.set(server, { host: server.slice(0, colon), port: Number(server.slice(colon + 1)) });
  }
  return [...servers.values()];
}

/** The texts of the `secret` options, each once, to keep them out of log lines and errors. */
export function secretsOf<Schema extends OptionSchema>(
  schema: Schema,
  values: OptionValues<Schema>,
): readonly string[] {
  return [...new Set(textsOf("secret", schema, values))];
}

/** Texts that are not empty. Recurses as deep as the values, which are finite where a schema may contain itself. */
function textsOf(kind: "server" | "secret", schema: OptionSchema, values: unknown): string[] {
  return Object.entries(schema).flatMap(([name, type]) => {
    const value = memberOf(values, name);
    switch (type.type) {
      case "group":
        return value === undefined ? [] : textsOf(kind, type.members, value);
      case "groups":
      case "named":
        return groupsIn(value).flatMap((group) => textsOf(kind, type.members, group));
      default:
        return type.type === kind && typeof value === "string" && value !== "" ? [value] : [];
    }
  });
}

function groupsIn(value: unknown): unknown[] {
  return typeof value === "object" && value !== null ? Object.values(value) : [];
}

function memberOf(values: unknown, name: string): unknown {
  const isThere = typeof values === "object" && values !== null && Object.hasOwn(values, name);
  // Narrowed above, but `hasOwn` does not narrow for the compiler.
  return isThere ? (values as Readonly<Record<string, unknown>>)[name] : undefined;
}
