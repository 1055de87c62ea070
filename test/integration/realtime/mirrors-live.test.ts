// Mirrors on a whole node: tracks of a source without audio play from SoundCloud, as the listener hears it.

import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, it } from "vitest";
import { numbersFrom, packetNumbers } from "../../../lab/media-files/counted-song.ts";
import {
  listTranscodings,
  SOUNDCLOUD_LABEL_TRANSCODINGS,
  SOUNDCLOUD_TRANSCODINGS,
  SoundCloudSite,
} from "../../../lab/sites/soundcloud.ts";
import type { TestEnvironment } from "../../../lab/test-environment/test-environment.ts";
import { createLogger } from "../../../src/log/log.ts";
import { MusicCall } from "../../support/music-call.ts";
import { startSiteTestEnvironment } from "../../support/site-test-environment.ts";

const ARTIST = { kind: "user", id: 2, username: "Artist", permalink_url: "https://soundcloud.com/artist" };
const SONG = { title: "Artist Number One", full_duration: 213_000, user: ARTIST };

let soundcloud: SoundCloudSite;
let env: TestEnvironment;
const lines: string[] = [];

beforeAll(async () => {
  soundcloud = await SoundCloudSite.start();
  const { mp3Progressive } = SOUNDCLOUD_TRANSCODINGS;
  const label = listTranscodings(41, SOUNDCLOUD_LABEL_TRANSCODINGS);
  const snipped = listTranscodings(42, [{ ...mp3Progressive, snipped: true }]);
  soundcloud.addTrack(40, "live", { ...SONG, title: "Artist Number One (Live)" });
  soundcloud.addTrack(41, "label", { ...SONG, media: { transcodings: label } });
  soundcloud.addTrack(42, "part", { ...SONG, policy: "SNIP", media: { transcodings: snipped } });
  soundcloud.addTrack(43, "first", SONG);
  soundcloud.addTrack(44, "second", SONG);
  const args = [
    `--tonearm.plugins.0.path=${fileURLToPath(new URL("../../support/charts-plugin.mjs", import.meta.url))}`,
    "--tonearm.plugins.0.required=true",
    "--plugins.lavasrc.providers=dzisrc:%ISRC%,scsearch:%QUERY%",
    "--metrics.prometheus.enabled=true",
    "--metrics.prometheus.endpoint=/inner/metrics",
  ];
  env = await startSiteTestEnvironment([soundcloud], args, {
    logger: createLogger((level, message) => void lines.push(`${level} ${message}`)),
  });
});
afterAll(async () => {
  env.discord.assertClean();
  await env.close();
  await soundcloud.close();
});

it("the log says from where the tracks of a source without audio are played", () => {
  expect(lines).toContain("info charts: mirrored to scsearch");
  expect(lines).toContainEqual(expect.stringMatching(/^warn plugins\.lavasrc\.providers: dzisrc:%ISRC% is skipped: /));
});

it("what is protected or a part is passed over, and a mirror that breaks off is followed by the next", async () => {
  const call = await MusicCall.join(env, { daveVersion: 0 });
  await call.update({ track: { identifier: "charts:Number One" } });
  await call.receiveMore(50);
  const mirror = async () => {
    const { pluginInfo } = (await call.player()).track as { pluginInfo?: { mirror?: Record<string, unknown> } };
    return pluginInfo?.mirror;
  };
  expect((await call.player()).track).toMatchObject({ info: { sourceName: "charts", identifier: "Number One" } });
  expect(await mirror()).toMatchObject({ sourceName: "soundcloud", identifier: expect.stringContaining("43") });
  const repair = soundcloud.server.fail({ at: /tracks:43\/|\/tracks\/43/, outcome: { status: 404, json: {} } });
  soundcloud.server.expireLinks();
  await expect.poll(mirror, { timeout: 40_000 }).toMatchObject({ identifier: expect.stringContaining("44") });
  const heard = call.audio.length;
  await call.discord.until(() => call.audio.length > heard + 100, "audio of the next mirror", 30_000);
  const numbers = packetNumbers(call.audio);
  expect(numbers.slice(0, 50)).toEqual(numbersFrom(0, 50));
  // It continues within a few frames of where it broke off.
  expect(numbers.filter((number, index) => Math.abs(number - index) > 10)).toEqual([]);
  expect(call.eventTypes).toEqual(["TrackStartEvent"]);
  const { body } = await call.bot.request<string>("GET", "/inner/metrics");
  expect(body).toContain('tonearm_mirrors_total{from="charts",to="soundcloud"} 1\n');
  repair();
  await call.leave();
});

it("a song that nobody has ends with where it was looked for", async () => {
  const call = await MusicCall.join(env, { daveVersion: 0 });
  await call.update({ track: { identifier: "charts:Number Nine" } });
  expect(await call.bot.untilEvent("TrackExceptionEvent")).toMatchObject({
    exception: {
      message: "No mirror found for track. The same recording was looked for elsewhere (scsearch) and not found.",
      severity: "common",
    },
  });
  expect(await call.ended()).toMatchObject({ reason: "loadFailed" });
  await call.leave();
});
