// The OpenAPI 3.1 document, made from the descriptions of the routes and the schemas that check requests. Main thread;
// made when it is first asked for, served at /v4/openapi.json.

import { STATUS_CODES } from "node:http";
import { z } from "zod";
import { errorSchema } from "../protocol/error-json.ts";
import { json, type QueryParameter, type RestRoute, type RouteDescription } from "./route.ts";

const TRACE: QueryParameter = { name: "trace", meaning: "Adds `trace` to an error object.", type: "boolean" };

const PATH_PARAMETERS: Readonly<Record<string, object>> = {
  sessionId: { description: "From the `ready` message.", schema: { type: "string" } },
  guildId: { description: "A signed 64-bit integer.", schema: { type: "string", pattern: "^-?[0-9]{1,18}$" } },
  name: { description: "Counters of a plugin, as in `GET /v4/tonearm/plugins`.", schema: { type: "string" } },
  refreshToken: { description: "A login to YouTube.", schema: { type: "string" } },
};

const ANY_TEXT = { schema: { type: "string" } };

const API_VERSION_HEADER = { description: "The version of the protocol.", schema: { type: "string", const: "4" } };

/** Serves the document of `routes`. `listMore`: those of plugins, which are described with each request. */
export function openApiRoute(
  routes: readonly RestRoute[],
  { readVersion, listMore }: { readonly readVersion: () => string; readonly listMore: () => readonly RestRoute[] },
): RestRoute {
  let document: ReturnType<typeof createOpenApi> | undefined;
  return {
    method: "GET",
    path: "/v4/openapi.json",
    access: "known",
    handle: () => {
      document ??= createOpenApi(routes, readVersion());
      return json({ ...document, paths: { ...document.paths, ...pathsOf(listMore(), {}) } });
    },
  };
}

type Paths = Record<string, Record<string, object>>;

/** `parameters`: by their names, what is known of those in paths. */
function pathsOf(routes: readonly RestRoute[], parameters: Readonly<Record<string, object>>): Paths {
  const paths: Paths = {};
  for (const route of routes) {
    const { description } = route;
    if (description === undefined || route.method === "ANY") continue;
    const path = route.path.replaceAll(/:(\w+)/g, "{$1}");
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: operation(route, description, parameters) };
  }
  return paths;
}

function createOpenApi(routes: readonly RestRoute[], version: string) {
  return {
    openapi: "3.1.0",
    info: {
      title: "Tonearm",
      version,
      description: "The Lavalink v4 protocol over REST. The WebSocket is described in docs/reference/websocket.md.",
      license: { name: "MIT", identifier: "MIT" },
    },
    security: [{ password: [] }],
    paths: pathsOf(routes, PATH_PARAMETERS),
    components: {
      securitySchemes: {
        password: {
          type: "apiKey",
          in: "header",
          name: "Authorization",
          description: "The password of the node, or a key.",
        },
      },
      schemas: namedSchemas(),
    },
  };
}

function operation(
  route: RestRoute,
  description: RouteDescription,
  parameters: Readonly<Record<string, object>>,
): object {
  const segments = [...route.path.matchAll(/:(\w+)/g)].map((match) => match[1] ?? "");
  const { summary, body } = description;
  return {
    summary,
    operationId: operationId(route),
    ...(route.access === "open" ? { security: [] } : {}),
    parameters: [
      ...segments.map((name) => ({ name, in: "path", required: true, ...(parameters[name] ?? ANY_TEXT) })),
      ...[...(description.query ?? []), TRACE].map(queryParameter),
    ],
    ...(body === undefined ? {} : { requestBody: { required: true, content: jsonContent(body) } }),
    responses: responses(route, description),
  };
}

function queryParameter({ name, meaning, type, isRequired = false }: QueryParameter): object {
  return { name, in: "query", required: isRequired, description: meaning, schema: { type } };
}

function responses(route: RestRoute, { body, answers, errors = [] }: RouteDescription): object {
  const isJson = Object.values(answers).some((answer) => typeof answer === "object");
  const empty = [...(route.access === "open" ? [] : [401, 403, 429]), ...(isJson ? [406] : [])];
  const refusals = [
    ...(body === undefined ? [] : [400, 413, 415]),
    ...(route.path.includes(":sessionId") ? [404] : []),
    ...(route.path.includes(":guildId") ? [400] : []),
    ...errors,
  ];
  const all = [
    ...Object.entries(answers),
    ...empty.map((status) => [String(status), "empty"] as const),
    ...refusals.map((status) => [String(status), errorSchema] as const),
  ];
  return Object.fromEntries(all.map(([status, answer]) => [status, response(status, answer)]));
}

function response(status: string, answer: z.ZodType | "text" | "empty"): object {
  return {
    description: STATUS_CODES[status] ?? "",
    headers: { "Lavalink-Api-Version": API_VERSION_HEADER },
    ...(answer === "empty" ? {} : { content: answer === "text" ? textContent() : jsonContent(answer) }),
  };
}

function textContent(): object {
  return { "text/plain": { schema: { type: "string" } } };
}

function jsonContent(schema: z.ZodType): object {
  const { id, ...inline } = schema.meta() ?? {};
  return { "application/json": { schema: id === undefined ? inline : { $ref: reference(id) } } };
}

/** Every schema that has an id, as requests are sent: what may be left out there is not required. */
function namedSchemas(): object {
  const { schemas } = z.toJSONSchema(z.globalRegistry, { uri: reference, io: "input", unrepresentable: "any" });
  // By name: they are registered in the order in which files happen to be loaded.
  const named = Object.entries(schemas).sort(([first], [second]) => (first < second ? -1 : 1));
  return Object.fromEntries(named.map(([id, { $schema: _schema, $id: _id, id: _name, ...schema }]) => [id, schema]));
}

function reference(id: string): string {
  return `#/components/schemas/${id}`;
}

/** `patchSessionsPlayers…`: method and the words of the path. */
function operationId({ method, path }: RestRoute): string {
  const words = path.replace("/v4", "").match(/\w+/g) ?? [];
  return method.toLowerCase() + words.map((word) => word.slice(0, 1).toUpperCase() + word.slice(1)).join("");
}
