// The voice of a remote player, whose connection is on another audio worker, its owner worker: frames that the player
// sends go there. The render worker's end of hand-over.ts. Audio thread.

import type { Clock } from "../../lib/clock.ts";
import type { FrameSink, SendBlockReason, VoiceGate } from "../voice/frame-sink.ts";
import type { Voice } from "../voice/voice.ts";
import type { AudioCommand, MessageToOwner, MessageToRenderer, RemoteTrack } from "./relay-messages.ts";
import type { RelayPort } from "./relay-port.ts";

/** The remote player. */
interface RemotePlayer {
  begin(track: RemoteTrack): void;
  /** `gate` has changed. */
  onGateChanged(): void;
  execute(command: AudioCommand): void;
}

/** Sends without waiting for an answer: the owner worker drops what arrives too late. One per remote player. */
export class RelayedVoice implements Voice, FrameSink {
  readonly sink = this;
  /** As reported by the owner worker. Nothing may be sent before its first message. */
  gate: VoiceGate = "down";
  sendBlockReason: SendBlockReason = "voiceNotReady";
  /** The owner worker reports them. */
  readonly counters = undefined;
  startsMs: number | undefined;
  readonly #port: RelayPort<MessageToOwner, MessageToRenderer>;
  readonly #clock: Clock;

  constructor(port: RelayPort<MessageToOwner, MessageToRenderer>, clock: Clock) {
    this.#port = port;
    this.#clock = clock;
  }

  /** Starts listening to the owner worker. */
  attach(player: RemotePlayer): void {
    const setGate = (gate: VoiceGate) => {
      this.gate = gate;
      player.onGateChanged();
    };
    this.#port.listen({
      onMessage: (message) => {
        if (message.type === "begin") player.begin(message.track);
        else if (message.type === "gate") {
          this.sendBlockReason = message.sendBlockReason;
          const { startsEpochMs } = message;
          this.startsMs = startsEpochMs && this.#clock.now() + startsEpochMs - this.#clock.epochMs();
          setGate(message.gate);
        } else player.execute(message.command);
      },
      // The main thread reassigns the player.
      onClosed: () => setGate("down"),
    });
  }

  /** No-op: the owner worker connects it. */
  connect(): Promise<void> {
    return Promise.resolve();
  }

  sendFrame(opus: Uint8Array, dueMs: number): boolean {
    // A copy: the frame may be a piece of something much larger, which would be sent as a whole.
    this.#port.send({ type: "frame", opus: new Uint8Array(opus), dueEpochMs: this.#epochOf(dueMs) });
    return true;
  }

  sendSilence(dueMs: number): void {
    this.#port.send({ type: "silence", dueEpochMs: this.#epochOf(dueMs) });
  }

  stopSpeaking(): void {
    this.#port.send({ type: "stopSpeaking" });
  }

  /** Frames on their way are played: a remote player is never far ahead. */
  revoke(): number {
    return 0;
  }

  readonly isFull = false;
  /** Always true: nothing further can be waited for on this side. */
  readonly isDrained = true;

  /** No-op: done by the owner worker. */
  rejoin(): boolean {
    return false;
  }

  describe(): undefined {
    return undefined;
  }

  close(): void {
    this.#port.close();
  }

  /** The two threads have different clocks. */
  #epochOf(dueMs: number): number {
    return this.#clock.epochMs() + dueMs - this.#clock.now();
  }
}
