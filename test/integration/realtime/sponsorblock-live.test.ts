// Segments and lyrics on a whole node: the listener hears a sponsor left out of a video, and the client is told of it
// and of each line of the lyrics.

import { afterAll, beforeAll, expect, it } from "vitest";
import { packetNumbers } from "../../../lab/media-files/counted-song.ts";
import { LrclibSite, lrclibEntry } from "../../../lab/sites/lrclib.ts";
import { SponsorBlockSite, sponsorEntry } from "../../../lab/sites/sponsorblock.ts";
import { YoutubeSite } from "../../../lab/sites/youtube.ts";
import type { TestEnvironment } from "../../../lab/test-environment/test-environment.ts";
import { firstFound } from "../../support/first-found.ts";
import { MusicCall } from "../../support/music-call.ts";
import { startSiteTestEnvironment } from "../../support/site-test-environment.ts";

const VIDEO = "song0000001";
/** Seconds, long after the segments are loaded. */
const SPONSOR = [4, 8.5] as const;
/** Up to the end of the video. */
const OUTRO = [12, 213] as const;
const PACKETS_PER_SECOND = 50;
/** 40 ms. */
const PACKETS_OFF_MAX = 2;
const LINES = "[00:03.00] before the sponsor\n[00:06.00] within\n[00:09.00] behind";

let youtube: YoutubeSite;
let sponsorblock: SponsorBlockSite;
let lrclib: LrclibSite;
let env: TestEnvironment;

beforeAll(async () => {
  youtube = await YoutubeSite.start();
  sponsorblock = await SponsorBlockSite.start();
  lrclib = await LrclibSite.start();
  sponsorblock.setVideo(VIDEO, [
    sponsorEntry({ segment: SPONSOR }),
    sponsorEntry({ segment: [0, 2], category: "intro" }),
    sponsorEntry({ segment: OUTRO, category: "outro" }),
  ]);
  lrclib.entries.push(
    lrclibEntry(5, { trackName: "First song", artistName: "Artist", duration: 213, syncedLyrics: LINES }),
  );
  env = await startSiteTestEnvironment(
    [youtube],
    [`--plugins.sponsorblock.server=${sponsorblock.url}`, `--plugins.lrclib.server=${lrclib.url}`],
  );
});
afterAll(async () => {
  env.discord.assertClean();
  await env.close();
  for (const site of [youtube, sponsorblock, lrclib]) await site.close();
});

it("a listener does not hear a sponsor, within 40 ms, and the client is told of it and of the lines that are heard", async () => {
  const call = await MusicCall.join(env, { daveVersion: 0 });
  const path = `/v4/sessions/${call.bot.sessionId}/players/${call.guildId}`;
  const ask = async (method: string, rest: string, body?: object) => {
    const answer = await call.bot.request<{ message?: string }>(method, `${path}${rest}`, body);
    return [answer.status, answer.body?.message ?? answer.body];
  };
  expect(await ask("GET", "/sponsorblock/categories")).toEqual([404, "Guild not found"]);
  expect((await ask("PUT", "/sponsorblock/categories", ["sponsor"]))[0]).toBe(200);
  expect(await ask("GET", "/sponsorblock/categories")).toEqual([200, ["sponsor"]]);
  expect((await ask("PUT", "/sponsorblock/categories", ["adverts"]))[0]).toBe(400);
  expect((await ask("POST", "/lyrics/subscribe"))[0]).toBe(204);

  const { encoded } = await firstFound(call.bot, VIDEO);
  await call.update({ track: { encoded } });
  const segment = { category: "sponsor", start: SPONSOR[0] * 1000, end: SPONSOR[1] * 1000 };
  expect(await call.bot.untilEvent("SegmentsLoaded")).toMatchObject({ guildId: call.guildId, segments: [segment] });
  await call.receiveMore((SPONSOR[0] + 1.5) * PACKETS_PER_SECOND);
  expect(await call.bot.untilEvent("SegmentSkipped")).toMatchObject({ segment });

  const numbers = packetNumbers(call.audio);
  const jump = numbers.findIndex((number, index) => index > 0 && number > (numbers[index - 1] ?? 0) + 10);
  expect(Math.abs((numbers[jump - 1] ?? 0) + 1 - SPONSOR[0] * PACKETS_PER_SECOND)).toBeLessThanOrEqual(PACKETS_OFF_MAX);
  expect(Math.abs((numbers[jump] ?? 0) - SPONSOR[1] * PACKETS_PER_SECOND)).toBeLessThanOrEqual(PACKETS_OFF_MAX);
  const steps = numbers.slice(1).map((number, index) => number - (numbers[index] ?? 0));
  expect(steps.filter((step) => step !== 1)).toHaveLength(1);

  const lines = () => call.bot.events("LyricsLineEvent").map(({ lineIndex, skipped }) => [lineIndex, skipped]);
  await expect.poll(lines).toHaveLength(3);
  expect(call.bot.events("LyricsFoundEvent")).toHaveLength(1);
  expect(lines()).toEqual([
    [0, false],
    [1, true],
    [2, false],
  ]);
  expect((await ask("DELETE", "/sponsorblock/categories"))[0]).toBe(200);
  expect((await ask("DELETE", "/lyrics/subscribe"))[0]).toBe(204);
  await call.leave();
});

