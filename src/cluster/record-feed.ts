// One run of an ordered consumer: the newest message of each subject, then each new one, in the order of their
// revisions. It ends at the first sign that a message was lost; who wants more starts another. Below record-read.ts and
// record-watch.ts. Main thread.

import type { Msg, Subscription } from "@nats-io/transport-node";
import type { Clock, Timer } from "../lib/clock.ts";
import { onAbort } from "../lib/on-abort.ts";
import { askApi, asNumber } from "./jetstream-api.ts";
import type { LiveNats } from "./live-nats.ts";

const HEARTBEAT_MS = 1000;
/** A server that is silent for so long has lost the consumer, or is away itself. */
const SILENCE_MS_MAX = 3500;
const CREATE_TIMEOUT_MS = 3000;
/** The server forgets a consumer that nobody listens to. */
const INACTIVE_MS = 10_000;
const NANOSECONDS = 1_000_000;

export interface FedMessage {
  readonly subject: string;
  readonly revision: number;
  /** Undefined: a mark of removal. */
  readonly data: Uint8Array | undefined;
  /** When the stream's leader has stored it, by its clock; undefined: not known. */
  readonly storedEpochMs?: number | undefined;
}

export interface FeedOptions {
  readonly live: LiveNats;
  readonly stream: string;
  /** Without ones that overlap. */
  readonly subjects: readonly string[];
  /** Values are left out. Default: they come. */
  readonly isWithoutData?: boolean;
  readonly clock: Clock;
  readonly onMessage: (message: FedMessage) => void;
  /** All that there was at the start has been given. Called once. */
  readonly onCaughtUp: () => void;
  /** Not called after `stop`. */
  readonly onEnd: (reason: unknown) => void;
}

export class RecordFeed {
  readonly #options: FeedOptions;
  readonly #name: string;
  readonly #subscription: Subscription;
  readonly #stopListening: () => void;
  #silence: Timer;
  #isEnded = false;
  #isCaughtUp = false;
  #deliveredCount = 0;

  constructor(options: FeedOptions) {
    const { live, clock } = options;
    this.#options = options;
    const inbox = live.module.createInbox();
    this.#name = `t${inbox.slice(inbox.lastIndexOf(".") + 1)}`;
    this.#subscription = live.nats.subscribe(inbox, { callback: (error, message) => this.#onMessage(error, message) });
    this.#silence = clock.after(SILENCE_MS_MAX, () => this.#onSilence());
    this.#stopListening = onAbort(live.signal, () => queueMicrotask(() => this.#end(live.signal.reason)));
    void this.#create(inbox);
  }

  stop(): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    this.#silence.cancel();
    this.#stopListening();
    this.#subscription.unsubscribe();
    const { live, stream } = this.#options;
    if (live.signal.aborted) return;
    askApi(live, `CONSUMER.DELETE.${stream}.${this.#name}`, undefined, CREATE_TIMEOUT_MS).catch(() => {
      // The server forgets it by itself.
    });
  }

  #end(reason: unknown): void {
    if (this.#isEnded) return;
    this.stop();
    this.#options.onEnd(reason);
  }

  async #create(inbox: string): Promise<void> {
    const { live, stream, subjects, isWithoutData = false } = this.#options;
    const config = {
      name: this.#name,
      deliver_subject: inbox,
      deliver_policy: "last_per_subject",
      filter_subjects: subjects,
      headers_only: isWithoutData,
      ack_policy: "none",
      replay_policy: "instant",
      max_deliver: 1,
      flow_control: true,
      idle_heartbeat: HEARTBEAT_MS * NANOSECONDS,
      inactive_threshold: INACTIVE_MS * NANOSECONDS,
      mem_storage: true,
      num_replicas: 1,
    };
    const body = { stream_name: stream, config, action: "create" };
    try {
      const made = await askApi(live, `CONSUMER.CREATE.${stream}.${this.#name}`, body, CREATE_TIMEOUT_MS);
      if (asNumber(made.num_pending) === 0 && this.#deliveredCount === 0) this.#caughtUp();
    } catch (error) {
      this.#end(error);
    }
  }

  #onMessage(error: Error | null, message: Msg): void {
    if (this.#isEnded) return;
    if (error !== null) {
      this.#end(error);
      return;
    }
    this.#silence.cancel();
    this.#silence = this.#options.clock.after(SILENCE_MS_MAX, () => this.#onSilence());
    const code = message.headers?.code ?? 0;
    if (code === 100) this.#onControl(message);
    else if (code === 0) this.#onRecord(message);
    else this.#end(new Error(`the consumer has ended: ${message.headers?.description ?? code}`));
  }

  #onRecord(message: Msg): void {
    const place = placeOf(message.reply);
    if (place === undefined || place.delivery !== this.#deliveredCount + 1) {
      this.#end(new Error("a message of the consumer is missing"));
      return;
    }
    this.#deliveredCount++;
    const operation = message.headers?.get("KV-Operation") ?? "";
    const isRemoved = operation === "DEL" || operation === "PURGE";
    const { subject } = message;
    const { revision, storedEpochMs, pendingCount } = place;
    this.#options.onMessage({ subject, revision, storedEpochMs, data: isRemoved ? undefined : message.data });
    if (pendingCount === 0) this.#caughtUp();
  }

  /** Heartbeats, and questions whether more may be sent. */
  #onControl(message: Msg): void {
    const { nats } = this.#options.live;
    const stalled = message.headers?.get("Nats-Consumer-Stalled") ?? "";
    if (message.reply !== undefined && message.reply !== "") nats.publish(message.reply);
    if (stalled !== "") nats.publish(stalled);
    const last = message.headers?.get("Nats-Last-Consumer") ?? "";
    if (last === "") return;
    if (Number(last) !== this.#deliveredCount) this.#end(new Error("messages of the consumer are missing"));
    else if (stalled === "") this.#caughtUp();
  }

  #caughtUp(): void {
    if (this.#isCaughtUp || this.#isEnded) return;
    this.#isCaughtUp = true;
    this.#options.onCaughtUp();
  }

  #onSilence(): void {
    this.#end(new Error("no sign of the consumer"));
  }
}

const NANOSECONDS_PER_MS = 1e6;

interface Place {
  readonly revision: number;
  readonly delivery: number;
  readonly storedEpochMs: number;
  readonly pendingCount: number;
}

/**
 * `$JS.ACK.<stream>.<consumer>.<deliveries>.<stream seq>.<consumer seq>.<time>.<pending>`, newer servers with the domain
 * and the account behind `ACK`, and a token at the end (ADR-15).
 */
function placeOf(reply: string | undefined): Place | undefined {
  const parts = reply?.split(".") ?? [];
  const start = parts.length === 9 ? 5 : 7;
  if (parts.length < 9) return undefined;
  const [revision, delivery, storedNs, pendingCount] = parts.slice(start, start + 4).map(Number);
  if (revision === undefined || delivery === undefined || storedNs === undefined || pendingCount === undefined)
    return undefined;
  return { revision, delivery, storedEpochMs: storedNs / NANOSECONDS_PER_MS, pendingCount };
}
