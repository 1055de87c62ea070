// Where one player's sound is made: on this worker, or on another one, whose frames then go out through the voice
// connection here. The player's side of relay/hand-over.ts; why players move: docs/internals/moving.md. Audio thread.

import type { PlainEvent } from "../../bridge/channel.ts";
import type { PlayerId } from "../../bridge/commands.ts";
import { HandOver, type HandOverOptions } from "../relay/hand-over.ts";
import type { SoundCommand } from "../relay/relay-messages.ts";

export interface SoundPlaceOptions {
  readonly playerId: PlayerId;
  readonly send: (event: PlainEvent) => void;
  /**
   * The other worker's sound has begun to come: from now on none is made here, and the newest `framesTooMany` of what
   * was are not to be heard. Returns how many of those have left already.
   */
  readonly onTaken: (framesTooMany: number) => number;
  /** The other worker was not ready in time: the sound is made here as before. */
  readonly onFailed: () => void;
  /** A frame of the other worker's was due and did not get out. */
  readonly onLost: HandOverOptions["onLost"];
}

export class SoundPlace {
  readonly #options: SoundPlaceOptions;
  #handOver: HandOver | undefined;

  constructor(options: SoundPlaceOptions) {
    this.#options = options;
  }

  /** Another worker makes it. */
  get isAway(): boolean {
    return this.#handOver?.isTaken === true;
  }

  /** No other worker makes it, or is about to. */
  get isHere(): boolean {
    return this.#handOver === undefined;
  }

  /** Has the worker at the other end of the port make the sound from a place a little ahead on. */
  move(way: Omit<HandOverOptions, "onTaken" | "onFailed" | "onLost">): void {
    const { onTaken, onFailed, onLost } = this.#options;
    const handOver = new HandOver({
      ...way,
      onLost,
      onTaken: () => onTaken(handOver.framesTooMany),
      onFailed: () => {
        onFailed();
        this.keep();
      },
    });
    this.#handOver = handOver;
  }

  /** What is under way to another worker does not come to be. */
  keep(): void {
    if (this.#handOver === undefined) return;
    this.#handOver.close();
    this.#handOver = undefined;
    this.tellFailed();
  }

  /** To the main thread: it stays where it is. */
  tellFailed(): void {
    const { playerId, send } = this.#options;
    send({ type: "handOverFailed", playerId });
  }

  /** See HandOver. */
  onSent(untilMs: number, made: { readonly rate: number; readonly dueMs: number }): void {
    this.#handOver?.onSent(untilMs, made);
  }

  /** See HandOver. */
  onGateChanged(): void {
    this.#handOver?.onGateChanged();
  }

  /**
   * True: the sound is made elsewhere, and the command is carried out there. Otherwise it stays here, whatever was
   * under way.
   */
  passOn(command: SoundCommand): boolean {
    if (this.#handOver?.isTaken) this.#handOver.passOn(command);
    else this.keep();
    return this.#handOver !== undefined;
  }

  close(): void {
    this.#handOver?.close();
  }
}
