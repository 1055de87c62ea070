// The part of the configuration that an audio worker is told when it starts. Main thread.

import type { RoutingSettings, WorkerSettings } from "../bridge/worker-settings.ts";
import { VERSION } from "../version.ts";
import type { NodeConfig } from "./node-config.ts";

/** The result holds the proxy's password as plain text: never log it. */
export function toWorkerSettings(config: NodeConfig): WorkerSettings {
  return {
    networkAllow: config.network.allow,
    // A source that is off must not be reachable by an encoded track either.
    localRoots: config.sources.local ? config.local.roots : [],
    opusComplexity: config.opus.complexity,
    opusBitrateBps: config.opus.bitrateBps,
    trackStuckThresholdMs: config.players.trackStuckThresholdMs,
    readAheadMs: config.buffer.readAheadMs,
    readAheadBytesMax: config.buffer.readAheadBytesMax,
    http: {
      connectTimeoutMs: config.http.connectTimeoutMs,
      socketTimeoutMs: config.http.socketTimeoutMs,
      userAgent: `Tonearm/${VERSION}`,
      proxyUrl: config.http.proxyUrl?.reveal(),
    },
    routing: routingOf(config.routePlanner),
    voice: config.voice,
  };
}

function routingOf({ ipBlocks, retriesMax, sources }: NodeConfig["routePlanner"]): RoutingSettings | undefined {
  return ipBlocks.length === 0 ? undefined : { retriesMax, ipBlocks, sources };
}
