import { expect, test } from "vitest";
import { type AudioState, packAudioStates, unpackAudioStates } from "../../../src/bridge/audio-batch.ts";

test("a batch of audio states is unpacked as it was packed", () => {
  const states: AudioState[] = [
    { playerId: 7, framesSent: 25, mode: "passthrough", queuedMs: 960, heldBytes: 300_000, usedMs: 0 },
    { playerId: 8, framesSent: 0, mode: "opening", queuedMs: 0, heldBytes: 0, usedMs: 0.25 },
    { playerId: 9, framesSent: 24, mode: "transcoding", queuedMs: 700, heldBytes: 5, usedMs: 7 },
  ];
  expect(unpackAudioStates(packAudioStates(states))).toEqual(states);
  expect(unpackAudioStates([])).toEqual([]);
});
