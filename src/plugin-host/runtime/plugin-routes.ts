// Source addresses of a plugin's requests, if the operator has address blocks and one of its sources is listed for
// them: those of one load or resolve use one address, all others the next one each. Plugin thread; requests to the main
// thread, and what counts as a failing address, are the same as for audio workers (network/outgoing-routes.ts).

import type { RouteCommand } from "../../bridge/commands.ts";
import type { RouteEvent } from "../../bridge/events.ts";
import type { Egress } from "../../bridge/playable-link.ts";
import { RouteRequests } from "../../bridge/route-requests.ts";
import type { RoutingSettings } from "../../bridge/worker-settings.ts";
import type { Clock } from "../../lib/clock.ts";
import { portOf } from "../../lib/parse-url.ts";
import type { OutboundGuard } from "../../network/outbound-guard.ts";
import { OutgoingRoutes } from "../../network/outgoing-routes.ts";
import { WorkRoute } from "../../network/work-route.ts";
import type { PluginLogger, Source } from "../../plugin-api/plugin.ts";
import { currentOwners, currentWork } from "./current-work.ts";
import type { Leave } from "./host/http-client.ts";

interface PluginRoutesOptions {
  readonly routing: RoutingSettings;
  readonly resolveTimeoutMs: number;
  readonly guard: OutboundGuard;
  readonly clock: Clock;
  readonly logger: PluginLogger;
  readonly send: (event: RouteEvent) => void;
  /** Names of the sources that the plugin has offered so far. */
  readonly sourceNames: () => readonly string[];
}

type RoutedSource = Pick<Source, "name" | "hosts">;

/** Search prefixes end like this: `scsearch:`, `scsearch[0,10]:`. */
const SEARCH = /^[a-z]{0,20}search(\[[^\]]{0,40}\])?:/i;

/** One for each life of a plugin. */
export class PluginRoutes {
  readonly #options: PluginRoutesOptions;
  readonly #routeRequests: RouteRequests;
  readonly #routes: OutgoingRoutes;

  constructor(options: PluginRoutesOptions) {
    const { routing, clock, send } = options;
    this.#options = options;
    this.#routeRequests = new RouteRequests(clock, send);
    this.#routes = new OutgoingRoutes({
      ...options,
      ...routing,
      requestRoute: (...request) => this.#routeRequests.requestRoute(...request),
    });
  }

  /** The answer of the main thread. */
  settle(command: RouteCommand): void {
    this.#routeRequests.settle(command);
  }

  /** For a piece of work of that source. Undefined: the operator has not named it. */
  routeFor(source: RoutedSource, identifier?: string): WorkRoute | undefined {
    const { name, hosts: [host] = [] } = source;
    if (!this.#isNamed(name)) return undefined;
    const isSearch = identifier !== undefined && SEARCH.test(identifier);
    return new WorkRoute({ isSearch, site: host?.replace(/^\*\./, "") });
  }

  /** Sends a request from where it is to leave. Rejects as `OutgoingRoutes.request`. */
  readonly leave: Leave = (request) => {
    const { guard, sourceNames } = this.#options;
    // Servers of the operator's own are not sites.
    const isOwn = guard.isOwnServer(request.url.hostname, portOf(request.url));
    const work = currentWork();
    const isRouted = work === undefined ? sourceNames().some((name) => this.#isNamed(name)) : work.route !== undefined;
    return isRouted && !isOwn
      ? this.#routes.request({ ...request, owner: currentOwners().all[0] }, work?.route)
      : request.sendFrom(undefined);
  };

  /** The address of the current work. Rejects as `OutgoingRoutes.request`. */
  readonly currentAddress = async (signal: AbortSignal): Promise<string | undefined> => {
    const route = currentWork()?.route;
    return route === undefined ? undefined : this.#routes.addressOf(route, signal);
  };

  #isNamed(sourceName: string): boolean {
    return this.#options.routing.sources.includes(sourceName.toLowerCase());
  }
}

/** The egress for fetching the audio of a link found by this work. */
export function egressOf(route: WorkRoute | undefined): Egress {
  if (route === undefined) return "machine";
  return route.address === undefined ? "blocks" : { address: route.address };
}
