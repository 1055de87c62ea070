// The configuration as the rest of the node sees it: checked, with every default filled in, in our own units and deeply
// frozen. Nobody downstream checks it again. Built once at start by load-config.ts; main thread.

import type { Secret } from "./secret.ts";

/** Lavalink's names of its built-in sources, as they stand under `lavalink.server.sources`. */
export type SourceName = "youtube" | "bandcamp" | "soundcloud" | "twitch" | "vimeo" | "nico" | "http" | "local";

export type RoutePlannerStrategy = "RotateOnBan" | "LoadBalance" | "NanoSwitch" | "RotatingNanoSwitch";

export interface NodeConfig {
  readonly server: {
    /** Address to listen on: an IP address or a host name. */
    readonly address: string;
    /** 0 lets the system choose a free port. */
    readonly port: number;
    readonly password: Secret;
    /** True when nobody configured a password: it has to be shown once. */
    readonly isPasswordGenerated: boolean;
  };
  /** Which sources are switched on. */
  readonly sources: Readonly<Record<SourceName, boolean>>;
  /** Names of filters switched off, as the protocol spells them (`channelMix`). */
  readonly disabledFilters: readonly string[];
  readonly players: {
    readonly updateIntervalMs: number;
    readonly trackStuckThresholdMs: number;
  };
  readonly opus: {
    /** 0 to 10. */
    readonly complexity: number;
    readonly bitrateBps: number;
  };
  readonly buffer: {
    readonly readAheadMs: number;
    readonly readAheadBytesMax: number;
  };
  readonly voice: {
    readonly connectTimeoutMs: number;
    readonly isPlainFallbackAllowed: boolean;
    readonly gatewayScheme: "wss" | "ws";
  };
  readonly workers: {
    /** Number of audio workers, at least 1. */
    readonly count: number;
    /** Encoders work less hard and players are refused before anybody is late. */
    readonly isLoadControlled: boolean;
  };
  readonly network: {
    /** CIDR blocks that may be dialled although they are private. */
    readonly allow: readonly string[];
  };
  readonly local: {
    /** Absolute real paths below which the local source may read. */
    readonly roots: readonly string[];
  };
  /** Outgoing HTTP. */
  readonly http: {
    readonly connectTimeoutMs: number;
    readonly socketTimeoutMs: number;
    /** Proxy of the http source as a URL with its user and password, or undefined. */
    readonly proxyUrl: Secret | undefined;
  };
  /** Address rotation. Blocks and strategy fit each other. */
  readonly routePlanner: {
    /** CIDR blocks to rotate through, all of one IP version, none within another; empty: no route planner. */
    readonly ipBlocks: readonly string[];
    readonly excludedIps: readonly string[];
    readonly strategy: RoutePlannerStrategy;
    readonly isTriggeredBySearch: boolean;
    /** How often a refused request is sent again; undefined: without end. */
    readonly retriesMax: number | undefined;
    /** The sources whose requests are sent from these addresses. */
    readonly sources: readonly string[];
  };
  readonly metrics: {
    readonly isEnabled: boolean;
    /** Path of the metrics route, with a slash in front. */
    readonly endpoint: string;
    /** True when no endpoint was configured: the route then asks for the password, as Lavalink's does. */
    readonly isPasswordNeeded: boolean;
  };
  readonly logging: {
    readonly level: "debug" | "info" | "warn" | "error" | "silent";
    readonly format: "text" | "json";
    /** How requests of clients are to be logged; undefined: not at all. */
    readonly requests: RequestLogging | undefined;
  };
}

/** `logging.request.*` of application.yml. */
export interface RequestLogging {
  readonly isClientShown: boolean;
  readonly areHeadersShown: boolean;
  readonly isQueryShown: boolean;
  readonly isPayloadShown: boolean;
  readonly payloadLengthMax: number;
  readonly isLoggedBefore: boolean;
}
