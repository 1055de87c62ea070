// What a voice connection tells of itself, for those of tests: nothing is counted, and a new session is only noted. A
// test sets the obstacle that it is about.

import type { Voice } from "../../src/media/voice/voice.ts";

export class UndiagnosedVoice implements Pick<Voice, "obstacle" | "counters" | "rejoin" | "describe"> {
  obstacle: Voice["obstacle"] = "voiceNotReady";
  readonly counters: Voice["counters"] = undefined;
  rejoinCount = 0;

  rejoin(): boolean {
    this.rejoinCount++;
    return true;
  }

  describe(): undefined {
    return undefined;
  }
}
