// The shortest whole path: Opus from a web server reaches a listener in an encrypted call, packet for packet.

import { afterAll, beforeAll, expect, it } from "vitest";
import type { TestEnvironment } from "../../../lab/test-environment/test-environment.ts";
import { MusicCall } from "../../support/music-call.ts";
import { packetsOf, SONGS } from "../../support/song.ts";
import { startTestEnvironment } from "../../support/start-test-environment.ts";

const MODES = ["aead_xchacha20_poly1305_rtpsize", "aead_aes256_gcm_rtpsize"] as const;
const SONG_FILES = ["chord.webm", "chord.opus"] as const;
const DAVE_VERSIONS = [1, 0] as const;

const environments = new Map<string, TestEnvironment>();
beforeAll(async () => {
  for (const mode of MODES) {
    environments.set(mode, await startTestEnvironment({ media: { root: SONGS.pathname }, discord: { modes: [mode] } }));
  }
});
afterAll(async () => {
  for (const env of environments.values()) await env.close();
});

it.concurrent.each(
  MODES.flatMap((mode) => SONG_FILES.flatMap((file) => DAVE_VERSIONS.map((version) => [mode, file, version] as const))),
)("over %s, %s arrives bit for bit with DAVE version %i", async (mode, file, daveVersion) => {
  const call = await MusicCall.join(environments.get(mode)!, { daveVersion }); // made above
  await call.play(file);
  expect(await call.ended()).toMatchObject({ reason: "finished" });
  await call.untilSilent();
  expect(call.receivedBy()).toEqual(await packetsOf(file));
  expect(call.audio.every((frame) => frame.daveDecrypted === (daveVersion === 1))).toBe(true);
  expect(call.session.receiver.mode).toBe(mode);
  await call.leave();
});

it("nothing reached Discord that it would refuse", () => {
  for (const env of environments.values()) env.discord.assertClean();
});
