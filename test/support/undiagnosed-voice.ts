// The diagnostics of a voice connection for tests: nothing is counted, a new session is only recorded, and sent frames
// leave at once. A test sets the send block reason that it is about.

import type { Voice } from "../../src/media/voice/voice.ts";

type Undiagnosed = Pick<
  Voice,
  "sendBlockReason" | "counters" | "rejoin" | "describe" | "revoke" | "isFull" | "isDrained" | "startsMs"
>;

export class UndiagnosedVoice implements Undiagnosed {
  sendBlockReason: Voice["sendBlockReason"] = "voiceNotReady";
  readonly counters: Voice["counters"] = undefined;
  readonly startsMs: number | undefined = undefined;
  rejoinCount = 0;

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
