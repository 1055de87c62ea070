// A node is ended and started again, as `npm run lab -- restart` does it, at its smallest: what was asked for is there
// again, every player is audible, and events come once. The control is in the same run: a client that comes
// back to the same process, and a fresh node that plays.

import { expect, test } from "vitest";
import { runMoments } from "../../../lab/restart/moments.ts";
import { runRounds } from "../../../lab/restart/rounds.ts";

const PLAYERS = 6;
const PLAYING = 5;
const SEED = 30;
const quiet = (): void => undefined;

test.each(["SIGKILL", "SIGTERM"] as const)(
  "after %s and a start the session is resumed, with every player as it was and audible",
  async (end) => {
    const result = await runRounds({ players: PLAYERS, rounds: 1, end, seed: SEED, hasDave: true, report: quiet });
    expect(result.losses).toEqual([]);
    const [round] = result.rounds;
    expect(round?.gapsMs).toHaveLength(PLAYING);
    expect(round?.control.startsMs).toHaveLength(1);
    expect(result.crowdControl.startsMs).toHaveLength(PLAYING);
  },
);

test("a client that comes back to the same process finds all that the lab expects after a restart", async () => {
  const result = await runMoments({ seed: SEED, moments: 5, kinds: ["stays"], isVerbose: false, report: quiet });
  expect(result.losses).toEqual([]);
  expect(result.checks["answered requests"]).toBeGreaterThan(20);
});

// One that had just been sent when the process ended may come a second time: `repeated`.
test("nothing that was answered is lost at ten random moments, and no other event is lost or doubled", async () => {
  const kinds = ["asking", "quiet", "away", "soon", "twice"] as const;
  const result = await runMoments({ seed: SEED, moments: 10, kinds, isVerbose: false, report: quiet });
  expect(result.losses.filter((loss) => !result.repeated.includes(loss))).toEqual([]);
  expect(result.checks.events).toBeGreaterThan(20);
});
