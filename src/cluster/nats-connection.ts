// Holds the connection to NATS: tries for ever, reports what is wrong once, and gives it to others only when the bucket
// is ready. A connection that is lost is not repaired: a new one takes its place, and what used the old one starts
// again. Below nats-link.ts and nats-bucket.ts. Main thread.

import type { NatsConnection, NodeConnectionOptions } from "@nats-io/transport-node";
import { NodeError } from "../errors.ts";
import type { Clock } from "../lib/clock.ts";
import { onAbort } from "../lib/on-abort.ts";
import { pause } from "../lib/pause.ts";
import type { Random } from "../lib/random.ts";
import { unlessAborted } from "../lib/unless-aborted.ts";
import type { Logger } from "../log/log.ts";
import { troubleOf } from "./cluster-trouble.ts";
import type { LiveBucket, LiveNats, NatsModule } from "./live-nats.ts";
import type { LinkStatus } from "./machine-link.ts";
import type { NatsServers } from "./nats-servers.ts";

/** Before the next attempt; a random part of as much is added. */
const RETRY_MS = 250;
/** If the operator has to change something. */
const LASTING_RETRY_MS = 2000;
/** To connect, with TLS and login. */
const CONNECT_TIMEOUT_MS = 3000;
/** A server that leaves two pings without an answer is lost: before a lease of 6 s ends. */
const PING_MS = 1000;
const PINGS_MISSED_MAX = 2;
/** Different ones, of one connection or between two. */
const ERRORS_TOLD_MAX = 16;
/** A bucket with fewer replicas than it should have is looked at again. */
const ADAPT_MS = 60_000;

export interface NatsConnectionOptions {
  readonly module: NatsModule;
  readonly servers: NatsServers;
  /** Reads login and TLS, for each connection: they may be renewed. */
  readonly access: () => Promise<NatsAccess>;
  /** Of this machine, for the servers' lists. */
  readonly name: string;
  /** Makes the bucket ready; throws what `troubleOf` understands. */
  readonly prepare: (live: LiveNats) => Promise<LiveBucket>;
  readonly replicasWanted: number;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

export type NatsAccess = Pick<NodeConnectionOptions, "authenticator" | "tls">;

type Listener = (live: LiveBucket | undefined) => void;

export class ConnectionLoop {
  readonly #options: NatsConnectionOptions;
  readonly #closing = new AbortController();
  readonly #listeners = new Set<Listener>();
  readonly #statusListeners = new Set<(status: LinkStatus) => void>();
  #status: LinkStatus;
  #live: LiveBucket | undefined;
  /** What is known of the bucket since it was last found ready. */
  #bucket: Pick<LiveBucket, "madeAt" | "replicaCount"> | undefined;
  #checkAgain: (() => void) | undefined;
  /** Lines about trouble since the last connection, which are not repeated. */
  readonly #told = new Set<string>();
  readonly #ended: Promise<void>;

  constructor(options: NatsConnectionOptions) {
    this.#options = options;
    this.#status = { kind: "disconnected", reason: "connecting to NATS", sinceEpochMs: options.clock.epochMs() };
    this.#ended = this.#run();
  }

  /** While the connection stands and the bucket is ready. */
  get live(): LiveBucket | undefined {
    return this.#live;
  }

  /** How many servers held the bucket when it was last looked at; undefined before that. */
  get replicaCount(): number | undefined {
    return this.#bucket?.replicaCount;
  }

  get status(): LinkStatus {
    return this.#status;
  }

  onStatus(listener: (status: LinkStatus) => void): () => void {
    this.#statusListeners.add(listener);
    return () => this.#statusListeners.delete(listener);
  }

