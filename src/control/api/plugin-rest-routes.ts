// The REST routes that plugins add: found by path when a request comes, since plugins come and go while the node runs.
// Main thread; served by control/server.

import { z } from "zod";
import type { RouteManifest } from "../../bridge/plugin-extensions.ts";
import type { JsonObject, JsonValue } from "../../lib/json.ts";
import type { PlainTree } from "../../lib/plain-tree.ts";
import type { OptionSchema, OptionType, PlayerRoute } from "../../plugin-api/plugin.ts";
import { readOptions } from "../../plugin-options/read-options.ts";
import { allowedSources } from "../access/identity.ts";
import { arrayField, objectField } from "../protocol/json-fields.ts";
import type { ApiContext } from "./api-context.ts";
import { ApiError } from "./api-error.ts";
import type { QueryParameter, RestAnswer, RestRequest, RestRoute, RouteDescription } from "./route.ts";
import { readGuildId, visibleSession } from "./session-routes.ts";

const BODY_LENGTH_MAX = 64 * 1024;

type Context = Pick<ApiContext, "pluginRest" | "sessions">;
type OfferedRoute = ReturnType<ApiContext["pluginRest"]["list"]>[number];

/** A route, and the decoded parameters of a path. */
interface FoundRoute {
  readonly route: RestRoute;
  readonly segments: Readonly<Record<string, string>>;
}

interface KnownRoute {
  readonly route: RestRoute;
  readonly pattern: RegExp;
}

export class PluginRestRoutes {
  readonly #context: Context;
  /** By the manifest, which is another one whenever a plugin is set up. */
  readonly #known = new WeakMap<RouteManifest, KnownRoute>();

  constructor(context: Context) {
    this.#context = context;
  }

  /** Undefined: there is none of that method and path (without a query). */
  find(method: string, path: string): FoundRoute | undefined {
    for (const { route, pattern } of this.#all()) {
      const found = route.method === method ? pattern.exec(path) : null;
      const segments = found === null ? undefined : decoded(found.groups ?? {});
      if (segments !== undefined) return { route, segments };
    }
    return undefined;
  }

  /** The methods of a path in alphabetical order; undefined for an unknown one. */
  methodsOf(path: string): readonly string[] | undefined {
    const found = this.#all().filter(({ pattern }) => pattern.test(path));
    return found.length === 0 ? undefined : [...new Set(found.map(({ route }) => route.method))].sort();
  }

  /** For the OpenAPI document. */
  get routes(): readonly RestRoute[] {
    return this.#all().map(({ route }) => route);
  }

  #all(): KnownRoute[] {
    return this.#context.pluginRest.list().map((offered) => {
      const { manifest } = offered;
      const route = (): RestRoute => routeOf(offered, this.#context);
      const known = this.#known.get(manifest) ?? { route: route(), pattern: patternOf(manifest.path) };
      this.#known.set(manifest, known);
      return known;
    });
  }
}

function patternOf(path: string): RegExp {
  return new RegExp(`^${path.replaceAll(".", "\\.").replaceAll(/:([A-Za-z]+)/g, "(?<$1>[^/]+)")}$`);
}

/** Undefined: one is not UTF-8 in percent encoding. */
function decoded(groups: Readonly<Record<string, string>>): Record<string, string> | undefined {
  try {
    return Object.fromEntries(Object.entries(groups).map(([name, text]) => [name, decodeURIComponent(text)]));
  } catch {
    return undefined; // such a path is unknown, as elsewhere
  }
}

function routeOf({ manifest, serve }: OfferedRoute, context: Context): RestRoute {
  const { method, path, access } = manifest;
  return {
    method,
    path,
    access,
    isBodySecret: true,
    handle: (request) => answer(request, { manifest, serve }, context),
    get description() {
      return descriptionOf(manifest);
    },
  };
}

async function answer(request: RestRequest, { manifest, serve }: OfferedRoute, context: Context): Promise<RestAnswer> {
  const { owner, signal, identity } = request;
  const { ofPlayer } = manifest;
  const guildId = ofPlayer === undefined ? undefined : readGuildId(request);
  // Before the session is looked for, as by the node's own routes (protocol-v4.md section 1.4).
  const members = manifest.body === undefined ? {} : bodyOf(manifest, request);
  if (ofPlayer !== undefined && guildId !== undefined) {
    const missing = answerMissing(request, { ...ofPlayer, guildId }, context);
    if (missing !== undefined) return missing;
  }
  const segments = guildId === undefined ? request.segments : { ...request.segments, guildId };
  const query = checked(manifest.query, Object.fromEntries(request.query), "query");
  const body = manifest.body === undefined ? {} : checkedBody(manifest.body, members);
  const allowed = allowedSources(identity);
  const reply = await serve({ segments, query, body, owner, signal, allowed });
  if (reply.message !== undefined) throw new ApiError(reply.status, reply.message);
  if (reply.json === undefined) return { kind: "empty", status: reply.status };
  return { kind: "json", value: reply.json, status: reply.status };
}

