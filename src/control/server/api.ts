// The node's face to its clients: REST and WebSocket on one port. Main thread; built and closed by node.ts.

import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { FastifyInstance } from "fastify";
import type { RequestLogging } from "../../config/node-config.ts";
import { TaskSlicer } from "../../lib/task-slicer.ts";
import { accountFor } from "../access/account.ts";
import type { Identity } from "../access/identity.ts";
import type { KeyRing } from "../access/key-ring.ts";
import type { ApiContext } from "../api/api-context.ts";
import { diagnosisRoutes } from "../api/diagnosis-routes.ts";
import { drainRoutes } from "../api/drain-routes.ts";
import { generalRoutes } from "../api/general-routes.ts";
import { healthRoutes } from "../api/health-routes.ts";
import { lavaSrcRoutes } from "../api/lavasrc-routes.ts";
import { loadRoutes } from "../api/load-routes.ts";
import { lyricsRoutes } from "../api/lyrics-routes.ts";
import { type Metrics, metricsRoutes } from "../api/metrics-route.ts";
import { openApiRoute } from "../api/openapi.ts";
import { PluginRestRoutes } from "../api/plugin-rest-routes.ts";
import type { Asker, RestRoute } from "../api/route.ts";
import { routePlannerRoutes } from "../api/route-planner-routes.ts";
import { searchRoutes } from "../api/search-routes.ts";
import { sessionRoutes } from "../api/session-routes.ts";
import { V4_PROTOCOL, WEB_SOCKET_PATH } from "../api/socket-protocol.ts";
import { sourceRoutes } from "../api/source-routes.ts";
import { supportRoutes } from "../api/support-routes.ts";
import type { UpgradeTarget } from "../api/upgrade.ts";
import { v3Routes } from "../api/v3/routes.ts";
import { createV3Protocol } from "../api/v3/socket-protocol.ts";
import { youtubeRoutes } from "../api/youtube-routes.ts";
import type { SessionHomes } from "../cluster/session-homes.ts";
import { ONE_PLACE, type SessionPlaces } from "../cluster/session-places.ts";
import type { Dialect } from "../sessions/dialect.ts";
import type { Session } from "../sessions/session.ts";
import { Authentication, type Recognition } from "./authentication.ts";
import { type ConnectionState, Connections } from "./connections.ts";
import { inboundConnectionOf, paceConnections } from "./inbound-connection.ts";
import { RequestLog } from "./request-log.ts";
import { bareAnswer, createRestServer } from "./rest-server.ts";
import type { TlsListener } from "./tls-listener.ts";
import { routeUpgrades, shouldUpgrade } from "./upgrade-requests.ts";
import { WebSocketEndpoint } from "./web-socket-endpoint.ts";

/** Connections that have not been accepted yet. One more would try again after a second. */
const BACKLOG = 2048;

export interface ApiOptions extends Omit<ApiContext, "slicer"> {
  readonly password: string;
  /** Default: the node shares its sessions with no other. */
  readonly homes?: SessionHomes | undefined;
  /** Default true. False: clients are to connect to other machines of the cluster. */
  readonly isGateway?: boolean | undefined;
  /** Default: all sessions are here. */
  readonly places?: SessionPlaces | undefined;
  /** Undefined: the dashboard is disabled. */
  readonly dashboard: DashboardPart | undefined;
  /** Serves HTTPS, and is closed with the rest; undefined: HTTP is served. */
  readonly tls: TlsListener | undefined;
  readonly keys: Pick<KeyRing, "find" | "named" | "spend" | "isCurrent">;
  /** How requests are logged; undefined: not at all. */
  readonly requestLogging: RequestLogging | undefined;
  /** Undefined: there is no such route. */
  readonly metrics: Metrics | undefined;
}

/** The API's view of the dashboard. */
interface DashboardPart {
  readonly routes: readonly RestRoute[];
  readonly upgrades: readonly UpgradeTarget[];
}

interface ListenOptions {
  readonly host: string;
  readonly port: number;
  /** Takes the server's connections from elsewhere, instead; returns its port there. */
  readonly listen?: ((server: Server) => number) | undefined;
}

/** One for the node. Serves nothing before `listen`. */
export class Api {
  readonly #app: FastifyInstance;
  readonly #endpoint: WebSocketEndpoint;
  readonly #connections: Connections;
  readonly #tls: TlsListener | undefined;
  readonly #v3Protocol: Dialect;

