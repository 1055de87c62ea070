// The songs of the control players, an hour each, made in memory without further tools: Opus in WebM and Ogg, which is
// passed through, and MP3, which is decoded, resampled and encoded. None of them has a moment of silence.

import { OpusFrameEncoder } from "../../src/media/encode/opus-encoder.ts";
import { makeTone } from "../listen/tone.ts";
import { concat, repeat } from "./bytes.ts";
import { cluster, matroskaHead, mp3Frame, oggPage, opusHead, opusTags, simpleBlock } from "./containers.ts";

const LENGTH_SECONDS = 3600;
const FRAMES_PER_SECOND = 50;
const FRAME_SAMPLES = 960;
const MP3_FRAME_SECONDS = 1152 / 44_100;

/** Files by path, for a media server. */
export async function controlSongs(): Promise<Record<string, Uint8Array>> {
  const packets = await tonePackets();
  return { "song.webm": webmSong(packets), "song.ogg": oggSong(packets), "song.mp3": mp3Song() };
}

/** A second of a tone, to be repeated. */
async function tonePackets(): Promise<readonly Uint8Array[]> {
  const encoder = await OpusFrameEncoder.create({ complexity: 5, bitrateBps: 48_000 });
  const tone = makeTone({ frequencyHz: 400, sampleRateHz: 48_000, lengthSamples: FRAME_SAMPLES, amplitude: 0.3 });
  const packets = Array.from({ length: FRAMES_PER_SECOND }, () => encoder.encode(tone, tone).slice());
  encoder.close();
  return packets;
}

function webmSong(packets: readonly Uint8Array[]): Uint8Array {
  const blocks = packets.map((packet, index) => simpleBlock(index * 20, packet));
  const head = matroskaHead(
    { codec: "A_OPUS", rateHz: 48_000, channels: 2, codecPrivate: opusHead() },
    LENGTH_SECONDS * 1000,
  );
  return concat(head, ...seconds((second) => cluster(second * 1000, blocks)));
}

function oggSong(packets: readonly Uint8Array[]): Uint8Array {
  const page = (sequence: number, granule: number, flags: number, bodies: readonly Uint8Array[]) =>
    oggPage({ serial: 1, sequence, granule, flags, packets: bodies });
  return concat(
    page(0, 0, 2, [opusHead()]),
    page(1, 0, 0, [opusTags()]),
    ...seconds((second) => page(second + 2, (second + 1) * 48_000, second === LENGTH_SECONDS - 1 ? 4 : 0, packets)),
  );
}

function mp3Song(): Uint8Array {
  return repeat(mp3Frame(), Math.floor(LENGTH_SECONDS / MP3_FRAME_SECONDS));
}

function seconds(make: (second: number) => Uint8Array): Uint8Array[] {
  return Array.from({ length: LENGTH_SECONDS }, (_, second) => make(second));
}
