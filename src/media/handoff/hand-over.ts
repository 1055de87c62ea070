// Hands the rendering of a player's audio over to another audio worker, the render worker, without a gap. The render
// worker prepares the track at a position a little ahead. When the player reaches that position, it signals the render
// worker, and from the first remote frame on the player is only a voice connection that forwards frames. If this fails,
// the player continues as before. Audio thread.

import type { LossCause } from "../../bridge/audio-report.ts";
import type { Clock, Timer } from "../../lib/clock.ts";
import { FRAME_MS } from "../format/audio-format.ts";
import { CATCH_UP_FRAMES_MAX } from "../scheduler/tick-loop.ts";
import type { FrameSink, VoiceGate } from "../voice/frame-sink.ts";
import type { AudioCommand, MessageToOwner, MessageToRenderer, RemoteTrack } from "./relay-messages.ts";
import type { RelayPort } from "./relay-port.ts";

/** The position is not reached in time when the audio stalls. */
const REACH_MS_MAX = 10_000;
/** The render worker has its first frame ready, and sends it a little before it is due. */
const ANSWER_MS_MAX = 200;
/** A frame that arrives later than this is dropped, as a local one would be. */
const LATE_MS_MAX = CATCH_UP_FRAMES_MAX * FRAME_MS;

/** What the owner worker's player passes in to have its audio rendered elsewhere. */
export interface HandOverOptions {
  readonly port: RelayPort<MessageToRenderer, MessageToOwner>;
  /** The player's clock. */
  readonly clock: Clock;
  readonly track: RemoteTrack;
  /** Where the player's frames go now. */
  readonly sink: () => FrameSink;
  /**
   * Audio from the render worker has started: from now on none is made here. Returns how many of its first frames have
   * already been sent from here.
   */
  readonly onHandedOver: () => number;
  /** A frame of the render worker was due and could not be sent. */
  readonly onLost: (cause: LossCause) => void;
  /** The render worker was not ready. Not called after `close`. */
  readonly onFailed: () => void;
}

/**
 * One per move of a player. Waits at most 10 s for the position to be reached, and 200 ms for the first remote frame.
 */
export class HandOver {
  readonly #options: HandOverOptions;
  #state: "preparing" | "calling" | "handedOver" | "over" = "preparing";
  /** The gate of the voice connection, as last reported to the render worker. */
  #reportedGate: VoiceGate = "down";
  /** Deadline of the first remote frame. */
  #renderDueMs = Number.POSITIVE_INFINITY;
  #framesTooMany = 0;
  /**
   * How many of the first remote frames to skip: they were played from here, because it was too late to revoke the
   * local ones when they arrived.
   */
  #framesToSkip = 0;
  #timer: Timer;

  constructor(options: HandOverOptions) {
    const { port, clock, track } = options;
    this.#options = options;
    this.#timer = clock.after(REACH_MS_MAX, () => this.#fail());
    port.listen({ onMessage: (message) => this.#onMessage(message), onClosed: () => this.#fail() });
    port.send({ type: "begin", track });
  }

  /** Track time at which the remote audio begins, milliseconds. */
  get startMs(): number {
    return this.#options.track.play.startMs;
  }

  /** True once audio comes from the render worker. */
  get isHandedOver(): boolean {
    return this.#state === "handedOver";
  }

  /**
   * The player has rendered audio up to `untilMs` of track time. Its last frame is due at `dueMs`; `rate` is track time
   * per real time.
   */
  onSent(untilMs: number, { rate, dueMs }: { readonly rate: number; readonly dueMs: number }): void {
    if (dueMs >= this.#renderDueMs) this.#framesTooMany += 1;
    if (this.#state !== "preparing" || untilMs < this.startMs - (FRAME_MS * rate) / 2) return;
    this.#state = "calling";
    this.#renderDueMs = dueMs + FRAME_MS;
    this.#timer.cancel();
    this.#timer = this.#options.clock.after(this.#renderDueMs - this.#options.clock.now() + ANSWER_MS_MAX, () =>
      this.#fail(),
    );
    this.#reportGate("send");
  }

  /** Frames that the player has made for deadlines of remote frames. */
  get framesTooMany(): number {
    return this.#framesTooMany;
  }

  /** Forwards a command, which the render worker executes once it has taken over. */
  passOn(command: AudioCommand): void {
    this.#options.port.send({ type: "command", command });
  }

  /** The gate of the player's voice connection may have changed. */
  onGateChanged(): void {
    if (this.isHandedOver) this.#watchGate();
  }

  /** Ends the hand-over. The render worker releases what it has prepared when its end of the port closes. */
  close(): void {
    this.#state = "over";
    this.#timer.cancel();
    this.#options.port.close();
  }

  #fail(): void {
    const wasHandedOver = this.isHandedOver;
    this.close();
    // The main thread replaces a render worker that is lost later.
    if (!wasHandedOver) this.#options.onFailed();
  }

  #onMessage(message: MessageToOwner): void {
    if (this.#state === "calling" && message.type === "frame") {
      this.#state = "handedOver";
      this.#timer.cancel();
      this.#framesToSkip = this.#options.onHandedOver();
    }
    if (!this.isHandedOver) return;
    const sink = this.#options.sink();
    if (message.type === "frame" && this.#framesToSkip > 0) this.#framesToSkip -= 1;
    else if (message.type === "frame") this.#onFrame(sink, message);
    else if (message.type === "silence") sink.sendSilence(this.#dueMsOf(message));
    else {
      sink.stopSpeaking();
      // Without a gateway audio may continue, but not begin again.
      this.#watchGate();
    }
  }

  #onFrame(sink: FrameSink, message: Extract<MessageToOwner, { readonly type: "frame" }>): void {
    const { clock, onLost } = this.#options;
    const dueMs = this.#dueMsOf(message);
    if (sink.gate !== "send") {
      onLost(sink.sendBlockReason);
      this.#watchGate();
    } else if (clock.now() - dueMs > LATE_MS_MAX) onLost("workerLate");
    else if (!sink.sendFrame(message.opus, dueMs)) onLost(sink.sendBlockReason);
  }

  #dueMsOf({ dueEpochMs }: { readonly dueEpochMs: number }): number {
    const { clock } = this.#options;
    return clock.now() + dueEpochMs - clock.epochMs();
  }

  /** Reports the gate to the render worker, now and on each change until frames may come again. */
  #watchGate(): void {
    const { gate } = this.#options.sink();
    if (gate !== this.#reportedGate) this.#reportGate(gate);
    this.#timer.cancel();
    if (gate !== "send") this.#timer = this.#options.clock.after(FRAME_MS, () => this.#watchGate());
  }

  #reportGate(gate: VoiceGate): void {
    this.#reportedGate = gate;
    const { clock, port, sink } = this.#options;
    const isCalling = this.#state === "calling";
    const startsEpochMs = isCalling ? clock.epochMs() + this.#renderDueMs - clock.now() : undefined;
    port.send({ type: "gate", gate, sendBlockReason: sink().sendBlockReason, startsEpochMs });
  }
}
