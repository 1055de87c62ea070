// A plugin with a separate proxy on a whole node: its requests to its site, and the audio of its tracks, go through
// that proxy; nothing else does.

import { afterAll, beforeAll, expect, it } from "vitest";
import { RadioBrowserSite, stationUuid } from "../../../lab/sites/radio-browser.ts";
import { SoundCloudSite } from "../../../lab/sites/soundcloud.ts";
import type { TestEnvironment } from "../../../lab/test-environment/test-environment.ts";
import { firstFound } from "../../support/first-found.ts";
import { ForwardProxy } from "../../support/forward-proxy.ts";
import { MusicCall } from "../../support/music-call.ts";
import { startSiteTestEnvironment } from "../../support/site-test-environment.ts";

const LOGIN = "me:word";

let soundcloud: SoundCloudSite;
let radio: RadioBrowserSite;
let env: TestEnvironment;
let proxy: ForwardProxy;

beforeAll(async () => {
  [soundcloud, radio] = [await SoundCloudSite.start(), await RadioBrowserSite.start()];
  // To this machine only.
  const translate = (url: string) => (new URL(url).hostname === "127.0.0.1" ? url : undefined);
  proxy = await ForwardProxy.start({ login: LOGIN, translate });
  const proxyUrl = `http://${LOGIN}@127.0.0.1:${proxy.port}`;
  env = await startSiteTestEnvironment([soundcloud, radio], [`--plugins.soundcloud.proxy=${proxyUrl}`]);
});
afterAll(async () => {
  env.discord.assertClean();
  await env.close();
  await soundcloud.close();
  await radio.close();
  await proxy.close();
});

async function play(identifier: string): Promise<void> {
  const call = await MusicCall.join(env, { daveVersion: 0 });
  await call.update({ track: { encoded: (await firstFound(call.bot, identifier)).encoded } });
  await call.receiveMore(50);
  await call.leave();
}

it("a plugin's requests and its tracks' audio, HLS or a file, go through its proxy", async () => {
  await play("https://soundcloud.com/stand-ins/song");
  await play("https://soundcloud.com/stand-ins/only-mp3");
  expect(soundcloud.server.requests.length).toBeGreaterThan(5);
  expect(proxy.asked).toHaveLength(soundcloud.server.requests.length);
  expect(proxy.asked.some((url) => /opus\/data\d/.test(url))).toBe(true);
  expect(proxy.asked.some((url) => /\.mp3\b/.test(url))).toBe(true);
});

it("other plugins and their tracks go past it", async () => {
  const before = proxy.asked.length;
  await play(`radio:${stationUuid(1)}`);
  expect(radio.server.requests.length).toBeGreaterThan(1);
  expect(proxy.asked).toHaveLength(before);
});
