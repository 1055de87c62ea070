// The HTTP server and everything that holds for all its routes: headers, authentication, statuses without a body, error
// objects (protocol-v4.md section 1). Main thread; the routes themselves are in the files ending in -routes.ts.

import type { IncomingMessage, ServerOptions } from "node:http";
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from "fastify";
import type { LogFields } from "../../log/log.ts";
import { accountFor } from "../access/account.ts";
import { type Identity, mayUse, NOBODY } from "../access/identity.ts";
import type { KeyRing } from "../access/key-ring.ts";
import type { ApiContext } from "../api/api-context.ts";
import { ApiError } from "../api/api-error.ts";
import type { PluginRestRoutes } from "../api/plugin-rest-routes.ts";
import type { Asker, RestRoute } from "../api/route.ts";
import { notFor, recognized, withoutBearer } from "./admission.ts";
import type { Recognition } from "./authentication.ts";
import { BodyReader } from "./body-reader.ts";
import { ConnectionLines } from "./connection-lines.ts";
import type { Connections } from "./connections.ts";
import { ForwardedRequests } from "./forwarded-requests.ts";
import { MachineRequests } from "./machine-requests.ts";
import { type MadeAnswer, makeFailure } from "./made-answer.ts";
import { PlacedRequests } from "./placed-requests.ts";
import type { RequestLog } from "./request-log.ts";
import { RequestPassing } from "./request-passing.ts";
import { pathOf, queryOf, withoutPathParameters } from "./request-target.ts";
import { type RouteCall, RouteCalls, type RouteCallsOptions } from "./route-calls.ts";
import { allowForOptions, RouteTable } from "./route-table.ts";

const API_VERSION_HEADER = "Lavalink-Api-Version";
const API_VERSION = "4";

/** Longest a client may take to send a request. */
const REQUEST_TIMEOUT_MS = 30_000;
/** Long enough for any session id; longer segments are unknown paths. */
const PATH_SEGMENT_LENGTH_MAX = 1024;

/** Where plugins have their routes, behind all that the node has there. */
const PLUGIN_PATH = "/v4/:plugin/*";
const PLUGIN_METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE"];

/** The answers on connections whose request could not be parsed. */
const CONNECTION_ERRORS: Readonly<Record<string, string>> = {
  ERR_HTTP_REQUEST_TIMEOUT: "408 Request Timeout",
  HPE_HEADER_OVERFLOW: "431 Request Header Fields Too Large",
};

interface RestServerOptions extends RouteCallsOptions {
  readonly context: RouteCallsOptions["context"] & Pick<ApiContext, "sessions" | "reports">;
  readonly connections: Pick<Connections, "whenAnswered">;
  readonly recognize: (asker: Asker) => Recognition | Promise<Recognition>;
  readonly keys: Pick<KeyRing, "named">;
  readonly routes: readonly RestRoute[];
  readonly pluginRoutes: Pick<PluginRestRoutes, "find" | "methodsOf" | "routes">;
  /** Undefined: requests are not logged. */
  readonly requestLog: RequestLog | undefined;
  /** Whether a request that asks to switch protocols leaves HTTP; Node.js before 22.21 does not ask. */
  readonly shouldUpgrade: (request: IncomingMessage) => boolean;
}

/** Options that are missing in the types of the oldest Node.js. */
interface NodeServerOptions extends ServerOptions {
  readonly shouldUpgradeCallback: (request: IncomingMessage) => boolean;
}

/** A server that is not listening yet. */
export function createRestServer(options: RestServerOptions): FastifyInstance {
  const table = new RouteTable();
  const http: NodeServerOptions = { shouldUpgradeCallback: options.shouldUpgrade };
  const app = Fastify({
    http,
    logger: false,
    requestTimeout: REQUEST_TIMEOUT_MS,
    forceCloseConnections: true,
    schemaController: { compilersFactory: { buildValidator: compileNothing, buildSerializer: compileNothing } },
    routerOptions: {
      maxParamLength: PATH_SEGMENT_LENGTH_MAX,
      querystringParser: () => ({}),
    },
    rewriteUrl: (request) => withoutPathParameters(request.url ?? "/"),
    frameworkErrors: (error, request, reply) => sendFailure(error, request, reply, options),
    clientErrorHandler: (error, socket) => {
      if (!socket.writable) {
        socket.destroy();
        return;
      }
      const answer = bareAnswer(CONNECTION_ERRORS[error.code] ?? "400 Bad Request");
      options.connections.whenAnswered(socket, () => socket.end(answer));
    },
  });
  app.removeAllContentTypeParsers();
  const bodies = new BodyReader(options.context);
  const identities: Identities = new WeakMap();
  const logged: LoggedFields = new WeakMap();
  app.addContentTypeParser("*", (request: FastifyRequest, message: IncomingMessage) => {
    const identity = identities.get(message);
    return bodies.read(message, { account: identity && accountFor(identity, request.ip) });
  });
  const lines = new ConnectionLines(options.context.clock);
  app.addHook("onRequest", async (request, reply) => {
    reply.header(API_VERSION_HEADER, API_VERSION);
    // An empty one says as much as none, and the framework would refuse it.
    if (request.headers["content-type"] === "") delete request.headers["content-type"];
    reply.raw.once("close", () => bodies.release(request.raw));
    const ready = lines.enter(request.raw, reply.raw);
    if (ready !== undefined) await ready;
  });
  if (options.requestLog !== undefined) logRequests(app, options.requestLog, { routes: options.routes, logged });
  app.addHook("onResponse", async (request, reply) => {
    // Its connection remembers its last request. One that has ended early may still be at work.
    if (reply.raw.writableFinished) request.body = undefined;
  });
  // Before the framework expects a body, which would never be read.
  app.addHook("onRequest", async (request, reply) =>
    request.is404 ? answerUnrouted(request, reply, { ...options, table }) : undefined,
  );
  app.setErrorHandler((error, request, reply) =>
    options.isClosing() ? dropConnection(request, reply) : sendFailure(error, request, reply, options),
  );
  app.setNotFoundHandler((request, reply) => answerUnrouted(request, reply, { ...options, table }));
  const calls = new RouteCalls(options);
  const passing = new RequestPassing(options);
  const placed = new PlacedRequests({ ...options, calls, passing });
  const forwarded = new ForwardedRequests({ ...options, calls, placed, passing });
  const ofMachines = new MachineRequests({ ...options, calls, passing });
  const shared = { ...options, calls, placed, forwarded, ofMachines, identities, logged };
  for (const route of options.routes) addRoute(app, table, { ...shared, route });
  addPluginRoutes(app, shared);
  return app;
}