  /** Told of each connection, now if there is one, and of its loss. */
  onLive(listener: Listener): () => void {
    this.#listeners.add(listener);
    if (this.#live !== undefined) listener(this.#live);
    return () => this.#listeners.delete(listener);
  }

  /** The bucket does not behave as it should: it is looked at again. */
  checkBucket(): void {
    this.#checkAgain?.();
  }

  async close(): Promise<void> {
    this.#closing.abort(new NodeError("cluster-away", "the node is closing"));
    await this.#ended;
  }

  async #run(): Promise<void> {
    const { module, servers, access } = this.#options;
    while (!this.#closing.signal.aborted) {
      let nats: NatsConnection;
      try {
        const connecting = module.connect(this.#connectOptions(await access()));
        nats = await unlessAborted(connecting, this.#closing.signal).catch((error: unknown) => {
          void connecting.then(abandon, () => undefined);
          throw error;
        });
      } catch (error) {
        await this.#troubled(error);
        continue;
      }
      await this.#use(nats);
      servers.onLost(nats.getServer());
      if (!this.#closing.signal.aborted) await this.#pauseBeforeRetry(RETRY_MS);
    }
  }

  #connectOptions(access: NatsAccess): NodeConnectionOptions {
    const { servers, name, random } = this.#options;
    const shuffled = <T>(list: readonly T[]): T[] =>
      list
        .map((item) => [random.unit(), item] as const)
        .toSorted(([a], [b]) => a - b)
        .map(([, item]) => item);
    return {
      ...access,
      servers: [...servers.toTry({ hasTls: access.tls !== undefined, shuffled })],
      name,
      noRandomize: true,
      reconnect: false,
      ignoreAuthErrorAbort: true,
      timeout: CONNECT_TIMEOUT_MS,
      pingInterval: PING_MS,
      maxPingOut: PINGS_MISSED_MAX,
      noAsyncTraces: true,
    };
  }

  /** Until the connection is lost. */
  async #use(nats: NatsConnection): Promise<void> {
    const { module } = this.#options;
    const lost = new AbortController();
    const lose = (text: string) => lost.abort(new NodeError("cluster-away", `connection to NATS lost: ${text}`));
    const onClosing = () => lose("the node is closing");
    const stopListening = onAbort(this.#closing.signal, onClosing);
    void this.#follow(nats, lose);
    const live: LiveNats = { nats, module, signal: lost.signal };
    try {
      while (!lost.signal.aborted) await this.#holdBucket(live);
    } finally {
      stopListening();
      this.#setLive(undefined);
      this.#disconnected(reasonOf(lost.signal));
      abandon(nats);
    }
  }

  /** Makes the bucket ready, and gives the connection to others until that is to be done again. */
  async #holdBucket(live: LiveNats): Promise<void> {
    const { prepare, clock, replicasWanted } = this.#options;
    const again = new AbortController();
    this.#checkAgain = () => again.abort();
    // A bucket that was ready is believed to be so still: calls do not need it, and writes find out.
    if (this.#bucket !== undefined) this.#connected({ ...live, ...this.#bucket });
    try {
      const bucket = await prepare(live);
      if (live.signal.aborted) return;
      this.#bucket = { madeAt: bucket.madeAt, replicaCount: bucket.replicaCount };
      this.#connected(bucket);
    } catch (error) {
      if (!live.signal.aborted) await this.#bucketTroubled(error, live);
      return;
    }
    const isClustered = live.nats.info?.cluster !== undefined;
    const isToAdapt = isClustered && this.#bucket.replicaCount < replicasWanted;
    const timer = isToAdapt ? clock.after(ADAPT_MS, () => again.abort()) : undefined;
    await aborted(AbortSignal.any([live.signal, again.signal]));
    timer?.cancel();
  }

