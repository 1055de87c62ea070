// The shortest whole path: Opus from a web server reaches a listener in an encrypted call, packet for packet.

import { afterAll, beforeAll, expect, it } from "vitest";
import type { Stage } from "../../../lab/stage/stage.ts";
import { MusicCall } from "../../support/music-call.ts";
import { packetsOf, SONGS } from "../../support/song.ts";
import { startStage } from "../../support/start-stage.ts";

const MODES = ["aead_xchacha20_poly1305_rtpsize", "aead_aes256_gcm_rtpsize"] as const;
const SONG_FILES = ["chord.webm", "chord.opus"] as const;
const DAVE_VERSIONS = [1, 0] as const;

const stages = new Map<string, Stage>();
beforeAll(async () => {
  for (const mode of MODES) {
    stages.set(mode, await startStage({ media: { root: SONGS.pathname }, discord: { modes: [mode] } }));
  }
});
afterAll(async () => {
  for (const stage of stages.values()) await stage.close();
});

it.concurrent.each(
  MODES.flatMap((mode) => SONG_FILES.flatMap((file) => DAVE_VERSIONS.map((version) => [mode, file, version] as const))),
)("over %s, %s is heard bit for bit with DAVE version %i", async (mode, file, daveVersion) => {
  const call = await MusicCall.join(stages.get(mode)!, { daveVersion }); // made above
  await call.play(file);
  expect(await call.ended()).toMatchObject({ reason: "finished" });
  await call.untilSilent();
  expect(call.heardBy()).toEqual(await packetsOf(file));
  expect(call.sound.every((frame) => frame.daveDecrypted === (daveVersion === 1))).toBe(true);
  expect(call.session.receiver.mode).toBe(mode);
  await call.leave();
});

it("nothing reached Discord that it would refuse", () => {
  for (const stage of stages.values()) stage.discord.assertClean();
});
