// Packets of one codec from test/fixtures/codec-*.json: what a demuxer would hand to a decoder.

import { readFileSync } from "node:fs";
import type { AudioCodec, AudioStream } from "../../src/media/format/packet.ts";

interface FixtureFile {
  readonly codec: AudioCodec;
  readonly sampleRateHz: number;
  readonly channelCount: number;
  readonly description: string | null;
  readonly packets: readonly string[];
}

/** Reads `test/fixtures/codec-….json`. */
export function readCodecFixture(name: string): { readonly stream: AudioStream; readonly packets: Uint8Array[] } {
  const url = new URL(`../fixtures/codec-${name}.json`, import.meta.url);
  const file = JSON.parse(readFileSync(url, "utf8")) as FixtureFile; // our own file
  const { codec, sampleRateHz, channelCount, description } = file;
  const bytes = (text: string) => new Uint8Array(Buffer.from(text, "base64"));
  return {
    stream: {
      codec,
      sampleRateHz,
      channelCount,
      description: description === null ? undefined : bytes(description),
      pcm: undefined,
    },
    packets: file.packets.map(bytes),
  };
}
