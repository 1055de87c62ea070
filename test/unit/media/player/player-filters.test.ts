import { expect, it } from "vitest";
import { seededRandom } from "../../../../lab/seeded-random.ts";
import { fuzzSeed } from "../../../support/fuzz-seed.ts";
import { makeSongs, RestlessPlayer } from "../../../support/restless-player.ts";

const OBJECTS = 250;
const CHECK_EVERY = 15;

/** `npm run test:fuzz` does the same with 10,000 of them. */
it("random filters objects do no harm to a player that plays, seeks, pauses and changes tracks", async () => {
  const player = await RestlessPlayer.create(seededRandom(fuzzSeed()), await makeSongs());
  for (let object = 1; object <= OBJECTS; object++) {
    await player.act();
    if (object % CHECK_EVERY === 0) await player.checkPosition();
  }
  await player.close();
  expect(player.checksByPacket + player.checksByPitch).toBeGreaterThan(0);
});