it("a sponsor is left out at 1.25 times the speed, too, and the end time stays", async () => {
  const call = await MusicCall.join(env, { daveVersion: 0 });
  await call.bot.request("PUT", `/v4/sessions/${call.bot.sessionId}/players/${call.guildId}/sponsorblock/categories`, [
    "sponsor",
  ]);
  const { encoded } = await firstFound(call.bot, VIDEO);
  const [rate, endTime] = [1.25, 10_000];
  await call.update({ track: { encoded }, endTime, filters: { timescale: { speed: rate } } });
  expect(await call.ended()).toMatchObject({ reason: "finished" });
  await call.untilSilent();
  expect(call.eventTypes).toEqual(["TrackStartEvent", "SegmentsLoaded", "SegmentSkipped", "TrackEndEvent"]);
  const heardMs = endTime - (SPONSOR[1] - SPONSOR[0]) * 1000;
  const frameCount = ((heardMs / 1000) * PACKETS_PER_SECOND) / rate;
  expect(Math.abs(call.audio.length - frameCount)).toBeLessThanOrEqual(PACKETS_OFF_MAX);
  await call.leave();
});

it("an intro at the start is skipped, and an outro up to the end ends the track", async () => {
  const call = await MusicCall.join(env, { daveVersion: 0 });
  const path = `/v4/sessions/${call.bot.sessionId}/players/${call.guildId}/sponsorblock/categories`;
  await call.bot.request("PUT", path, ["intro", "outro"]);
  const { encoded } = await firstFound(call.bot, VIDEO);
  await call.update({ track: { encoded } });
  expect(await call.ended()).toMatchObject({ reason: "finished" });
  await call.untilSilent();
  const skipped = call.bot.events("SegmentSkipped").map(({ segment }) => (segment as { category: string }).category);
  expect(skipped).toEqual(["intro", "outro"]);
  const last = packetNumbers(call.audio).at(-1) ?? 0;
  expect(Math.abs(last + 1 - OUTRO[0] * PACKETS_PER_SECOND)).toBeLessThanOrEqual(PACKETS_OFF_MAX);
  await call.leave();
});

it("routes below players say what is not there as Lavalink's plugins do", async () => {
  const bot = await env.connectBot();
  const ask = async (method: string, path: string, body?: object) => {
    const answer = await bot.request<{ message?: string }>(method, path, body);
    return [answer.status, answer.body?.message];
  };
  const [own, gone] = [`/v4/sessions/${bot.sessionId}/players/7`, "/v4/sessions/gone/players/7"];
  expect(await ask("GET", `${gone}/sponsorblock/categories`)).toEqual([404, "Session not found"]);
  expect((await ask("DELETE", `${gone}/sponsorblock/categories`))[0]).toBe(200);
  expect(await ask("GET", `${own}/sponsorblock/categories`)).toEqual([404, "Guild not found"]);
  expect(await ask("POST", `${own}/lyrics/subscribe`)).toEqual([404, "Player not found"]);
  expect((await ask("POST", `${gone}/lyrics/subscribe`))[0]).toBe(204);
  const { body } = await bot.request<{ plugins: { name: string }[] }>("GET", "/v4/info");
  expect(body.plugins.map(({ name }) => name)).toEqual(
    expect.arrayContaining(["sponsorblock-plugin", "lavalyrics-plugin"]),
  );
});
