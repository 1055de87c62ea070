// Where one player's audio is rendered: on this worker, or on another one, whose frames then go out through the voice
// connection here. The player's side of handoff/hand-over.ts; why players move: docs/internals/moving.md. Audio thread.

import type { PlainEvent } from "../../bridge/channel.ts";
import type { PlayerId } from "../../bridge/commands.ts";
import { HandOver, type HandOverOptions } from "../handoff/hand-over.ts";
import type { AudioCommand, RemoteTrack } from "../handoff/relay-messages.ts";
import type { FrameSink } from "../voice/frame-sink.ts";

interface RenderPlacementOptions {
  readonly playerId: PlayerId;
  readonly send: (event: PlainEvent) => void;
  /** What another worker needs to continue the track; undefined when none could continue it now. */
  readonly remoteTrack: () => RemoteTrack | undefined;
  /** Where the other worker's frames go. */
  readonly sink: () => FrameSink;
  /**
   * Audio from the other worker has started: from now on none is made here, and the newest `framesTooMany` local frames
   * must not be played. Returns how many of those have already been sent.
   */
  readonly onHandedOver: (framesTooMany: number) => number;
  /** The other worker was not ready in time: the audio is still made here. */
  readonly onFailed: () => void;
  /** A frame of the other worker was due and could not be sent. */
  readonly onLost: HandOverOptions["onLost"];
}

export class RenderPlacement {
  readonly #options: RenderPlacementOptions;
  #handOver: HandOver | undefined;

  constructor(options: RenderPlacementOptions) {
    this.#options = options;
  }

  /** Another worker renders the audio. */
  get isAway(): boolean {
    return this.#handOver?.isHandedOver === true;
  }

  /** Track time from which the other worker's audio is; undefined without one. */
  get startMs(): number | undefined {
    return this.#handOver?.startMs;
  }

  /** Another worker could continue the track, and none renders it or is about to. */
  get canHandOver(): boolean {
    return this.#handOver === undefined && this.#options.remoteTrack() !== undefined;
  }

  /**
   * Asks the worker at the other end of the port to render the audio from a position a little ahead. Where that is
   * impossible, closes the port and reports the failure to the main thread.
   */
  handOver({ port, clock }: Pick<HandOverOptions, "port" | "clock">): void {
    const { remoteTrack, sink, onHandedOver, onFailed, onLost } = this.#options;
    const track = this.#handOver === undefined ? remoteTrack() : undefined;
    if (track === undefined) {
      port.close();
      this.#reportFailed();
      return;
    }
    const handOver = new HandOver({
      port,
      clock,
      track,
      sink,
      onLost,
      onHandedOver: () => onHandedOver(handOver.framesTooMany),
      onFailed: () => {
        onFailed();
        this.keep();
      },
    });
    this.#handOver = handOver;
  }

  /** Cancels a pending hand-over. */
  keep(): void {
    if (this.#handOver === undefined) return;
    this.#handOver.close();
    this.#handOver = undefined;
    this.#reportFailed();
  }

  /** Reports to the main thread that the player stays on this worker. */
  #reportFailed(): void {
    const { playerId, send } = this.#options;
    send({ type: "handOverFailed", playerId });
  }

  /** A hand-over has begun and is not cancelled. */
  get isHandingOver(): boolean {
    return this.#handOver !== undefined;
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
   * True: the audio is rendered elsewhere, and the command is executed there. Otherwise the audio stays here and a
   * pending hand-over is cancelled.
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
