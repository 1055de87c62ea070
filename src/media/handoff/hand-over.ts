// Hands a player's sound over to another audio worker, its host, without a gap: the host makes the track ready at a
// place a little ahead; when the player has come there, it is called, and from its first frame on the player is only
// its voice connection, which passes on what the host sends. Where that fails, the player plays on as before. Audio
// thread.

import type { LossCause } from "../../bridge/audio-report.ts";
import type { Clock, Timer } from "../../lib/clock.ts";
import { FRAME_MS } from "../format/audio-format.ts";
import { CATCH_UP_FRAMES_MAX } from "../scheduler/tick-loop.ts";
import type { Voice } from "../voice/voice.ts";
import type { AudioCommand, MessageToOwner, MessageToRenderer, RemoteTrack } from "./relay-messages.ts";
import type { RelayPort } from "./relay-port.ts";

/** The place is not reached in time when the sound stands still. */
const REACH_MS_MAX = 10_000;
/** The host has its first frame ready, and sends it a little before it is due. */
const ANSWER_MS_MAX = 200;
/** A frame that comes later than this is dropped, as one of our own would be. */
const LATE_MS_MAX = CATCH_UP_FRAMES_MAX * FRAME_MS;

/** What a player at home gives to have its sound made elsewhere. */
export interface HandOverOptions {
  readonly port: RelayPort<MessageToRenderer, MessageToOwner>;
  /** The player's own. */
  readonly clock: Clock;
  readonly track: RemoteTrack;
  /** The player's connection of the moment. */
  readonly voice: () => Voice | undefined;
  /**
   * The host's sound has begun to come: from now on none is made here. Returns how many frames at its beginning have
   * left from here already.
   */
  readonly onHandedOver: () => number;
  /** A frame of the host's was due and did not get out. */
  readonly onLost: (cause: LossCause) => void;
  /** The host was not ready. Not called behind `close`. */
  readonly onFailed: () => void;
}

/** One per move of a player. Waits 10 s at most for the place to be reached, and 200 ms for the host's first frame. */
export class HandOver {
  readonly #options: HandOverOptions;
  #state: "preparing" | "calling" | "handedOver" | "over" = "preparing";
  /** What the host believes of the voice connection. */
  #reportedGate: Voice["gate"] = "down";
  /** When the host's first frame is due. */
  #renderDueMs = Number.POSITIVE_INFINITY;
  #framesTooMany = 0;
  /** Of the host's first: they have been heard from here, as they came when it was too late to take ours back. */
  #framesToSkip = 0;
  #timer: Timer;

  constructor(options: HandOverOptions) {
    const { port, clock, track } = options;
    this.#options = options;
    this.#timer = clock.after(REACH_MS_MAX, () => this.#fail());
    port.listen({ onMessage: (message) => this.#onMessage(message), onClosed: () => this.#fail() });
    port.send({ type: "begin", track });
  }

  /** Where in the track the host's sound begins. */
  get startMs(): number {
    return this.#options.track.play.startMs;
  }

  /** Sound comes from the host. */
  get isHandedOver(): boolean {
    return this.#state === "handedOver";
  }

  /**
   * The player has made sound of its own up to this place, whose last frame is due at `dueMs`; `rate` is track time per
   * real time.
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

  /** Frames that the player has made for deadlines which are the host's. */
  get framesTooMany(): number {
    return this.#framesTooMany;
  }

  /** For the host to carry out, once it has taken over. */
  passOn(command: AudioCommand): void {
    this.#options.port.send({ type: "command", command });
  }

  /** The gate of the player's voice connection may be another now. */
  onGateChanged(): void {
    if (this.isHandedOver) this.#watchGate();
  }

  /** Ends it; what the host has made ready is its own to let go of, as its end of the port closes. */
  close(): void {
    this.#state = "over";
    this.#timer.cancel();
    this.#options.port.close();
  }

  #fail(): void {
    const wasHandedOver = this.isHandedOver;
    this.close();
    // A host that is lost later is the main thread's to replace.
    if (!wasHandedOver) this.#options.onFailed();
  }

  #onMessage(message: MessageToOwner): void {
    if (this.#state === "calling" && message.type === "frame") {
      this.#state = "handedOver";
      this.#timer.cancel();
      this.#framesToSkip = this.#options.onHandedOver();
    }
    if (!this.isHandedOver) return;
    const voice = this.#options.voice();
    if (message.type === "frame" && this.#framesToSkip > 0) this.#framesToSkip -= 1;
    else if (message.type === "frame") this.#onFrame(voice, message);
    else if (message.type === "silence") voice?.sendSilence(this.#dueMsOf(message));
    else voice?.stopSpeaking();
  }

  #onFrame(voice: Voice | undefined, message: Extract<MessageToOwner, { readonly type: "frame" }>): void {
    const { clock, onLost } = this.#options;
    const dueMs = this.#dueMsOf(message);
    if (voice?.gate !== "send") {
      onLost(voice?.sendBlockReason ?? "voiceNotReady");
      this.#watchGate();
    } else if (clock.now() - dueMs > LATE_MS_MAX) onLost("workerLate");
    else if (!voice.sendFrame(message.opus, dueMs)) onLost(voice.sendBlockReason);
  }

  #dueMsOf({ dueEpochMs }: { readonly dueEpochMs: number }): number {
    const { clock } = this.#options;
    return clock.now() + dueEpochMs - clock.epochMs();
  }

  /** Tells the host what the gate has become, and what it becomes until frames may come again. */
  #watchGate(): void {
    const gate = this.#options.voice()?.gate ?? "down";
    if (gate !== this.#reportedGate) this.#reportGate(gate);
    this.#timer.cancel();
    if (gate !== "send") this.#timer = this.#options.clock.after(FRAME_MS, () => this.#watchGate());
  }

  #reportGate(gate: Voice["gate"]): void {
    this.#reportedGate = gate;
    const { clock, port, voice } = this.#options;
    const isCalling = this.#state === "calling";
    const startsEpochMs = isCalling ? clock.epochMs() + this.#renderDueMs - clock.now() : undefined;
    port.send({ type: "gate", gate, sendBlockReason: voice()?.sendBlockReason ?? "voiceNotReady", startsEpochMs });
  }
}