/** Who sent a request, once that is known. */
type Identities = WeakMap<IncomingMessage, Identity>;
/** What routes have to say of their answers in the log. */
type LoggedFields = WeakMap<IncomingMessage, LogFields>;

/** No route has a schema of the framework's: its compilers are large and would be loaded all the same. */
function compileNothing(): never {
  throw new Error("routes check and write their JSON themselves");
}

/** The header line for answers that are written without the framework. */
export function apiVersionLine(version = API_VERSION): string {
  return `${API_VERSION_HEADER}: ${version}`;
}

/** A whole answer, without a body where there is no `text`; the connection ends after it. */
export function bareAnswer(status: string, { headers = [], apiVersion, text = "" }: BareAnswerOptions = {}): string {
  const type = text === "" ? [] : ["Content-Type: text/plain;charset=UTF-8"];
  const size = `Content-Length: ${Buffer.byteLength(text)}`;
  const lines = [`HTTP/1.1 ${status}`, ...headers, apiVersionLine(apiVersion), ...type, size, "Connection: close"];
  return `${lines.join("\r\n")}\r\n\r\n${text}`;
}

interface BareAnswerOptions {
  readonly headers?: readonly string[];
  readonly apiVersion?: string | undefined;
  readonly text?: string | undefined;
}

function logRequests(
  app: FastifyInstance,
  log: RequestLog,
  { routes, logged }: { readonly routes: readonly RestRoute[]; readonly logged: LoggedFields },
): void {
  const secretPaths = new Set([PLUGIN_PATH, ...routes.filter((route) => route.isBodySecret).map(({ path }) => path)]);
  app.addHook("onRequest", async (request) => log.before(request, queryOf(request.originalUrl)));
  app.addHook("onResponse", async (request, reply) => {
    const isBodySecret = secretPaths.has(request.routeOptions.url ?? "");
    const fields = logged.get(request.raw);
    log.after(request, { query: queryOf(request.originalUrl), reply, isBodySecret, fields });
  });
}

/** What all routes share. */
interface RouteOptions extends RestServerOptions {
  readonly calls: RouteCalls;
  readonly placed: PlacedRequests;
  readonly forwarded: ForwardedRequests;
  readonly ofMachines: MachineRequests;
  readonly identities: Identities;
  readonly logged: LoggedFields;
}

function addRoute(
  app: FastifyInstance,
  table: RouteTable,
  options: RouteOptions & { readonly route: RestRoute },
): void {
  const { route } = options;
  const methods = route.method === "ANY" ? app.supportedMethods : [route.method];
  for (const method of methods) table.add(route.path, method);
  serveAt(app, { ...options, methods, url: route.path, find: (request) => ({ route, segments: segmentsOf(request) }) });
}

/** Plugins come and go while the server runs, so that their routes are looked for with each request. */
function addPluginRoutes(app: FastifyInstance, options: RouteOptions): void {
  const find = ({ method, url }: FastifyRequest): FoundRoute | undefined => {
    return options.pluginRoutes.find(method === "HEAD" ? "GET" : method, pathOf(url));
  };
  serveAt(app, { ...options, methods: PLUGIN_METHODS, url: PLUGIN_PATH, find });
}

type FoundRoute = NonNullable<ReturnType<PluginRestRoutes["find"]>>;

