import { expect, test } from "vitest";
import { VOICE_COUNTS } from "../../../../src/bridge/audio-metrics.ts";
import { createVoiceCounters, moveIncrease, noVoiceCounts } from "../../../../src/media/voice/voice-counters.ts";

test("a voice connection's counts are added to the player's once, each of them", () => {
  const counters = createVoiceCounters();
  const [before, sum] = [noVoiceCounts(), noVoiceCounts()];
  for (const [index, name] of VOICE_COUNTS.entries()) counters[name] = 10 + index;
  counters.packetsSent = 50;
  counters.daveReadyMs = 300;
  moveIncrease(counters, before, sum);
  expect({ ...sum, daveReadyMs: 300 }).toEqual(counters);
  counters.resumes += 2;
  counters.packetsSent -= 3;
  moveIncrease(counters, before, sum);
  moveIncrease(counters, before, sum);
  expect({ ...sum, daveReadyMs: 300 }).toEqual(counters);
});
