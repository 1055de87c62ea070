// Ten thousand random filters objects on a whole player with real decoders and encoders, at random times, while it also
// seeks, pauses and changes tracks. test/support/restless-player.ts checks the invariants at every tick; here also
// memory. To repeat a run: FUZZ_SEED=… npx vitest run test/slow/fuzz

import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, test } from "vitest";
import { seededRandom } from "../../../lab/seeded-random.ts";
import { fuzzSeed } from "../../support/fuzz-seed.ts";
import { makeSongs, RestlessPlayer } from "../../support/restless-player.ts";

const OBJECTS = 10_000;
const CHECK_EVERY = 40;
/** Number of memory samples in each half. */
const MEMORY_SAMPLES = 5;
const GROWTH_BYTES_MAX = 4 * 1024 * 1024;

test("10,000 random filters objects: no crash, no NaN, no frame lost, no drift, no leak", async () => {
  setFlagsFromString("--expose-gc");
  const collectGarbage: () => void = runInNewContext("gc");
  const player = await RestlessPlayer.create(seededRandom(fuzzSeed()), await makeSongs());
  const memoryBytes: number[] = [];
  for (let object = 1; object <= OBJECTS; object++) {
    await player.act();
    if (object % CHECK_EVERY === 0) await player.checkPosition();
    if (object % (OBJECTS / 2 / MEMORY_SAMPLES) !== 0) continue;
    // A decoder alone can hold 16 MB: all are to be closed when memory is measured.
    await player.rest();
    // WebAssembly memories and the like are freed an event loop iteration later.
    for (let round = 0; round < 3; round++) {
      collectGarbage();
      await new Promise((next) => setImmediate(next));
    }
    const { heapUsed, external } = process.memoryUsage();
    memoryBytes.push(heapUsed + external);
  }
  await player.close();
  const { checksByPacket, checksByPitch, endedTracks } = player;
  console.log({ checksByPacket, checksByPitch, endedTracks }, memoryBytes);
  expect(checksByPacket).toBeGreaterThan(20);
  expect(checksByPitch).toBeGreaterThan(20);
  const [first, second] = [memoryBytes.slice(0, MEMORY_SAMPLES), memoryBytes.slice(MEMORY_SAMPLES)];
  expect(Math.min(...second) - Math.min(...first)).toBeLessThan(GROWTH_BYTES_MAX);
});
