// From checked values to the NodeConfig, and the checks that need more than one value. Main thread, at start.

import { isAbsolute, resolve } from "node:path";
import type { Random } from "../lib/random.ts";
import type { NodeConfig } from "./node-config.ts";
import { Secret } from "./secret.ts";
import type { Section, SectionValues } from "./section.ts";
import { disabledFiltersOf, lavalinkServerSection, playersOf, sourcesOf } from "./sections/lavalink-server.ts";
import { loggingSection, logLevelOf, metricsOf, metricsSection, requestLoggingOf } from "./sections/observability.ts";
import { httpConfigSection, httpOf, timeoutsSection } from "./sections/outgoing-http.ts";
import { rateLimitSection, routePlannerOf } from "./sections/rate-limit.ts";
import { serverSection } from "./sections/server.ts";
import { tonearmSection } from "./sections/tonearm.ts";

/** Stands in every example of Lavalink, so everybody knows it. */
const WELL_KNOWN_PASSWORD = "youshallnotpass";
const GENERATED_PASSWORD_BYTES = 18;

export interface AssembleContext {
  readonly cwd: string;
  readonly coreCount: number;
  readonly random: Random;
  /** The path without symbolic links, or undefined when there is nothing. */
  readonly realPath: (path: string) => string | undefined;
  warn(message: string): void;
  /** A mistake that stops the start: `key` cannot be so, together with others. */
  reject(key: string, message: string): void;
}

/** Reads a section's checked values. */
export type ReadSection = <S extends Section>(section: S) => SectionValues<S>;

export function assembleNodeConfig(read: ReadSection, context: AssembleContext): NodeConfig {
  const lavalinkServer = read(lavalinkServerSection);
  const tonearm = read(tonearmSection);
  const sources = sourcesOf(lavalinkServer);
  const config: NodeConfig = {
    server: serverOf(read(serverSection), lavalinkServer.password, context.random),
    sources,
    disabledFilters: disabledFiltersOf(lavalinkServer),
    players: playersOf(lavalinkServer),
    opus: { complexity: lavalinkServer.opusEncodingQuality, bitrateBps: tonearm["opus.bitrateKbps"] * 1000 },
    buffer: {
      readAheadMs: tonearm["buffer.readAheadMs"],
      readAheadBytesMax: tonearm["buffer.readAheadBytesMax"],
    },
    voice: {
      connectTimeoutMs: tonearm["voice.connectTimeoutMs"],
      isPlainFallbackAllowed: tonearm["voice.plainFallback"],
      gatewayScheme: tonearm["voice.gatewayScheme"],
    },
    workers: {
      count: tonearm["workers.count"] || context.coreCount,
      isLoadControlled: tonearm["workers.loadControl"],
    },
    network: { allow: tonearm["network.allow"] },
    local: { roots: rootsOf(tonearm["local.roots"], { isSourceOn: sources.local, context }) },
    http: httpOf(read(httpConfigSection), read(timeoutsSection)),
    routePlanner: routePlannerOf(read(rateLimitSection), { sources: tonearm["routePlanner.sources"], report: context }),
    metrics: metricsOf(read(metricsSection)),
    logging: {
      level: logLevelOf(read(loggingSection)),
      format: tonearm["log.format"],
      requests: requestLoggingOf(read(loggingSection)),
    },
  };
  warnOfOpenDoors(config, context);
  if (config.routePlanner.ipBlocks.length > 0 && config.http.proxyUrl !== undefined) {
    context.warn("lavalink.server.ratelimit: requests of the source http leave from the proxy, not from these blocks");
  }
  return config;
}

/** True when other machines may be able to connect to it. */
export function isReachableAddress(address: string): boolean {
  return !(/^127\./.test(address) || address === "::1" || address.toLowerCase() === "localhost");
}

function serverOf(
  values: SectionValues<typeof serverSection>,
  password: Secret | undefined,
  random: Random,
): NodeConfig["server"] {
  const generated = (): Secret => new Secret(Buffer.from(random.bytes(GENERATED_PASSWORD_BYTES)).toString("base64url"));
  return {
    address: values.address.trim(),
    port: values.port,
    password: password ?? generated(),
    isPasswordGenerated: password === undefined,
  };
}

function rootsOf(
  paths: readonly string[],
  options: { readonly isSourceOn: boolean; readonly context: AssembleContext },
): string[] {
  const { isSourceOn, context } = options;
  return paths.flatMap((path) => {
    const absolute = isAbsolute(path) ? path : resolve(context.cwd, path);
    const real = context.realPath(absolute);
    if (real === undefined && isSourceOn)
      context.warn(`tonearm.local.roots: there is no folder ${path}; leaving it out`);
    return real === undefined ? [] : [real];
  });
}

function warnOfOpenDoors(config: NodeConfig, context: AssembleContext): void {
  const { address, password } = config.server;
  if (isReachableAddress(address) && password.reveal() === WELL_KNOWN_PASSWORD) {
    context.warn(
      `THE PASSWORD IS "${WELL_KNOWN_PASSWORD}", WHICH EVERYBODY KNOWS, AND THE NODE LISTENS ON ${address}. ` +
        "Anybody who reaches it can use it. Set lavalink.server.password (LAVALINK_SERVER_PASSWORD) to one of your own.",
    );
  }
  if (config.voice.gatewayScheme === "ws") {
    context.warn("tonearm.voice.gatewayScheme is ws: voice gateways are spoken to without TLS. For test servers only.");
  }
}