  #connected(bucket: LiveBucket): void {
    const server = bucket.nats.getServer();
    if (this.#live === undefined) this.#options.logger.info("connected to the cluster's NATS server", { server });
    this.#told.clear();
    if (this.#live?.nats !== bucket.nats || this.#live.madeAt !== bucket.madeAt) this.#setLive(bucket);
    this.#setStatus({ kind: "connected", server, seenAs: bucket.nats.info?.client_ip });
  }

  /** A bucket that was ready, and has no leader for a while, is no reason to give the connection up. */
  async #bucketTroubled(error: unknown, live: LiveNats): Promise<void> {
    const trouble = troubleOf(error, live.module);
    if (trouble.isLasting) this.#bucket = undefined;
    if (this.#bucket === undefined) await this.#troubled(trouble, live.signal);
    else await this.#pauseBeforeRetry(RETRY_MS, live.signal);
  }

  async #follow(nats: NatsConnection, lose: (text: string) => void): Promise<void> {
    const { servers, logger, module } = this.#options;
    const told = new Set<string>();
    const learn = () => servers.learn(nats.info?.connect_urls ?? [nats.getServer()]);
    learn();
    for await (const status of nats.status()) {
      if (status.type === "staleConnection") lose("the server does not answer");
      else if (status.type === "disconnect" || status.type === "close") lose("the server has closed it");
      else if (status.type === "update") learn();
      else if (status.type === "error") {
        const { message } = troubleOf(status.error, module);
        // Each permission that is missing, for one.
        if (told.size < ERRORS_TOLD_MAX && !told.has(message)) logger.warn(`NATS reports an error: ${message}`);
        told.add(message);
      }
    }
    lose("it has ended");
  }

  async #troubled(error: unknown, signal?: AbortSignal): Promise<void> {
    if (this.#closing.signal.aborted) return;
    const { module, logger } = this.#options;
    const trouble = troubleOf(error, module);
    this.#setLive(undefined);
    this.#disconnected(trouble.message);
    if (!this.#told.has(trouble.message) && this.#told.size < ERRORS_TOLD_MAX) {
      this.#told.add(trouble.message);
      logger.warn(`cluster out of reach: ${trouble.message}`);
    }
    await this.#pauseBeforeRetry(trouble.isLasting ? LASTING_RETRY_MS : RETRY_MS, signal);
  }

  #pauseBeforeRetry(delayMs: number, signal?: AbortSignal): Promise<void> {
    const { clock, random } = this.#options;
    const until = signal === undefined ? this.#closing.signal : AbortSignal.any([this.#closing.signal, signal]);
    return pause(clock, delayMs + random.unit() * RETRY_MS, until);
  }

  #disconnected(reason: string): void {
    const { clock, logger } = this.#options;
    if (this.#status.kind === "connected" && !this.#closing.signal.aborted) {
      logger.warn(`${reason}: what plays here plays on, sessions of other machines cannot be reached`);
    }
    const sinceEpochMs = this.#status.kind === "disconnected" ? this.#status.sinceEpochMs : clock.epochMs();
    this.#setStatus({ kind: "disconnected", reason, sinceEpochMs });
  }

  #setStatus(status: LinkStatus): void {
    const isSame =
      status.kind === "connected"
        ? this.#status.kind === "connected" && this.#status.server === status.server
        : this.#status.kind === "disconnected" && this.#status.reason === status.reason;
    if (isSame) return;
    this.#status = status;
    for (const listener of [...this.#statusListeners]) this.#guarded(() => listener(status));
  }

  #setLive(live: LiveBucket | undefined): void {
    if (this.#live === live) return;
    this.#live = live;
    for (const listener of [...this.#listeners]) this.#guarded(() => listener(live));
  }

  #guarded(call: () => void): void {
    try {
      call();
    } catch (error) {
      this.#options.logger.error("a listener of the cluster's connection failed", { error });
    }
  }
}

function abandon(nats: NatsConnection): void {
  nats.close().catch(() => undefined); // Nothing depends on it any more.
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    onAbort(signal, resolve);
  });
}

function reasonOf(signal: AbortSignal): string {
  return signal.reason instanceof Error ? signal.reason.message : String(signal.reason);
}
