// The only audio worker dies: all players continue on the next one, and clients receive nothing but updates. In virtual
// time; worker-lost.test.ts has a real one die.

import { afterEach, beforeEach, expect, it } from "vitest";
import type { TestEnvironment } from "../../../lab/test-environment/test-environment.ts";
import { MusicCall } from "../../support/music-call.ts";
import { FRAME_MS, packetsOf, positionsIn, SONGS } from "../../support/song.ts";
import { stepsOf } from "../../support/steps-of.ts";
import { narrating, VirtualTestEnvironment } from "../../support/virtual-test-environment.ts";

/** A worker starts within 300 ms; then voice is connected again. */
const GAP_MS_MAX = 1000;

let virtual: VirtualTestEnvironment;
let env: TestEnvironment;
const narrated = narrating(() => virtual);

beforeEach(async () => {
  virtual = await VirtualTestEnvironment.start({
    media: { root: SONGS.pathname },
    config: { TONEARM_WORKERS_COUNT: "1", LAVALINK_SERVER_PLAYER_UPDATE_INTERVAL: "1" },
  });
  env = virtual.env;
});
afterEach(() => virtual.close());

/** By deed: a hanging worker is given up first. */
const GAPS_MS_MAX = { dies: GAP_MS_MAX, hangs: 1500 };

/** The worker of the player dies suddenly. */
function loseWorker(): void {
  virtual.threads.audio[0]?.end(1);
}

function largestGapMs(call: MusicCall): number {
  const arrivalsMs = call.audio.map(({ arrivalMs }) => arrivalMs);
  return Math.max(...stepsOf(arrivalsMs));
}

it(
  "passed through, changed, paused and idle players are as they were",
  narrated(async () => {
    const [passed, changed, paused, idle] = await Promise.all([
      MusicCall.join(env),
      MusicCall.join(env, { daveVersion: 0 }),
      MusicCall.join(env),
      MusicCall.join(env),
    ]);
    await passed.play("chord.webm");
    await changed.play("chord.mp3", { volume: 50 });
    await paused.play("chord.webm", { paused: true, position: 3000, volume: 80 });
    await Promise.all([passed.receiveMore(50), changed.receiveMore(50)]);

    await idle.play("chord.webm", { paused: true });
    await idle.update({ track: { encoded: null } });
    loseWorker();

    for (const call of [passed, changed]) {
      expect(await call.ended()).toMatchObject({ reason: "finished" });
      expect(largestGapMs(call)).toBeLessThan(GAP_MS_MAX);
    }
    const song = await packetsOf("chord.webm");
    const jumps = positionsIn(song, passed.receivedBy()).flatMap(
      (songPosition, index, songPositions) => songPosition - (songPositions[index - 1] ?? -1),
    );
    expect(jumps.filter((jump) => jump !== 1).length).toBeLessThanOrEqual(1);
    expect(passed.receivedBy().at(-1)).toBe(song.at(-1));
    // At most a second twice or not at all.
    expect(Math.abs(changed.audio.length - 300)).toBeLessThanOrEqual(50);
    expect(await changed.player()).toMatchObject({ volume: 50, state: { connected: true } });

    expect(await paused.player()).toMatchObject({
      paused: true,
      volume: 80,
      state: { position: 3000, connected: true },
    });
    expect(paused.audio).toEqual([]);
    await paused.update({ paused: false });
    expect(await paused.ended()).toMatchObject({ reason: "finished" });
    expect(paused.audio.length).toBeGreaterThanOrEqual(149);

    for (const call of [passed, changed, paused]) {
      expect(call.eventTypes).toEqual(["TrackStartEvent", "TrackEndEvent"]);
    }
    await idle.play("chord.webm");
    await idle.receiveMore(5);
    env.discord.assertClean();
  }),
);

it(
  "a position never decreases by more than a second, and updates continue",
  narrated(async () => {
    const call = await MusicCall.join(env);
    await call.play("chord.webm");
    await call.receiveMore(75);
    loseWorker();
    await call.ended();
    const positions = call.bot.messages
      .filter(({ op }) => op === "playerUpdate")
      .map(({ state }) => (state as { position: number }).position);
    const steps = positions.slice(1, -1).map((position, index) => position - (positions[index] ?? 0));
    expect(Math.min(...steps)).toBeGreaterThanOrEqual(-1000);
    expect(positions.length).toBeGreaterThanOrEqual(6);
  }),
);

it.each(["dies", "hangs"] as const)(
  "the player of a worker that %s continues soon, close to its position",
  narrated(async (deed) => {
    const call = await MusicCall.join(env);
    await call.play("chord.webm");
    await call.receiveMore(50);
    if (deed === "dies") loseWorker();
    else virtual.threads.audio[0]?.hold();
    expect(await call.ended()).toMatchObject({ reason: "finished" });
    expect(largestGapMs(call)).toBeLessThan(GAPS_MS_MAX[deed]);
    const jumps = stepsOf(positionsIn(await packetsOf("chord.webm"), call.receivedBy())).filter((jump) => jump !== 1);
    expect(jumps.length).toBeLessThanOrEqual(1);
    expect(Math.abs((jumps[0] ?? 1) - 1) * FRAME_MS).toBeLessThanOrEqual(1000);
    env.discord.assertClean();
  }),
);
