// The shortest whole path: WebM-Opus from a web server reaches a listener in an encrypted call, packet for packet.

import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Stage } from "../../lab/stage/stage.ts";
import { openDemuxer } from "../../src/media/demux/open-demuxer.ts";
import { MemoryByteSource } from "../support/memory-byte-source.ts";
import { startStage } from "../support/start-stage.ts";

const MEDIA = new URL("../fixtures/media/", import.meta.url);
let stage: Stage;

async function packetsOf(file: string): Promise<Buffer[]> {
  const demuxer = await openDemuxer(new MemoryByteSource(readFileSync(new URL(file, MEDIA))), {});
  const packets: Buffer[] = [];
  for (let packet = await demuxer.next(); packet !== undefined; packet = await demuxer.next()) {
    packets.push(Buffer.from(packet.data));
  }
  demuxer.close();
  return packets;
}

beforeAll(async () => {
  stage = await startStage({ media: { root: MEDIA.pathname } });
});
afterAll(() => stage.close());

describe.each(["chord.webm", "chord.opus"])("%s", (file) => {
  it.each([
    ["aead_xchacha20_poly1305_rtpsize", 1],
    ["aead_aes256_gcm_rtpsize", 0],
  ] as const)("is heard bit for bit over %s with DAVE version %i", async (_mode, daveVersion) => {
    const bot = await stage.connectBot();
    const guildId = String(Math.floor(performance.now() * 1000));
    const channelId = `${guildId}7`;
    await stage.joinVoice(bot, { guildId, daveVersion });
    const encoded = await bot.loadEncoded(`${stage.media.url}/${file}`);
    await bot.update(guildId, { track: { encoded } });
    const end = await bot.untilEvent("TrackEndEvent");
    expect(end["reason"]).toBe("finished");

    const expected = await packetsOf(file);
    const { listener } = stage.discord.channel(channelId);
    const sound = listener.heardSound;
    expect(sound.map((frame) => frame.opus.toString("base64"))).toEqual(expected.map((data) => data.toString("base64")));
    expect(sound.every((frame) => frame.daveDecrypted === (daveVersion === 1))).toBe(true);
    await bot.destroy(guildId);
    stage.discord.assertClean();
  });
});
