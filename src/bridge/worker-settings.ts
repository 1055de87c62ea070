// The start data of a worker (workerData): the part of the configuration that the audio side needs.

import type { MessagePort } from "node:worker_threads";
import type { DeepReadonly, KeyValues } from "../config/keys/all-keys.ts";

/** The whole of it: what workerData is. */
export interface WorkerStart {
  readonly settings: WorkerSettings;
  /** The thread's Heartbeat. */
  readonly heartbeatMemory: SharedArrayBuffer;
  /** Where an audio thread asks for codecs (codec-request.ts); undefined: it loads them by itself. */
  readonly codecPort?: MessagePort | undefined;
  /** It will be given many players at once: what they need is loaded in advance, not when the first of them arrives. */
  readonly isSpare?: boolean | undefined;
}

/** Configuration values that workers receive unchanged: meaning, unit and range are in config/keys/. */
type SentValues = DeepReadonly<Pick<KeyValues, "network" | "players" | "opus" | "buffer" | "voice">>;

/** Identical for all workers and the probe thread; never changes while they run. */
export interface WorkerSettings extends SentValues {
  /** Folders below which the local source may read, absolute real paths. Empty: nothing. */
  readonly localRoots: readonly string[];
  /** What tracks are encoded to is stored, and played the next time: the main thread may be asked for it. */
  readonly hasOpusCache: boolean;
  readonly http: HttpSettings;
  /** Sending from changing addresses; undefined: off, and the main thread is never asked for one. */
  readonly routing: RoutingSettings | undefined;
}

/** For requests of the http source: timeouts in milliseconds, as keys/ has them. */
interface HttpSettings extends DeepReadonly<KeyValues["timeouts"]> {
  /** The header of that name. */
  readonly userAgent: string;
  /** Proxy, or undefined. Credentials inside: never log. */
  readonly proxyUrl: string | undefined;
}

/** The part of `lavalink.server.ratelimit` that all threads that send requests need; the route planner has the rest. */
export interface RoutingSettings {
  /** How often one request is sent again from another address; undefined: until it runs out of time. */
  readonly retriesMax: number | undefined;
  /**
   * CIDR blocks or single addresses. All of them lead to this machine, so the outbound guard refuses them as targets.
   */
  readonly ipBlocks: readonly string[];
  /** A search that a site refuses says something about the address, too. */
  readonly isTriggeredBySearch: boolean;
  /** Names of the sources whose requests rotate, in lower case; inputs of kind `http` belong to the source `http`. */
  readonly sources: readonly string[];
}
