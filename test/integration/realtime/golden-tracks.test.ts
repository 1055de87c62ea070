// The encoded tracks that a real Lavalink has made of files on the web, taken as they are, play here. Their addresses
// are led to where those files are today by a proxy.

import { afterAll, beforeAll, expect, it } from "vitest";
import type { TestEnvironment } from "../../../lab/test-environment/test-environment.ts";
import { ForwardProxy } from "../../support/forward-proxy.ts";
import { readRecorded } from "../../support/golden.ts";
import { GoldenSite } from "../../support/golden-site.ts";
import { MusicCall } from "../../support/music-call.ts";
import { startTestEnvironment } from "../../support/start-test-environment.ts";

interface RecordedTrack {
  readonly case: string;
  readonly encoded: string;
  readonly info: { readonly sourceName: string };
}

/** Segments of a moment. */
const SHORT = ["loadrange-hls4.ts", "loadrange-hls5.ts"];
const TRACKS: readonly RecordedTrack[] = readRecorded("encoded-tracks.jsonl").filter(
  ({ info }) => info.sourceName === "http",
);

let site: GoldenSite;
let proxy: ForwardProxy;
let env: TestEnvironment;

beforeAll(async () => {
  site = await GoldenSite.open();
  proxy = await ForwardProxy.start({ translate: (url) => site.translate(url) });
  env = await startTestEnvironment({
    config: {
      LAVALINK_SERVER_HTTPCONFIG_PROXYHOST: "127.0.0.1",
      LAVALINK_SERVER_HTTPCONFIG_PROXYPORT: String(proxy.port),
    },
  });
});
afterAll(async () => {
  env.discord.assertClean();
  await env.close();
  await proxy.close();
  await site.close();
});

it.concurrent.each(TRACKS)("the track of $case plays", async ({ case: name, encoded, info }) => {
  const call = await MusicCall.join(env, { daveVersion: 0 });
  await call.update({ track: { encoded } });
  await call.receiveMore(SHORT.includes(name) ? 1 : 25);
  expect(call.bot.events("TrackStartEvent")).toMatchObject([{ track: { encoded, info } }]);
  expect(call.eventTypes).not.toContain("TrackExceptionEvent");
  await call.leave();
});