/** The empty answer where what the route needs is not there; undefined: it is. Throws a 404. */
function answerMissing(
  request: RestRequest,
  { needs, missingStatus, guildId }: PlayerRoute & { readonly guildId: string },
  context: Context,
): RestAnswer | undefined {
  const session = visibleSession(context, request);
  const isThere = session !== undefined && (needs === "session" || session.players.has(guildId));
  if (isThere) return undefined;
  if (missingStatus !== undefined) return { kind: "empty", status: missingStatus };
  throw new ApiError(404, session === undefined ? "Session not found" : "Player not found");
}

/** A list becomes the value of the only member. */
function bodyOf({ isListBody, body = {} }: RouteManifest, request: RestRequest): JsonObject {
  if (isListBody !== true) return request.body(objectField);
  const [name = ""] = Object.keys(body);
  return { [name]: request.body(arrayField) };
}

function checkedBody(schema: OptionSchema, body: JsonObject): object {
  if (JSON.stringify(body, bigintText).length > BODY_LENGTH_MAX) {
    throw new ApiError(413, `the body has more than ${BODY_LENGTH_MAX} characters`);
  }
  return checked(schema, treeOf(body), "body");
}

/** Without what is unknown. Throws a 400 that names what is wrong. */
function checked(schema: OptionSchema, tree: PlainTree, path: string): object {
  const { values, problems = [] } = readOptions(schema, tree, { path, isUnknownIgnored: true });
  if (values === undefined) throw new ApiError(400, problems.join("; "));
  return values;
}

/** As options are written: leaves are texts, and null is none. */
function treeOf(value: JsonValue): PlainTree {
  if (value === null) return "";
  if (Array.isArray(value)) return value.map(treeOf);
  if (typeof value !== "object") return String(value);
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, treeOf(member)]));
}

function bigintText(_name: string, value: unknown): unknown {
  return typeof value === "bigint" ? String(value) : value;
}

// For the OpenAPI document

function descriptionOf(manifest: RouteManifest): RouteDescription {
  const { summary, query, body } = manifest;
  return {
    summary,
    query: Object.entries(query).map(parameterOf),
    ...(body !== undefined && { body: z.custom().meta(bodySchemaOf(manifest, body)) }),
    answers: { 200: z.custom().meta({}), 204: "empty" },
    errors: [400, 404, 500, 503],
  };
}

function parameterOf([name, option]: [string, OptionType]): QueryParameter {
  const names = option.type === "choice" ? `; one of ${option.names.join(", ")}` : "";
  const meaning = `${option.meaning.replace(/\.$/, "")}${names}.`;
  return { name, meaning, type: leafType(option), isRequired: isRequired(option) };
}

function leafType({ type }: OptionType): QueryParameter["type"] {
  if (type === "integer" || type === "number") return type;
  return type === "flag" ? "boolean" : "string";
}

function bodySchemaOf({ isListBody }: RouteManifest, members: OptionSchema): Record<string, unknown> {
  const [only] = Object.values(members);
  return isListBody === true && only !== undefined ? memberSchema(only) : schemaOf(members);
}

function schemaOf(members: OptionSchema): Record<string, unknown> {
  const entries = Object.entries(members);
  const required = entries.filter(([, option]) => isRequired(option)).map(([name]) => name);
  return {
    type: "object",
    properties: Object.fromEntries(entries.map(([name, option]) => [name, memberSchema(option)])),
    ...(required.length > 0 && { required }),
  };
}

function memberSchema(option: OptionType): Record<string, unknown> {
  const description = option.meaning;
  switch (option.type) {
    case "group":
      return { ...schemaOf(option.members), description };
    case "groups":
      return { type: "array", items: schemaOf(option.members), description };
    case "named":
      return { type: "object", additionalProperties: schemaOf(option.members), description };
    case "texts":
      return { type: "array", items: { type: "string", ...(option.names && { enum: option.names }) }, description };
    case "integer":
    case "number":
      return { type: option.type, minimum: option.min, maximum: option.max, description };
    case "choice":
      return { type: "string", enum: option.names, description };
    default:
      return { type: leafType(option), description };
  }
}

function isRequired(option: OptionType): boolean {
  return "isRequired" in option && option.isRequired === true && !("default" in option);
}
