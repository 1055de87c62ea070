import { expect, test } from "vitest";
import { noVoiceCounts, VOICE_COUNTS } from "../../../../src/bridge/voice-counts.ts";
import { countedSince, createVoiceCounters, voiceCountsOf } from "../../../../src/media/voice/voice-counters.ts";

test("only what voice counters have gained since the last report is reported, and nothing without a gain", () => {
  const counters = createVoiceCounters();
  const before = voiceCountsOf(counters);
  counters.packetsSent = 50;
  counters.daveReadyMs = 300;
  expect(countedSince(before, counters)).toBeUndefined();
  for (const [index, name] of VOICE_COUNTS.entries()) counters[name] = 10 + index;
  const between = voiceCountsOf(counters);
  counters.resumes += 2;
  expect(countedSince(between, counters)).toEqual({ ...noVoiceCounts(), resumes: 2 });
  expect(countedSince(before, between)).toEqual(between);
});

test("voice counts that cross the bridge hold exactly the declared counters, in order", () => {
  expect(Object.keys(voiceCountsOf(createVoiceCounters()))).toEqual(VOICE_COUNTS);
});
