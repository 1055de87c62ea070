// The voice of a player whose connection is on another audio worker, its home: what the player sends goes there. The
// host's end of hand-over.ts. Audio thread.

import type { Clock } from "../../lib/clock.ts";
import type { SendBlockReason, Voice } from "../voice/voice.ts";
import type { AudioCommand, MessageToOwner, MessageToRenderer, RemoteTrack } from "./relay-messages.ts";
import type { RelayPort } from "./relay-port.ts";

/** The player that is a guest here. */
interface RemotePlayer {
  begin(track: RemoteTrack): void;
  /** `gate` is another now. */
  onGateChanged(): void;
  execute(command: AudioCommand): void;
}

/** Sends without an answer: what home could not pass on in time it drops itself. One per guest. */
export class RelayedVoice implements Voice {
  /** As its home has told it; nothing may be sent before it has called. */
  gate: Voice["gate"] = "down";
  sendBlockReason: SendBlockReason = "voiceNotReady";
  /** The home reports them. */
  readonly counters = undefined;
  startsMs: number | undefined;
  readonly #port: RelayPort<MessageToOwner, MessageToRenderer>;
  readonly #clock: Clock;

  constructor(port: RelayPort<MessageToOwner, MessageToRenderer>, clock: Clock) {
    this.#port = port;
    this.#clock = clock;
  }

  /** From now on its home is listened to. */
  attach(player: RemotePlayer): void {
    const setGate = (gate: Voice["gate"]) => {
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
      // The main thread gives the player another place.
      onClosed: () => setGate("down"),
    });
  }

  /** The home connects it. */
  connect(): Promise<void> {
    return Promise.resolve();
  }

  sendFrame(opus: Uint8Array, dueMs: number): boolean {
    // A copy: the frame may be a piece of something much larger, which would be sent as a whole.
    this.#port.send({ type: "frame", opus: new Uint8Array(opus), dueEpochMs: this.#epochOf(dueMs) });
    return true;
  }

  sendSilence(dueMs: number): boolean {
    this.#port.send({ type: "silence", dueEpochMs: this.#epochOf(dueMs) });
    return true;
  }

  stopSpeaking(): void {
    this.#port.send({ type: "stopSpeaking" });
  }

  /** What is on its way is heard: a guest is never far ahead. */
  revoke(): number {
    return 0;
  }

  readonly isFull = false;
  /** Whoever waits for the last frame has waited as long as it takes. */
  readonly isDrained = true;

  /** The home's to do. */
  rejoin(): boolean {
    return false;
  }

  describe(): undefined {
    return undefined;
  }

  close(): void {
    this.#port.close();
  }

  /** Each thread has a clock of its own. */
  #epochOf(dueMs: number): number {
    return this.#clock.epochMs() + dueMs - this.#clock.now();
  }
}
