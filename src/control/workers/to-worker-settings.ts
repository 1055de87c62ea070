// The part of the configuration that an audio worker receives when it starts, and the part that plugins receive as
// well. Main thread.

import type { RoutingSettings, WorkerSettings } from "../../bridge/worker-settings.ts";
import type { NodeConfig } from "../../config/node-config.ts";
import { VERSION } from "../../version.ts";

/** The result holds the proxy's password as plain text: never log it. */
export function toWorkerSettings(config: NodeConfig): WorkerSettings {
  const { network, players, opus, opusCache, buffer, voice, http } = config;
  return {
    network,
    players,
    opus,
    buffer,
    voice,
    // A source that is off must not be reachable by an encoded track either.
    localRoots: config.sources.local ? config.local.roots : [],
    hasOpusCache: opusCache.path !== undefined,
    http: { ...http, userAgent: `Tonearm/${VERSION}`, proxyUrl: http.proxyUrl?.reveal() },
    routing: routingOf(config.routePlanner),
  };
}

/** For all threads that send requests. */
export function routingOf({ ipBlocks, ...planner }: NodeConfig["routePlanner"]): RoutingSettings | undefined {
  const { retriesMax, isTriggeredBySearch, sources } = planner;
  return ipBlocks.length === 0 ? undefined : { ipBlocks, retriesMax, isTriggeredBySearch, sources };
}
