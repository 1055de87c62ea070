// One worker has more to do than another: players move there during playback. Listeners notice nothing, clients receive
// no events, and requests of clients are carried out as before.

import { afterEach, beforeEach, expect, it } from "vitest";
import { AudioWatch } from "../../../lab/isolation/harness/audio-watch.ts";
import { countedSong, packetNumbers } from "../../../lab/media-files/counted-song.ts";
import { controlSongs } from "../../../lab/media-files/songs.ts";
import { TEST_PASSWORD, type TestEnvironment } from "../../../lab/test-environment/test-environment.ts";
import { MusicCall } from "../../support/music-call.ts";
import { startTestEnvironment } from "../../support/start-test-environment.ts";
import { stepsBeyondTime, stepsOf } from "../../support/steps-of.ts";

const LOADED_AUDIO = new URL("../../support/worker-scripts/loaded-audio.mjs", import.meta.url);
const SONG_SECONDS = 60;
const MOVE_TIMEOUT_MS = 40_000;

let env: TestEnvironment;

beforeEach(async () => {
  env = await startTestEnvironment({
    media: { files: { "counted.ogg": countedSong({ seconds: SONG_SECONDS }), ...(await controlSongs()) } },
    mediaEntry: LOADED_AUDIO,
    config: { TONEARM_WORKERS_COUNT: "2" },
  });
});
afterEach(() => env.close());

async function movedCount(): Promise<number> {
  const answer = await fetch(`${env.url}/v4/tonearm/load`, { headers: { authorization: TEST_PASSWORD } });
  return ((await answer.json()) as { readonly moved: number }).moved;
}

/** Resolves when this many players have moved, checked with each frame that `call` receives. */
async function moved(count: number, call: MusicCall): Promise<void> {
  const givenUpMs = performance.now() + MOVE_TIMEOUT_MS;
  while ((await movedCount()) < count) {
    if (performance.now() > givenUpMs) throw new Error(`not ${count} players have moved`);
    await call.receiveMore(5);
  }
}

it("a moved player's passed-through packets all arrive, and its decoded audio has no pause", async () => {
  // The second goes to the other worker, which is the one with less to do when this one has two.
  const [passed, other, decoded] = [await MusicCall.join(env), await MusicCall.join(env), await MusicCall.join(env)];
  const watch = await AudioWatch.start(decoded.guildId, decoded.channel.listener, true);
  await passed.play("counted.ogg");
  await decoded.play("song.mp3");
  await Promise.all([passed.receiveMore(10), decoded.receiveMore(50)]);
  watch.open(performance.now());
  await moved(2, passed);
  await passed.receiveMore(50);
  const received = watch.close(performance.now());

  // Each packet once and in order. An overloaded machine may skip deadlines, and packets with them: then RTP time has
  // advanced as well.
  const numbers = packetNumbers(passed.audio);
  const steps = stepsOf(numbers);
  expect(numbers[0]).toBe(0);
  expect(Math.min(...steps)).toBe(1);
  const timestamps = passed.audio.map(({ timestamp }) => timestamp);
  expect(stepsBeyondTime(numbers, timestamps)).toEqual([]);
  expect(received.silentPackets).toBe(0);

  await passed.update({ paused: true });
  const { position } = (await passed.player()).state;
  expect(Math.abs(position - (packetNumbers(passed.audio).at(-1) ?? 0) * 20)).toBeLessThan(500);
  await passed.update({ paused: false, position: 40_000 });
  await passed.receiveMore(20);
  expect(packetNumbers(passed.audio).at(-1)).toBeGreaterThan(1990);
  await passed.play("song.webm");
  await passed.receiveMore(20);
  expect(passed.eventTypes).toEqual(["TrackStartEvent", "TrackEndEvent", "TrackStartEvent"]);
  expect(other.eventTypes).toEqual([]);
  env.discord.assertClean();
});
