// What the frames of one voice session go out as: plain, or encrypted for a DAVE group. Written by dave-session.ts as
// its groups and transitions come and go, read in the tick: a frame costs one call of the cipher. Audio thread.

import type { VoiceCounters } from "../voice-counters.ts";
import type { DaveGateState } from "./dave-gate.ts";
import type { FrameCipher } from "./mls-group.ts";

/** Half a second of frames that could not be encrypted. */
const FAILURES_IN_A_ROW_MAX = 25;

interface DaveFramesOptions {
  readonly counters: VoiceCounters;
  /** Half a second of frames could not be encrypted. Called in the tick. */
  readonly onFailing: () => void;
  /** They go out otherwise than until now. */
  readonly onChanged: () => void;
}

export class DaveFrames {
  readonly #options: DaveFramesOptions;
  #version = 0;
  #cipher: FrameCipher | undefined;
  #failuresInARow = 0;

  constructor(options: DaveFramesOptions) {
    this.#options = options;
  }

  /** The protocol version sound is sent with now; 0 is plain. */
  setVersion(version: number): void {
    this.start(version, this.#cipher);
  }

  /** From now on for this group. */
  start(version: number, cipher: FrameCipher | undefined): void {
    const isChanged = version !== this.#version || cipher !== this.#cipher;
    this.#version = version;
    this.#cipher = cipher;
    if (isChanged) this.#options.onChanged();
  }

  /** The group is none any more that anybody listens to. */
  dropCipher(): void {
    this.start(this.#version, undefined);
  }

  /** They are encrypted with this very cipher. */
  isWith(cipher: FrameCipher | undefined): boolean {
    return this.#cipher !== undefined && this.#cipher === cipher;
  }

  get isEncrypting(): boolean {
    return this.#version > 0 && this.#cipher !== undefined;
  }

  /** What they go out as now, if the gate lets them. */
  describe(gate: DaveGateState): "encrypted" | "plain" | "waiting" {
    if (this.isEncrypting) return "encrypted";
    return gate === "send" ? "plain" : "waiting";
  }

  /** They can go out as they should: the call is plain, or there is a group. */
  get isFlowing(): boolean {
    return this.#version === 0 || this.#cipher !== undefined;
  }

  /**
   * What to put into the packet for `opus`: a DAVE frame; the same bytes when plain, or without a group (whether they
   * may go out then is the gate's to say); undefined when encrypting failed.
   */
  encrypt(opus: Uint8Array): Uint8Array | undefined {
    if (this.#version === 0 || this.#cipher === undefined) return opus;
    try {
      const frame = this.#cipher.encryptOpus(asBuffer(opus));
      this.#failuresInARow = 0;
      return frame;
    } catch {
      // Dropped, never sent plain; counted, and mended after half a second of it.
      const { counters, onFailing } = this.#options;
      counters.encryptFailures++;
      if (++this.#failuresInARow === FAILURES_IN_A_ROW_MAX) onFailing();
      return undefined;
    }
  }
}

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
