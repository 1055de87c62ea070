// A worker has more to do than another: players' sound moves there while they play. Listeners notice nothing, clients
// are told nothing, and what clients ask for is carried out as before.

import { afterEach, beforeEach, expect, it } from "vitest";
import { AudioWatch } from "../../../lab/isolation/harness/audio-watch.ts";
import { countedSong, packetNumbers } from "../../../lab/media-files/counted-song.ts";
import { controlSongs } from "../../../lab/media-files/songs.ts";
import type { TestEnvironment } from "../../../lab/test-environment/test-environment.ts";
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
  const answer = await fetch(`${env.url}/v4/tonearm/load`, { headers: { authorization: "stage password" } });
  return ((await answer.json()) as { readonly moved: number }).moved;
}

/** Resolves when so many players have moved, looked at with each frame that `call` hears. */
async function moved(count: number, call: MusicCall): Promise<void> {
  const givenUpMs = performance.now() + MOVE_TIMEOUT_MS;
  while ((await movedCount()) < count) {
    if (performance.now() > givenUpMs) throw new Error(`not ${count} players have moved`);
    await call.receiveMore(5);
  }
}

it("what is passed through is heard packet for packet, what is decoded without a pause", async () => {
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

  // Each packet once and in order. A machine that has no time for this may leave out deadlines, and packets with them:
  // then RTP time has gone on as well.
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
