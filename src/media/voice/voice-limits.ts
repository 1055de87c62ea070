// How much voice servers may make us do: the client names them, so any of them may be hostile. Each player's connection
// has its own bounds, which outlive its sockets, so that a reconnect brings no new ones; some bounds hold for all
// connections of a thread together. On the audio thread.

import { NodeError } from "../../errors.ts";
import type { Clock } from "../../lib/clock.ts";
import { TokenBucket } from "../../lib/token-bucket.ts";
import { GroupQueue, type GroupQueueOptions } from "./dave/group-queue.ts";
import { VoiceConnectAttempts } from "./gateway/voice-connect-attempts.ts";

/**
 * The largest messages are DAVE's: 99 Adds are 49 kB, a Welcome to as many 40 kB. WebSocket frames beyond are refused
 * before they are read.
 */
export const MESSAGE_BYTES_MAX = 64 * 1024;
/** A full channel announces itself with some hundred messages at once; later there are a few per second. */
const MESSAGES_BURST = 2000;
const MESSAGES_PER_SECOND = 200;
const BYTES_BURST = 1024 * 1024;
const BYTES_PER_SECOND = 64 * 1024;
/** Answers of ours that the gateway has not read; a healthy one leaves nothing. */
export const UNREAD_BYTES_MAX = 64 * 1024;
/**
 * MLS work cannot be done in slices: joining 99 members takes 60 ms. Work beyond this share of the thread waits, and
 * audio continues with the old keys.
 */
const MLS_MS_BURST = 500;
const MLS_MS_PER_SECOND = 100;

/** Shared by all voice connections of an audio thread. */
export class VoiceThreadLimits {
  readonly connectAttempts: VoiceConnectAttempts;
  readonly groupQueue: GroupQueue;

  constructor(options: GroupQueueOptions) {
    this.connectAttempts = new VoiceConnectAttempts(options.clock);
    this.groupQueue = new GroupQueue(options);
  }
}

/** Limits of one voice connection, across all gateways it uses. */
export class VoiceLimits {
  readonly connectAttempts: VoiceConnectAttempts;
  readonly groupQueue: GroupQueue;
  readonly #messages: TokenBucket;
  readonly #bytes: TokenBucket;
  readonly #mlsMs: TokenBucket;

  constructor(clock: Clock, thread: VoiceThreadLimits) {
    this.connectAttempts = thread.connectAttempts;
    this.groupQueue = thread.groupQueue;
    this.#messages = new TokenBucket({ clock, burst: MESSAGES_BURST, perSecond: MESSAGES_PER_SECOND });
    this.#bytes = new TokenBucket({ clock, burst: BYTES_BURST, perSecond: BYTES_PER_SECOND });
    this.#mlsMs = new TokenBucket({ clock, burst: MLS_MS_BURST, perSecond: MLS_MS_PER_SECOND });
  }

  /** Counts one message, ping included; returns an error when it exceeds the limit. */
  takeMessage(): NodeError | undefined {
    const isFine = this.#messages.spend(1);
    return isFine ? undefined : limitExceeded(`it sends more than ${MESSAGES_PER_SECOND} messages per second`);
  }

  /** Counts the bytes read from the wire; returns an error when they exceed the limit. */
  takeBytes(sizeBytes: number): NodeError | undefined {
    const isFine = this.#bytes.spend(sizeBytes);
    return isFine ? undefined : limitExceeded(`it sends more than ${BYTES_PER_SECOND / 1024} kB per second`);
  }

  /** Counts time spent in the MLS library. */
  spendMls(usedMs: number): void {
    this.#mlsMs.spend(usedMs);
    this.groupQueue.spend(usedMs);
  }

  /** How long further MLS work must wait because of the work done already, milliseconds; 0: not at all. */
  get mlsWaitMs(): number {
    return this.#mlsMs.waitMs;
  }
}

/** The voice server exceeds a limit that no real one reaches. `what` follows "voice server: ". */
export function limitExceeded(what: string): NodeError {
  return new NodeError("voice-limit-exceeded", `the connection to the voice server was cut: ${what}`);
}
