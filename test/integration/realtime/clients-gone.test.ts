// A client that vanishes during playback: without resuming all of its players end at once; with resuming the music
// continues, and the client that returns receives the missed events, in order.

import { afterAll, beforeAll, expect, it } from "vitest";
import type { Bot } from "../../../lab/test-environment/bot.ts";
import type { TestEnvironment } from "../../../lab/test-environment/test-environment.ts";
import { MusicCall } from "../../support/music-call.ts";
import { packetsOf, SONGS } from "../../support/song.ts";
import { startTestEnvironment } from "../../support/start-test-environment.ts";

const SONG = "chord.webm";
let env: TestEnvironment;

beforeAll(async () => {
  env = await startTestEnvironment({ media: { root: SONGS.pathname } });
});
afterAll(() => env.close());

/** In a call, with the song playing. */
async function startPlaying(options: object = {}): Promise<MusicCall> {
  const call = await MusicCall.join(env);
  await call.play(SONG, options);
  await call.receiveMore(10);
  return call;
}

function allowResuming(bot: Bot, timeoutS: number) {
  return bot.request("PATCH", `/v4/sessions/${bot.sessionId}`, { resuming: true, timeout: timeoutS });
}

async function statusOfSession(sessionId: string): Promise<number> {
  const other = await env.connectBot();
  return (await other.request("GET", `/v4/sessions/${sessionId}/players`)).status;
}

it.concurrent.each(["terminate", "close"] as const)(
  "without resuming, a socket that ends by %s ends the client's players and voice connections",
  async (how) => {
    const call = await startPlaying();
    call.bot[how]();
    await call.discord.until(() => !call.session.isConnected, "the end of voice");
    const connection = call.discord.connections.find(({ guildId }) => guildId === call.guildId);
    expect(connection).toMatchObject({ closedBy: "client", closeCode: 1000 });
    expect(await statusOfSession(call.bot.sessionId)).toBe(404);
    expect(call.audio.length).toBeLessThan((await packetsOf(SONG)).length);
  },
);

it.concurrent("with resuming, the music continues and the client that returns receives the track's end", async () => {
  const call = await startPlaying({ endTime: 2000 });
  await allowResuming(call.bot, 60);
  call.bot.terminate();
  await call.discord.until(() => call.session.speaking === 0, "the end of the song");
  await call.untilSilent();
  const song = await packetsOf(SONG);
  expect(call.receivedBy()).toEqual(song.slice(0, 101));

  const { sessionId } = call.bot;
  const back = await env.connectBot({ sessionId });
  await back.until(({ op }) => op === "playerUpdate", "an update");
  const received = back.messages.filter(({ op }) => op !== "stats").map(({ op, type }) => type ?? op);
  expect(received).toEqual(["ready", "TrackEndEvent", "playerUpdate"]);
  expect(back.messages[0]).toMatchObject({ op: "ready", resumed: true, sessionId });
  await expect(back.untilEvent("TrackEndEvent")).resolves.toMatchObject({ reason: "finished", guildId: call.guildId });
  // The voice connection has stayed: the next song needs no new one.
  await back.update(call.guildId, { track: { identifier: `${env.media.url}/${SONG}` } });
  await call.receiveMore(10);
  expect(call.session.identifyCount).toBe(1);
  await back.destroy(call.guildId);
});

it.concurrent("with resuming, a client that does not come back in time loses its players", async () => {
  const call = await startPlaying();
  await allowResuming(call.bot, 1);
  call.bot.terminate();
  await call.receiveMore(1);
  await call.discord.until(() => !call.session.isConnected, "the end of voice");
  expect(await statusOfSession(call.bot.sessionId)).toBe(404);
});

it("nothing reached Discord that it would refuse", () => env.discord.assertClean());
