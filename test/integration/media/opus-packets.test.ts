// Opus that needs no change goes out as it is: the packets a listener gets are those ffprobe finds in the file, in
// every container; frames of other lengths and of one channel come out of it as the same frames.

import { createHash } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { TestEnvironment } from "../../../lab/test-environment/test-environment.ts";
import { parseOpusPacket } from "../../../src/media/opus/opus-packet.ts";
import { decodeSongFile, makeSongFile, packetHashes, readPackets } from "../../support/song-files.ts";
import { SongListener } from "../../support/song-listener.ts";
import { judgeSong } from "../../support/song-verdict.ts";
import { startTestEnvironment } from "../../support/start-test-environment.ts";

const LENGTH_MS = 3000;
const FRAME_MS = 20;
const PRE_SKIP_MS = 6.5;
const FILES = ["opus.webm", "live.webm", "opus.mkv", "opus.mp4", "opus.ogg", "mono.opus", "low.opus"] as const;
const REGROUPED = [2.5, 5, 10, 40, 60, 100] as const;
const ENCODE: Readonly<Record<string, string>> = {
  "live.webm": "-live 1 -b:a 128k",
  "mono.opus": "-ac 1 -b:a 64k",
  "low.opus": "-b:a 24k -application voip",
};

let env: TestEnvironment;
let listener: SongListener;
const folder = mkdtempSync(join(tmpdir(), "tonearm-opus-"));

beforeAll(async () => {
  env = await startTestEnvironment({ media: { root: `${folder}/` } });
  listener = await SongListener.join(env);
  const make = (file: string, encode: string) =>
    makeSongFile({
      folder,
      file,
      encode: `-c:a libopus ${encode}`.split(" "),
      lengthMs: LENGTH_MS,
      sampleRateHz: 48_000,
    });
  for (const file of FILES) await make(file, ENCODE[file] ?? "-b:a 128k");
  for (const frameMs of REGROUPED) await make(`${frameMs}.opus`, `-b:a 128k -frame_duration ${frameMs}`);
  await make("speech.opus", "-b:a 32k -application voip -frame_duration 60");
  const link = (name: string) => readFileSync(join(folder, name));
  writeFileSync(join(folder, "chained.opus"), Buffer.concat([link("opus.ogg"), link("mono.opus")]));
}, 300_000);

afterAll(async () => {
  await env?.close();
  rmSync(folder, { recursive: true, force: true });
});

function hashOf(packet: Uint8Array): string {
  return `sha256:${createHash("sha256").update(packet).digest("hex")}`;
}

/** The Opus frames within packets, however they are grouped. */
function framesOf(packets: readonly Uint8Array[]): string[] {
  return packets.flatMap((packet) => parseOpusPacket(packet)?.frames.map(hashOf) ?? ["damaged"]);
}

describe.concurrent("bit for bit", () => {
  test.each(FILES)("the packets of %s", async (file) => {
    const { packets } = await listener.record(`${env.media.url}/${file}`, { daveVersion: 1 });
    expect(packets.map(hashOf)).toEqual(await packetHashes(folder, file));
  });

  test.each(REGROUPED)("the frames of packets of %f ms, in packets of 20 ms", async (packetMs) => {
    const sent = framesOf(await readPackets(folder, `${packetMs}.opus`));
    const { packets } = await listener.record(`${env.media.url}/${packetMs}.opus`);
    const received = framesOf(packets);
    expect(received).toEqual(sent.slice(0, received.length));
    // Whole packets of padding are left out, and less than 20 ms at the end cannot be a packet.
    expect(packets.length * FRAME_MS).toBeGreaterThan(LENGTH_MS + PRE_SKIP_MS - FRAME_MS);
    expect(packets.length * FRAME_MS).toBeLessThan(LENGTH_MS + PRE_SKIP_MS + FRAME_MS);
  });

  test("both links of a chained file", async () => {
    const { packets } = await listener.record(`${env.media.url}/chained.opus`);
    const links = await Promise.all(["opus.ogg", "mono.opus"].map((file) => packetHashes(folder, file)));
    expect(packets.map(hashOf)).toEqual(links.flat());
  });
});

test("frames of 60 ms, which Discord does not accept, are transcoded without a gap", async () => {
  const { audio } = await listener.record(`${env.media.url}/speech.opus`);
  const verdict = judgeSong(await decodeSongFile(folder, "speech.opus"), audio);
  // At 32 kbit/s there is noise in the file, and noise is what a second encoder keeps worst.
  expect(verdict.signalToNoiseDb).toBeGreaterThan(20);
  // It starts with packets that can be passed through, including the encoder's delay, and the transcoded part follows
  // them.
  expect(Math.abs(verdict.delayMs)).toBeLessThan(PRE_SKIP_MS + 0.5);
  expect(verdict).toMatchObject({ gapCount: 0, clickCount: 0 });
});
