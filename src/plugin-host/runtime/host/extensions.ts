// Collects what a plugin offers besides sources, and checks it: the main thread trusts only what is valid. Plugin
// thread.

import type { ExtensionManifests, RouteManifest } from "../../../bridge/plugin-extensions.ts";
import type {
  LyricsProvider,
  OptionSchema,
  PlayerRoute,
  PluginRoute,
  SearchProvider,
  Source,
} from "../../../plugin-api/plugin.ts";
import { RESERVED_SEGMENTS } from "../../../plugin-options/reserved-segments.ts";
import { checkSchema } from "./check-schema.ts";

const PROVIDERS_MAX = 20;
const ROUTES_MAX = 100;
const PREFIXES_MAX = 20;
const PREFIX = /^[\w.-]{1,40}:$/;
const NAME = /^[\w.-]{1,64}$/;
const PLAYER_PATH = "/v4/sessions/:sessionId/players/:guildId";
const METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE"];
const ACCESSES = ["client", "viewer", "known", "operator"];
const DEFAULT_ACCESS = "operator";
const PATH = /^(?:\/(?:[a-z0-9][a-z0-9._-]{0,39}|:[a-zA-Z]{1,40})){1,8}$/;
const SUMMARY_LENGTH_MAX = 300;
const NESTED_TYPES = ["group", "groups", "named"];
const LIST_TYPES = ["texts", "groups"];
const NEEDS = ["session", "player"];
const MISSING_STATUSES = [undefined, 200, 204];
/** Below players, these are the node's own. */
const PLAYER_SEGMENTS = ["lyrics", "track"];

export class Extensions {
  readonly searchProviders: SearchProvider[] = [];
  readonly lyricsProviders: LyricsProvider[] = [];
  readonly routes: PluginRoute[] = [];
  readonly #plugin: string;

  constructor(plugin: string) {
    this.#plugin = plugin;
  }

  /** Throws an Error that describes what is wrong, as the others. */
  addSearchProvider(provider: SearchProvider, sources: ReadonlyMap<string, Source>): void {
    const { source, prefixes } = provider;
    const wrong = (what: string): Error => new Error(`addSearchProvider: ${what}`);
    checkCount(this.searchProviders, PROVIDERS_MAX, "search providers");
    if (!sources.has(source)) throw wrong(`add the source ${source} first`);
    if (!Array.isArray(prefixes) || prefixes.length === 0 || prefixes.length > PREFIXES_MAX) {
      throw wrong(`1 to ${PREFIXES_MAX} prefixes are expected`);
    }
    for (const prefix of prefixes) {
      if (!PREFIX.test(prefix)) throw wrong(`"${prefix}" is not a prefix; write it like dzsearch:`);
    }
    if (typeof provider.search !== "function") throw wrong("search has to be a function");
    this.searchProviders.push(provider);
  }

  addLyricsProvider(provider: LyricsProvider): void {
    const { name, sources } = provider;
    const wrong = (what: string): Error => new Error(`addLyricsProvider: ${what}`);
    checkCount(this.lyricsProviders, PROVIDERS_MAX, "lyrics providers");
    if (!NAME.test(name)) throw wrong("a name of 1 to 64 letters, digits, dots, dashes and underscores is expected");
    if (sources !== undefined && !(Array.isArray(sources) && sources.every((source) => NAME.test(source)))) {
      throw wrong("sources is a list of names");
    }
    if (typeof provider.load !== "function") throw wrong("load has to be a function");
    this.lyricsProviders.push(provider);
  }

