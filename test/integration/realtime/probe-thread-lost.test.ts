// An input that harms the probe thread causes an error only for the client that sent it: other probes are answered, and
// music plays on without a missing packet.

import { readFileSync } from "node:fs";
import { afterAll, beforeAll, expect, it } from "vitest";
import { plainPlan } from "../../../lab/media-server/answer-plan.ts";
import { FRAME_MS, packetsOf, packetText, SONGS } from "../../support/song.ts";
import { UpstreamTestEnvironment } from "../../support/upstream-test-environment.ts";

const FRAGILE_PROBE = new URL("../../support/worker-scripts/fragile-probe.mjs", import.meta.url);
/** A thread that hangs is given up before. */
const END_MS = 4000;

let upstream: UpstreamTestEnvironment;

beforeAll(async () => {
  upstream = await UpstreamTestEnvironment.start({ root: SONGS.pathname, probeEntry: FRAGILE_PROBE });
});
afterAll(() => upstream.close());

/** A song whose server sends nothing until the returned function is called. */
function slowSong(path: string): () => void {
  const song = readFileSync(new URL("chord.mp3", SONGS));
  let release = (): void => undefined;
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  async function* body(): AsyncGenerator<Uint8Array> {
    await released;
    yield song;
  }
  upstream.answer(path, () => ({ ...plainPlan(song, "audio/mpeg"), framing: "chunked", body: body() }));
  return release;
}

it.each([
  ["hang", /^probing the track crashed the probe thread twice/],
  ["exit", /^probing the track crashed the probe thread twice/],
  ["fill-heap", /^probing the track crashed the probe thread twice/],
  ["throw", /^an unexpected error inside the node$/],
])("a link that makes the probe thread %s fails only its own probe", async (deed, message) => {
  const guild = await upstream.enterGuild();
  await guild.play(await upstream.load(`chord.webm?for=${deed}`), { endTime: END_MS });
  await guild.receives(25);
  const slow = `chord.mp3?slow=${deed}`;
  const release = slowSong(slow);
  const control = upstream.bot.load(upstream.url(slow));
  await expect.poll(() => upstream.requests(slow).length).toBe(1);
  const { body } = await upstream.bot.load(upstream.url(`chord.mp3?deed=${deed}`));
  expect(body).toMatchObject({
    loadType: "error",
    data: { message: expect.stringMatching(message), severity: "fault" },
  });
  release();
  expect((await control).body).toMatchObject({ loadType: "track", data: { info: { title: "Chord" } } });

  expect(await guild.ended()).toBe("finished");
  await guild.untilSilent();
  expect(guild.audio.map(({ opus }) => packetText(opus))).toEqual(
    (await packetsOf("chord.webm")).slice(0, END_MS / FRAME_MS + 1),
  );
});