  constructor(options: ApiOptions) {
    const authentication = new Authentication(options);
    const connections = new Connections({ clock: options.clock, timeoutAnswer: bareAnswer("408 Request Timeout") });
    const noted = (recognition: Recognition, { socket }: Asker) => {
      if (recognition.kind === "known") {
        const account = accountFor(recognition.identity, socket.remoteAddress);
        inboundConnectionOf({ socket }).account = account;
        connections.shownPassword(socket, account);
      }
      return recognition;
    };
    const recognize = (asker: Asker) => {
      const recognition = authentication.recognize(asker);
      return recognition instanceof Promise
        ? recognition.then((later) => noted(later, asker))
        : noted(recognition, asker);
    };
    const v3Protocol = createV3Protocol(options);
    this.#v3Protocol = v3Protocol;
    const protocols = [V4_PROTOCOL, v3Protocol];
    const isCurrent = (identity: Identity) => options.keys.isCurrent(identity);
    const endpoint = new WebSocketEndpoint({ ...options, recognize, isCurrent, protocols });
    const upgrades = [endpoint, ...(options.dashboard?.upgrades ?? [])];
    this.#endpoint = endpoint;
    this.#connections = connections;
    const { requestLogging, logger } = options;
    const context = { ...options, slicer: new TaskSlicer(options.clock) };
    const v4Routes = [
      ...generalRoutes(context),
      ...sessionRoutes(context),
      ...routePlannerRoutes(context),
      ...loadRoutes(context),
      ...healthRoutes(context),
      ...drainRoutes(context),
      ...diagnosisRoutes(context),
      ...sourceRoutes(context),
      ...supportRoutes(context),
      ...youtubeRoutes(context),
      ...lavaSrcRoutes(context),
      ...searchRoutes(context),
      ...lyricsRoutes(context),
    ];
    const pluginRoutes = new PluginRestRoutes(context);
    const readVersion = () => options.readInfo().version.semver;
    this.#app = createRestServer({
      context,
      connections,
      recognize,
      keys: options.keys,
      places: options.places ?? ONE_PLACE,
      untilReady: (address, sessionId) => endpoint.untilReady(address, sessionId),
      isClosing: () => options.sessions.isClosed,
      requestLog: requestLogging && new RequestLog(requestLogging, logger),
      shouldUpgrade: (request) => shouldUpgrade(request, upgrades),
      pluginRoutes,
      routes: [
        ...v4Routes,
        openApiRoute(v4Routes, { readVersion, listMore: () => pluginRoutes.routes }),
        ...v3Routes(context),
        ...metricsRoutes(options.metrics),
        ...(options.dashboard?.routes ?? []),
        {
          method: "ANY",
          path: WEB_SOCKET_PATH,
          // The endpoint checks the password itself: its statuses are not those of REST.
          access: "open",
          handle: ({ method, asker }) => endpoint.answerPlainRequest(method, asker),
        },
      ],
    });
    connections.watch(this.#app.server);
    paceConnections(this.#app.server, options.clock);
    routeUpgrades(this.#app.server, upgrades, connections);
    this.#tls = options.tls;
  }

  /** Resolves with the port once requests are served; port 0 takes any free one. */
  async listen({ host, port, listen }: ListenOptions): Promise<number> {
    if (listen !== undefined) {
      await this.#app.ready();
      return listen(this.#app.server);
    }
    if (this.#tls !== undefined) {
      await this.#app.ready();
      return this.#tls.listen(this.#app.server, { host, port, backlog: BACKLOG });
    }
    await this.#app.listen({ host, port, backlog: BACKLOG });
    return (this.#app.server.address() as AddressInfo).port; // listening on TCP: an object
  }

  /** The keys have changed: connections that were opened with one that is no longer valid are closed. */
  dropStale(): void {
    this.#endpoint.dropStale();
  }

  /** The number of client connections in each state; those of their WebSockets are `upgraded`. */
  connectionCounts(): Readonly<Record<ConnectionState, number>> {
    return this.#connections.counts();
  }

  /** Ends the connection of a session whose client does not answer a ping. */
  endSilent(session: Session): Promise<void> {
    return this.#endpoint.endSilent(session);
  }

  /** How messages are written for clients of that version. */
  dialectOf(version: Dialect["version"]): Dialect {
    return version === "3" ? this.#v3Protocol : V4_PROTOCOL;
  }

  /** Stops listening and ends open connections. Close the sessions first: their sockets end with 1001 then. */
  async close(): Promise<void> {
    this.#tls?.close();
    await this.#endpoint.close();
    await this.#app.close();
    this.#connections.close();
  }
}
