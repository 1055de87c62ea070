// How the frames of one voice session are sent: plain, or encrypted for a DAVE group. Written by dave-membership.ts as
// its groups and transitions change, read in the tick: a frame costs one call of the cipher. Audio thread.

import type { VoiceCounters } from "../voice-counters.ts";
import type { DaveGateState } from "./dave-gate.ts";
import type { FrameCipher } from "./mls-group.ts";

/** Half a second of frames that could not be encrypted. */
const FAILURES_IN_A_ROW_MAX = 25;

interface DaveFramesOptions {
  readonly counters: VoiceCounters;
  /** Half a second of frames could not be encrypted. Called in the tick. */
  readonly onFailing: () => void;
  /** Frames are sent with other keys from now on. */
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

  /** The protocol version that audio is sent with now; 0 is plain. */
  setVersion(version: number): void {
    this.start(version, this.#cipher);
  }

  /** Encrypts for this group from now on. */
  start(version: number, cipher: FrameCipher | undefined): void {
    const isChanged = version !== this.#version || cipher !== this.#cipher;
    this.#version = version;
    this.#cipher = cipher;
    if (isChanged) this.#options.onChanged();
  }

  /** Nobody listens to the group of the cipher any more. */
  dropCipher(): void {
    this.start(this.#version, undefined);
  }

  /** True when frames are encrypted with this very cipher. */
  isWith(cipher: FrameCipher | undefined): boolean {
    return this.#cipher !== undefined && this.#cipher === cipher;
  }

  get isEncrypting(): boolean {
    return this.#version > 0 && this.#cipher !== undefined;
  }

  /** How frames are sent now, if the gate allows it. */
  describe(gate: DaveGateState): "encrypted" | "plain" | "waiting" {
    if (this.isEncrypting) return "encrypted";
    return gate === "send" ? "plain" : "waiting";
  }

  /** Frames can be sent as intended: the call is plain, or there is a group. */
  get isFlowing(): boolean {
    return this.#version === 0 || this.#cipher !== undefined;
  }

  /**
   * The packet payload for `opus`: a DAVE frame; the same bytes when plain, or without a group (the gate decides
   * whether they may be sent then); undefined when encrypting failed.
   */
  encrypt(opus: Uint8Array): Uint8Array | undefined {
    if (this.#version === 0 || this.#cipher === undefined) return opus;
    try {
      // It reads the bytes of any view; only its declaration asks for a Buffer.
      const frame = this.#cipher.encryptOpus(opus as Buffer);
      this.#failuresInARow = 0;
      return frame;
    } catch {
      // Dropped, never sent plain; counted, and recovered from after half a second.
      const { counters, onFailing } = this.#options;
      counters.encryptFailures++;
      if (++this.#failuresInARow === FAILURES_IN_A_ROW_MAX) onFailing();
      return undefined;
    }
  }
}
