// The shortest whole path: Opus from a web server reaches a listener in an encrypted call, packet for packet.

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Stage } from "../../lab/stage/stage.ts";
import { MusicCall } from "../support/music-call.ts";
import { packetsOf, SONGS } from "../support/song.ts";
import { startStage } from "../support/start-stage.ts";

describe.each(["aead_xchacha20_poly1305_rtpsize", "aead_aes256_gcm_rtpsize"] as const)("over %s", (mode) => {
  let stage: Stage;
  beforeAll(async () => {
    stage = await startStage({ media: { root: SONGS.pathname }, discord: { modes: [mode] } });
  });
  afterAll(() => stage.close());

  it.concurrent.each([
    ["chord.webm", 1],
    ["chord.webm", 0],
    ["chord.opus", 1],
    ["chord.opus", 0],
  ] as const)("%s is heard bit for bit with DAVE version %i", async (file, daveVersion) => {
    const call = await MusicCall.join(stage, { daveVersion });
    await call.play(file);
    expect(await call.ended()).toMatchObject({ reason: "finished" });
    expect(call.heardBy()).toEqual(await packetsOf(file));
    expect(call.sound.every((frame) => frame.daveDecrypted === (daveVersion === 1))).toBe(true);
    expect(call.session.receiver.mode).toBe(mode);
    await call.leave();
  });

  it("nothing reached Discord that it would refuse", () => stage.discord.assertClean());
});