  addRoute(route: PluginRoute): void {
    const { method, path, summary, access = DEFAULT_ACCESS, query = {}, body } = route;
    const wrong = (what: string): Error => new Error(`addRoute: ${what}`);
    checkCount(this.routes, ROUTES_MAX, "routes");
    if (route.ofPlayer === undefined && RESERVED_SEGMENTS.has(this.#plugin))
      throw wrong(`/v4/${this.#plugin} is the node's own; rename the plugin`);
    if (!METHODS.includes(method)) throw wrong(`the method is one of ${METHODS.join(", ")}`);
    if (typeof path !== "string" || !PATH.test(path)) {
      throw wrong("a path has 1 to 8 segments, each a word in lower case or a parameter: /rooms/:room");
    }
    if (route.ofPlayer !== undefined) this.#checkPlayerRoute(path, route.ofPlayer, wrong);
    const parameters = path.match(/:\w+/g) ?? [];
    if (new Set(parameters).size < parameters.length) throw wrong(`${path} names a parameter twice`);
    if (typeof summary !== "string" || summary === "" || summary.length > SUMMARY_LENGTH_MAX) {
      throw wrong(`the summary is a sentence of at most ${SUMMARY_LENGTH_MAX} characters`);
    }
    if (!ACCESSES.includes(access)) throw wrong(`access is one of ${ACCESSES.join(", ")}`);
    checkSchema(query, "query", wrong);
    if (body !== undefined) checkSchema(body, "body", wrong);
    const secret = Object.entries(query).find(([, { type }]) => type === "secret");
    if (secret !== undefined)
      throw wrong(`${secret[0]} must not be in the query, which is logged: move it to the body`);
    const nested = Object.entries(query).find(([, { type }]) => NESTED_TYPES.includes(type));
    if (nested !== undefined) throw wrong(`the query parameter ${nested[0]} must not be a group`);
    if (body !== undefined && (method === "GET" || method === "DELETE")) throw wrong(`${method} has no body`);
    const members = Object.values(body ?? {});
    if (route.isListBody === true && !(members.length === 1 && LIST_TYPES.includes(members[0]?.type ?? ""))) {
      throw wrong("with isListBody the only member of the body is a list: texts or groups");
    }
    if (this.routes.some((other) => other.method === method && shapeOf(other) === shapeOf(route))) {
      throw wrong(`${method} ${path} was added twice`);
    }
    if (typeof route.handle !== "function") throw wrong("handle has to be a function");
    this.routes.push(route);
  }

  #checkPlayerRoute(path: string, { needs, missingStatus }: PlayerRoute, wrong: (what: string) => Error): void {
    if (!NEEDS.includes(needs)) throw wrong("ofPlayer.needs is session or player");
    if (!MISSING_STATUSES.includes(missingStatus)) throw wrong("ofPlayer.missingStatus is 200 or 204");
    if (PLAYER_SEGMENTS.includes(this.#plugin)) {
      throw wrong(`/${this.#plugin} below players is the node's own; rename the plugin`);
    }
    // The paths of several plugins lie there.
    if (path.split("/")[1] !== this.#plugin) throw wrong(`a path below players starts with /${this.#plugin}`);
    if (/:(?:sessionId|guildId)\b/.test(path)) {
      throw wrong("sessionId and guildId are parameters of every player's path");
    }
  }

  /** `path`: the whole one. Undefined: there is none with that access. */
  findRoute({ method, path, access }: Pick<RouteManifest, "method" | "path" | "access">): PluginRoute | undefined {
    return this.routes.find((route) => {
      return route.method === method && this.#pathOf(route) === path && (route.access ?? DEFAULT_ACCESS) === access;
    });
  }

  #pathOf({ path, ofPlayer }: PluginRoute): string {
    return `${ofPlayer === undefined ? `/v4/${this.#plugin}` : PLAYER_PATH}${path}`;
  }

  /** For the main thread; without lists that are empty. */
  get manifests(): ExtensionManifests {
    const searchProviders = this.searchProviders.map(({ source, prefixes }) => ({ source, prefixes: [...prefixes] }));
    const lyricsProviders = this.lyricsProviders.map(({ name, sources }) => {
      return sources === undefined ? { name } : { name, sources: [...sources] };
    });
    const routes = this.routes.map((route) => {
      const { method, summary, access = DEFAULT_ACCESS, query = {}, body, isListBody, ofPlayer } = route;
      return {
        method,
        path: this.#pathOf(route),
        summary,
        access,
        query: plainSchema(query),
        body: body && plainSchema(body),
        ...(isListBody === true && { isListBody }),
        ...(ofPlayer !== undefined && { ofPlayer: { needs: ofPlayer.needs, missingStatus: ofPlayer.missingStatus } }),
      };
    });
    const lists = Object.entries({ searchProviders, lyricsProviders, routes });
    return Object.fromEntries(lists.filter(([, list]) => list.length > 0));
  }
}

function checkCount(list: readonly unknown[], max: number, what: string): void {
  if (list.length >= max) throw new Error(`more than ${max} ${what}`);
}

/** The parameters of a path have the same shape, whatever their names are. */
function shapeOf({ path, ofPlayer }: PluginRoute): string {
  return `${ofPlayer === undefined ? "" : PLAYER_PATH}${path}`.replaceAll(/:\w+/g, ":");
}

/** As data that a structured clone takes. */
function plainSchema(schema: OptionSchema): OptionSchema {
  return JSON.parse(JSON.stringify(schema)) as OptionSchema; // made of one
}
