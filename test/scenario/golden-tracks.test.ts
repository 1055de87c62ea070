// The encoded tracks that a real Lavalink has made of files on the web, taken as they are, play here. Their addresses
// are led to where those files are today by a proxy.

import { createServer, request, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { Stage } from "../../lab/stage/stage.ts";
import { readRecorded } from "../support/golden.ts";
import { GoldenSite } from "../support/golden-site.ts";
import { MusicCall } from "../support/music-call.ts";
import { startStage } from "../support/start-stage.ts";

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
let proxy: Server;
let stage: Stage;

beforeAll(async () => {
  site = await GoldenSite.open();
  proxy = createServer((incoming, response) => {
    const { method, headers, url = "" } = incoming;
    const outgoing = request(site.translate(url), { method, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    });
    outgoing.on("error", () => response.destroy());
    outgoing.end();
  });
  await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
  stage = await startStage({
    config: {
      LAVALINK_SERVER_HTTPCONFIG_PROXYHOST: "127.0.0.1",
      LAVALINK_SERVER_HTTPCONFIG_PROXYPORT: String((proxy.address() as AddressInfo).port), // it listens on TCP
    },
  });
});
afterAll(async () => {
  stage.discord.assertClean();
  await stage.close();
  proxy.closeAllConnections();
  await new Promise((resolve) => proxy.close(resolve));
  await site.close();
});

it.concurrent.each(TRACKS)("the track of $case is heard", async ({ case: name, encoded, info }) => {
  const call = await MusicCall.join(stage, { daveVersion: 0 });
  await call.update({ track: { encoded } });
  await call.hearMore(SHORT.includes(name) ? 1 : 25);
  expect(call.bot.events("TrackStartEvent")).toMatchObject([{ track: { encoded, info } }]);
  expect(call.eventTypes).not.toContain("TrackExceptionEvent");
  await call.leave();
});
