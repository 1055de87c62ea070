// Packets of real files, one file for each codec, for benchmarks of decoders. Lab only.

import { existsSync, readFileSync } from "node:fs";
import type { AudioStream } from "../../src/media/format/packet.ts";

/** From the compiled file: beside it in the package `@tonearm/lab` (copy-build.mjs), or those of the checkout's tests. */
const FOLDERS = ["./", "../../../test/fixtures/"];

interface CodecPackets {
  readonly stream: AudioStream;
  readonly packets: readonly Uint8Array[];
}

/** The stream and packets that a demuxer hands to the decoder of `codec`. Throws when there is no file for it. */
export function readCodecPackets(codec: string): CodecPackets {
  const candidates = FOLDERS.map((folder) => new URL(`${folder}codec-${codec}.json`, import.meta.url));
  const found = candidates.find((url) => existsSync(url));
  if (found === undefined) throw new Error(`there are no packets of ${codec}`);
  // Our own file.
  const file = JSON.parse(readFileSync(found, "utf8"));
  const bytes = (text: string) => new Uint8Array(Buffer.from(text, "base64"));
  return {
    stream: { ...file, description: file.description ? bytes(file.description) : undefined },
    packets: file.packets.map(bytes),
  };
}
