// The parts of a voice connection that most tests do not look at: nothing is counted, a new session is only noted, and
// frames have left as soon as they are sent. A test sets the send block reason that it is about.

import type { FrameSink, SendBlockReason, VoiceGate } from "../../src/media/voice/frame-sink.ts";
import type { Voice } from "../../src/media/voice/voice.ts";

export abstract class UndiagnosedVoice implements Voice, FrameSink {
  readonly sink: FrameSink = this;
  sendBlockReason: SendBlockReason = "voiceNotReady";
  readonly counters: Voice["counters"] = undefined;
  readonly startsMs: number | undefined = undefined;
  rejoinCount = 0;

  abstract readonly gate: VoiceGate;
  abstract connect(): Promise<void>;
  abstract sendFrame(opus: Uint8Array, dueMs: number): boolean;
  abstract sendSilence(dueMs: number): void;
  abstract stopSpeaking(): void;
  abstract close(): void;

  get isFull(): boolean {
    return false;
  }

  get isDrained(): boolean {
    return true;
  }

  revoke(_countMax: number): number {
    return 0;
  }

  rejoin(): boolean {
    this.rejoinCount++;
    return true;
  }

  describe(): undefined {
    return undefined;
  }
}
