import { expect, it } from "vitest";
import { seededRandom } from "../../../../lab/seeded-random.ts";
import { fuzzSeed } from "../../../support/fuzz-seed.ts";
import { makeSongs, RestlessPlayer } from "../../../support/restless-player.ts";

const OBJECTS = 250;
/** The random objects may by chance contain no position that can be judged: then the test tries further ones. */
const OBJECTS_MAX = 8 * OBJECTS;
const CHECK_EVERY = 15;

/** test/slow/fuzz/filters.test.ts does the same with 10,000 of them. */
it("random filter objects do no harm to a player that plays, seeks, pauses and changes tracks", async () => {
  const player = await RestlessPlayer.create(seededRandom(fuzzSeed()), await makeSongs());
  const checks = (): number => player.checksByPacket + player.checksByPitch;
  for (let object = 1; object <= OBJECTS || (checks() === 0 && object <= OBJECTS_MAX); object++) {
    await player.act();
    if (object % CHECK_EVERY === 0) await player.checkPosition();
  }
  await player.close();
  expect(checks()).toBeGreaterThan(0);
});
