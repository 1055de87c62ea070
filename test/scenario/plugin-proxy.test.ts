// A plugin with a proxy of its own on a whole node: what it asks its site, and the sound of its tracks, goes through
// that; nothing else does.

import { createServer, request as sendRequest } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, expect, it } from "vitest";
import { RadioBrowserSite, stationUuid } from "../../lab/sites/radio-browser.ts";
import { SoundCloudSite } from "../../lab/sites/soundcloud.ts";
import type { Stage } from "../../lab/stage/stage.ts";
import { firstFound } from "../support/first-found.ts";
import { MusicCall } from "../support/music-call.ts";
import { startSiteStage } from "../support/site-stage.ts";

const LOGIN = "me:word";

let soundcloud: SoundCloudSite;
let radio: RadioBrowserSite;
let stage: Stage;
/** Addresses that the proxy was asked for by who knew its password, in order. */
const asked: string[] = [];

/** Passes on what is asked of it over plain HTTP, to this machine only. */
const proxy = createServer((incoming, response) => {
  const url = new URL(incoming.url ?? "");
  const isKnown = incoming.headers["proxy-authorization"] === `Basic ${Buffer.from(LOGIN).toString("base64")}`;
  if (!isKnown || url.hostname !== "127.0.0.1") return void response.writeHead(407).end();
  asked.push(url.href);
  const { method, headers } = incoming;
  const outgoing = sendRequest(url, { method, headers }, (answer) => {
    response.writeHead(answer.statusCode ?? 502, answer.headers);
    answer.pipe(response);
  });
  outgoing.on("error", () => response.destroy());
  response.on("close", () => outgoing.destroy());
  incoming.pipe(outgoing);
});

beforeAll(async () => {
  [soundcloud, radio] = [await SoundCloudSite.start(), await RadioBrowserSite.start()];
  await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
  const { port } = proxy.address() as AddressInfo; // listens on TCP
  stage = await startSiteStage([soundcloud, radio], [`--plugins.soundcloud.proxy=http://${LOGIN}@127.0.0.1:${port}`]);
});
afterAll(async () => {
  stage.discord.assertClean();
  await stage.close();
  await soundcloud.close();
  await radio.close();
  proxy.close();
});

async function hear(identifier: string): Promise<void> {
  const call = await MusicCall.join(stage, { daveVersion: 0 });
  await call.update({ track: { encoded: (await firstFound(call.bot, identifier)).encoded } });
  await call.hearMore(50);
  await call.leave();
}

it("its requests and its tracks' sound, a playlist of segments or a file, go through it", async () => {
  await hear("https://soundcloud.com/stand-ins/song");
  await hear("https://soundcloud.com/stand-ins/only-mp3");
  expect(soundcloud.server.requests.length).toBeGreaterThan(5);
  expect(asked).toHaveLength(soundcloud.server.requests.length);
  expect(asked.some((url) => /opus\/data\d/.test(url))).toBe(true);
  expect(asked.some((url) => /\.mp3\b/.test(url))).toBe(true);
});

it("other plugins and their tracks go past it", async () => {
  const before = asked.length;
  await hear(`radio:${stationUuid(1)}`);
  expect(radio.server.requests.length).toBeGreaterThan(1);
  expect(asked).toHaveLength(before);
});
