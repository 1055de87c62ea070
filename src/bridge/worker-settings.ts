// What a worker is told once, when it starts (workerData): the part of the configuration that the audio side needs.

import type { MessagePort } from "node:worker_threads";

/** The whole of it: what workerData is. */
export interface WorkerStart {
  readonly settings: WorkerSettings;
  /** The thread's WorkMark. */
  readonly markMemory: SharedArrayBuffer;
  /** Where an audio thread asks for codecs (codec-wish.ts); undefined: it loads them by itself. */
  readonly codecPort?: MessagePort | undefined;
  /** It will be given many players at once: what they need is loaded before, not when the first of them comes. */
  readonly isSpare?: boolean | undefined;
}

export interface WorkerSettings {
  /** Outbound guard: CIDR blocks that may be dialled although private. */
  readonly networkAllow: readonly string[];
  /** Folders below which the local source may read, absolute real paths. Empty: nothing. */
  readonly localRoots: readonly string[];
  readonly opusComplexity: number;
  readonly opusBitrateBps: number;
  readonly trackStuckThresholdMs: number;
  /** Compressed read-ahead aimed at, milliseconds of sound. */
  readonly readAheadMs: number;
  /** Upper bound of that read-ahead in bytes, per player. */
  readonly readAheadBytesMax: number;
  readonly http: {
    readonly connectTimeoutMs: number;
    /** Longest silence of a server before the connection counts as stalled and is reopened. */
    readonly socketTimeoutMs: number;
    readonly userAgent: string;
    /** Proxy of the http source, or undefined. Credentials inside: never log. */
    readonly proxyUrl: string | undefined;
  };
  /** Sending from changing addresses; undefined: off, and the main thread is never asked for one. */
  readonly routing: RoutingSettings | undefined;
  readonly voice: {
    readonly connectTimeoutMs: number;
    /** False forbids sending unencrypted sound when a DAVE group never comes to be (discord-voice.md section 3.8). */
    readonly isPlainFallbackAllowed: boolean;
    /** `wss` in production; `ws` for a fake Discord on loopback. */
    readonly gatewayScheme: "wss" | "ws";
  };
}

export interface RoutingSettings {
  /** How often one request is sent again from another address; undefined: until it runs out of time. */
  readonly retriesMax: number | undefined;
  /** CIDR blocks or single addresses. All of them lead to this machine, so the outbound guard dials none. */
  readonly ipBlocks: readonly string[];
  /** Names of the sources that do; inputs of kind `http` are those of the source `http`. */
  readonly sources: readonly string[];
}
