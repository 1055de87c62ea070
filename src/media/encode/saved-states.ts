// An encoder's state before each of its last frames, so that frames which are never sent can be revoked; and whether
// the next one must be independent. A ring buffer, allocated with the first frame. Audio thread.

import { FRAMES_AHEAD_MAX } from "../format/audio-format.ts";

/** An encoder before a frame. */
interface SavedState {
  readonly bytes: Uint8Array;
  isNextIndependent: boolean;
}

export class SavedStates {
  readonly #stateBytes: number;
  #states: readonly SavedState[] | undefined;
  /** Index of the next state, and how many there are. */
  #index = 0;
  #count = 0;
  #isNextIndependent = false;

  /** `stateBytes`: size of each state; there are FRAMES_AHEAD_MAX of them. */
  constructor(stateBytes: number) {
    this.#stateBytes = stateBytes;
  }

  /** True when the stream has not begun: no frame since creation or reset. */
  get isFresh(): boolean {
    return this.#states === undefined;
  }

  makeNextIndependent(): void {
    this.#isNextIndependent = true;
  }

  /** Call before each frame with the encoder's `state`. True when the frame must not depend on earlier ones. */
  save(state: Uint8Array): boolean {
    this.#states ??= Array.from({ length: FRAMES_AHEAD_MAX }, () => {
      return { bytes: new Uint8Array(this.#stateBytes), isNextIndependent: false };
    });
    const isIndependent = this.#isNextIndependent;
    const saved = this.#states[this.#index]!; // an entry of the ring buffer
    saved.bytes.set(state);
    saved.isNextIndependent = isIndependent;
    this.#index = (this.#index + 1) % FRAMES_AHEAD_MAX;
    this.#count = Math.min(this.#count + 1, FRAMES_AHEAD_MAX);
    this.#isNextIndependent = false;
    return isIndependent;
  }

  /**
   * Restores `state` to the one before the last `frameCount` frames, which no longer count. When that one is unknown,
   * `state` stays unchanged, and the next frame is independent instead.
   */
  rewind(frameCount: number, state: Uint8Array): void {
    const index = (this.#index + FRAMES_AHEAD_MAX - frameCount) % FRAMES_AHEAD_MAX;
    const saved = frameCount < 1 || frameCount > this.#count ? undefined : this.#states?.[index];
    this.#isNextIndependent ||= saved?.isNextIndependent ?? true;
    if (saved === undefined) return;
    state.set(saved.bytes);
    this.#index = index;
    this.#count -= frameCount;
  }

  /** Another stream begins. Releases the memory. */
  forget(): void {
    this.#states = undefined;
    this.#count = 0;
    this.#isNextIndependent = false;
  }
}