function serveAt(
  app: FastifyInstance,
  options: RouteOptions & {
    readonly methods: string[];
    readonly url: string;
    readonly find: (request: FastifyRequest) => FoundRoute | undefined;
  },
): void {
  const { methods, url, find, calls, placed, forwarded, ofMachines, identities, logged } = options;
  const foundRoutes = new WeakMap<IncomingMessage, FoundRoute>();
  app.route({
    method: methods,
    url,
    onRequest: async (request, reply) => {
      const found = find(request);
      // The router takes `//` for a segment without letters; there is no such path.
      if (found === undefined || Object.values(found.segments).includes("")) return reply.callNotFound();
      foundRoutes.set(request.raw, found);
      const { access = "client", apiVersion, takesBearer = false } = found.route;
      if (apiVersion !== undefined) reply.header(API_VERSION_HEADER, apiVersion);
      if (access === "open") return undefined;
      const recognize = takesBearer ? withoutBearer(options.recognize) : options.recognize;
      const recognition = recognize(request.raw);
      const identity = recognized(recognition instanceof Promise ? await recognition : recognition, reply);
      if (identity === undefined) return reply;
      if (!mayUse(identity.role, access)) throw notFor(identity, access);
      identities.set(request.raw, identity);
      return undefined;
    },
    handler: async (request, reply) => {
      const found = foundRoutes.get(request.raw);
      if (found === undefined) throw new Error("a request was handled before its route was found");
      const call = callOf(request, reply, { ...found, identity: identities.get(request.raw) ?? NOBODY });
      const place = calls.machineOf(call);
      const machine = place === undefined ? undefined : await place;
      const here = ofMachines.isMeant(call) ? ofMachines : placed;
      const made = await (machine === undefined ? here.answer(call) : forwarded.answer(call, machine));
      if (made === undefined) return dropConnection(request, reply);
      if (made.logged !== undefined) logged.set(request.raw, made.logged);
      return send(made, reply);
    },
  });
}

function callOf(
  request: FastifyRequest,
  reply: FastifyReply,
  { route, segments, identity }: Pick<RouteCall, "route" | "segments" | "identity">,
): RouteCall {
  let signal: AbortSignal | undefined;
  return {
    ...{ route, segments, identity },
    method: request.method,
    target: request.originalUrl,
    headers: request.headers,
    body: typeof request.body === "string" ? request.body : "",
    address: request.ip,
    get signal() {
      signal ??= whenGone(reply);
      return signal;
    },
    asker: request.raw,
  };
}

/** A client takes an answer for final, and tries again without one. */
function dropConnection(request: FastifyRequest, reply: FastifyReply): FastifyReply {
  reply.hijack();
  request.raw.socket.destroy();
  return reply;
}

function segmentsOf(request: FastifyRequest): Record<string, string> {
  return request.params as Record<string, string>; // that is what the router makes of `:name` segments
}

function whenGone(reply: FastifyReply): AbortSignal {
  const gone = new AbortController();
  const abort = (): void => gone.abort(new ApiError(400, "the client disconnected before it had its answer"));
  if (reply.raw.destroyed) abort();
  else reply.raw.once("close", abort);
  return gone.signal;
}

function send({ status, headers, body }: MadeAnswer, reply: FastifyReply): FastifyReply {
  return reply.code(status).headers(headers).send(body);
}

/** No route for this method and path: OPTIONS, 405 or 404. The latter two need no password. */
function answerUnrouted(
  request: FastifyRequest,
  reply: FastifyReply,
  options: RestServerOptions & { table: RouteTable },
): FastifyReply | Promise<FastifyReply> {
  const { method } = request;
  const path = pathOf(withoutPathParameters(request.originalUrl));
  const methods = options.table.methodsOf(path) ?? options.pluginRoutes.methodsOf(path);
  if (methods === undefined) {
    const shown = pathOf(request.originalUrl);
    return sendFailure(new ApiError(404, `No endpoint ${method} ${shown}.`), request, reply, options);
  }
  if (method === "OPTIONS") return answerOptions(request, reply, { ...options, methods });
  reply.header("Allow", methods.join(", "));
  return sendFailure(new ApiError(405, `Method '${method}' is not supported.`), request, reply, options);
}

async function answerOptions(
  request: FastifyRequest,
  reply: FastifyReply,
  { recognize, methods }: Pick<RestServerOptions, "recognize"> & { methods: readonly string[] },
): Promise<FastifyReply> {
  if (request.headers.origin !== undefined && request.headers["access-control-request-method"] !== undefined) {
    // Browsers of other sites have no business here.
    const vary = ["Origin", "Access-Control-Request-Method", "Access-Control-Request-Headers"];
    return reply.code(403).header("Vary", vary).send("Invalid CORS request");
  }
  if (recognized(await recognize(request.raw), reply) === undefined) return reply;
  return reply.code(200).header("Allow", allowForOptions(methods)).send();
}

function sendFailure(
  error: unknown,
  { method, originalUrl: target }: FastifyRequest,
  reply: FastifyReply,
  { context }: RestServerOptions,
): FastifyReply {
  // Requests that the framework refuses do not pass the hook that sets it.
  if (!reply.hasHeader(API_VERSION_HEADER)) reply.header(API_VERSION_HEADER, API_VERSION);
  return send(makeFailure(error, { method, target }, context), reply);
}
