// A voice connection whose frames leave when they are due, on a test's clock, and can be revoked until then: what the
// real one does through the pacer.

import { RING_FRAMES } from "../../src/media/pacer/frame-ring.ts";
import type { VoiceGate } from "../../src/media/voice/frame-sink.ts";
import type { FakeClock } from "./fake-clock.ts";
import { packetNumber } from "./numbered-packets.ts";
import { UndiagnosedVoice } from "./undiagnosed-voice.ts";

/** Represents a silence frame where frames have numbers. */
export const SILENCE = -1;

interface SentFrame {
  /** Number of the packet (numbered-packets.ts), or SILENCE. */
  readonly number: number;
  readonly dueMs: number;
}

export class AheadVoice extends UndiagnosedVoice {
  gate: VoiceGate = "send";
  isClosed = false;
  /** How often Discord received the end of speaking. */
  stopCount = 0;
  /** No frame leaves, whenever it is due. */
  isStalled = false;
  /** Its WebSocket is lost: audio may continue, but not begin. */
  isDetached = false;
  revokedCount = 0;
  readonly #clock: FakeClock;
  readonly #left: SentFrame[] = [];
  #waiting: SentFrame[] = [];

  constructor(clock: FakeClock) {
    super();
    this.#clock = clock;
  }

  /** Frames sent, in order. */
  get left(): readonly SentFrame[] {
    this.#letLeave();
    return this.#left;
  }

  /** Their numbers. */
  get received(): readonly number[] {
    return this.left.map(({ number }) => number);
  }

  /** How many wait to leave. */
  get waitingCount(): number {
    this.#letLeave();
    return this.#waiting.length;
  }

  /** How far ahead of now the waiting frames reach, milliseconds; 0 without any. */
  get lookAheadMs(): number {
    return Math.max(0, (this.#waiting.at(-1)?.dueMs ?? 0) - this.#clock.now());
  }

  async connect(): Promise<void> {}

  sendFrame(opus: Uint8Array, dueMs: number): boolean {
    this.#waiting.push({ number: packetNumber(opus), dueMs });
    return true;
  }

  sendSilence(dueMs: number): void {
    this.#waiting.push({ number: SILENCE, dueMs });
  }

  stopSpeaking(): void {
    this.stopCount += 1;
    if (this.isDetached) this.gate = "hold";
  }

  override get isFull(): boolean {
    this.#letLeave();
    return this.#waiting.length >= RING_FRAMES;
  }

  override get isDrained(): boolean {
    this.#letLeave();
    return this.#waiting.length === 0;
  }

  override revoke(countMax: number): number {
    this.#letLeave();
    const count = Math.min(countMax, this.#waiting.length);
    this.#waiting = this.#waiting.slice(0, this.#waiting.length - count);
    this.revokedCount += count;
    return count;
  }

  /** Frames that wait do not leave. */
  close(): void {
    this.#letLeave();
    this.#waiting = [];
    this.isClosed = true;
  }

  #letLeave(): void {
    const nowMs = this.isStalled ? Number.NEGATIVE_INFINITY : this.#clock.now();
    for (let first = this.#waiting[0]; first !== undefined && first.dueMs <= nowMs; first = this.#waiting[0]) {
      this.#left.push(first);
      this.#waiting.shift();
    }
  }
}
