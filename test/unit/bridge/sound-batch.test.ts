import { expect, test } from "vitest";
import { packSounds, type SoundState, unpackSounds } from "../../../src/bridge/sound-batch.ts";

test("a batch of sound states is read as it was packed", () => {
  const states: SoundState[] = [
    { playerId: 7, framesSent: 25, mode: "passthrough", queuedMs: 960, heldBytes: 300_000, usedMs: 0 },
    { playerId: 8, framesSent: 0, mode: "opening", queuedMs: 0, heldBytes: 0, usedMs: 0.25 },
    { playerId: 9, framesSent: 24, mode: "transcoding", queuedMs: 700, heldBytes: 5, usedMs: 7 },
  ];
  expect(unpackSounds(packSounds(states))).toEqual(states);
  expect(unpackSounds([])).toEqual([]);
});
