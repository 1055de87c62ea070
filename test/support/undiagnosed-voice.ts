// What a voice connection tells of itself, for those of tests: nothing is counted, and a new session is only noted;
// what is sent has left at once. A test sets the obstacle that it is about.

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
