import { expect, it } from "vitest";
import { ThreadMemory } from "../../../../src/media/quota/track-memory.ts";

const MIB = 1024 * 1024;

it("the tracks of one account leave memory of the thread to those of others", () => {
  const memory = new ThreadMemory("the audio worker", 512 * MIB);
  const tracksOf = (account: string) =>
    Array.from({ length: 200 }, (_, index) =>
      memory.createTrackMemory("the track", [account, `${account}, user ${index}`]),
    );
  const greedy = tracksOf("greedy");
  const held = greedy.slice(0, 112);
  for (const track of held) track.take(4 * MIB, "tests");
  expect(() => greedy.at(-1)?.take(4 * MIB, "tests")).toThrow("this client needs");
  const [honest] = tracksOf("honest");
  honest?.take(4 * MIB, "tests");
  // A decoder for FLAC, and what its reader has read ahead.
  honest?.take(MIB, "tests");
  expect(memory.usedBytes).toBe((113 * 4 + 1) * MIB);
  held[0]?.releaseAll();
  greedy.at(-1)?.take(4 * MIB, "tests");
});
