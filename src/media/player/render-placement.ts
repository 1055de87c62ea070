// Where one player's sound is made: on this worker, or on another one, whose frames then go out through the voice
// connection here. The player's side of handoff/hand-over.ts; why players move: docs/internals/moving.md. Audio thread.

import type { PlainEvent } from "../../bridge/channel.ts";
import type { PlayerId } from "../../bridge/commands.ts";
import { HandOver, type HandOverOptions } from "../handoff/hand-over.ts";
import type { AudioCommand } from "../handoff/relay-messages.ts";

interface RenderPlacementOptions {
  readonly playerId: PlayerId;
  readonly send: (event: PlainEvent) => void;
  /**
   * The other worker's sound has begun to come: from now on none is made here, and the newest `framesTooMany` of what
   * was are not to be heard. Returns how many of those have left already.
   */
  readonly onHandedOver: (framesTooMany: number) => number;
  /** The other worker was not ready in time: the sound is made here as before. */
  readonly onFailed: () => void;
  /** A frame of the other worker's was due and did not get out. */
  readonly onLost: HandOverOptions["onLost"];
}

export class RenderPlacement {
  readonly #options: RenderPlacementOptions;
  #handOver: HandOver | undefined;

  constructor(options: RenderPlacementOptions) {
    this.#options = options;
  }

  /** Another worker makes it. */
  get isAway(): boolean {
    return this.#handOver?.isHandedOver === true;
  }

  /** No other worker makes it, or is about to. */
  get isHere(): boolean {
    return this.#handOver === undefined;
  }

  /** Has the worker at the other end of the port make the sound from a place a little ahead on. */
  move(target: Omit<HandOverOptions, "onHandedOver" | "onFailed" | "onLost">): void {
    const { onHandedOver, onFailed, onLost } = this.#options;
    const handOver = new HandOver({
      ...target,
      onLost,
      onHandedOver: () => onHandedOver(handOver.framesTooMany),
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
    this.reportFailed();
  }

  /** To the main thread: it stays where it is. */
  reportFailed(): void {
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
  passOn(command: AudioCommand): boolean {
    if (this.#handOver?.isHandedOver) this.#handOver.passOn(command);
    else this.keep();
    return this.#handOver !== undefined;
  }

  close(): void {
    this.#handOver?.close();
  }
}
