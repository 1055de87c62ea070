// Songs as files, made and read by ffmpeg in the suite `media`: encoded in every variant, decoded as a second opinion.

import { execFile } from "node:child_process";
import { promisify } from "node:util";
import type { StereoAudio } from "../../lab/listen/received.ts";
import { songExpression } from "./song-signal.ts";

const OUTPUT_BYTES_MAX = 512 * 1024 * 1024;
const OUTPUT_RATE_HZ = 48_000;

interface SongFileOptions {
  readonly folder: string;
  readonly file: string;
  /** Codec, container and metadata arguments. */
  readonly encode: readonly string[];
  readonly lengthMs: number;
  /** Default 44100. */
  readonly sampleRateHz?: number;
  /** ffmpeg's name of a channel layout; default stereo. */
  readonly layout?: string;
}

/** Channels of ffmpeg's layouts, in ffmpeg's output order whatever the codec. */
const LAYOUTS: Readonly<Record<string, readonly string[]>> = {
  mono: ["FC"],
  stereo: ["FL", "FR"],
  "2.1": ["FL", "FR", "LFE"],
  "3.0": ["FL", "FR", "FC"],
  "3.1": ["FL", "FR", "FC", "LFE"],
  quad: ["FL", "FR", "BL", "BR"],
  "4.0": ["FL", "FR", "FC", "BC"],
  "4.1": ["FL", "FR", "FC", "LFE", "BC"],
  "5.0": ["FL", "FR", "FC", "BL", "BR"],
  "5.1": ["FL", "FR", "FC", "LFE", "BL", "BR"],
  "5.1(side)": ["FL", "FR", "FC", "LFE", "SL", "SR"],
  "6.1": ["FL", "FR", "FC", "LFE", "BC", "SL", "SR"],
  "7.1": ["FL", "FR", "FC", "LFE", "BL", "BR", "SL", "SR"],
  "7.1(wide)": ["FL", "FR", "FC", "LFE", "BL", "BR", "FLC", "FRC"],
};

/** Runs ffmpeg in a folder; returns what it writes to its output. */
export async function runFfmpeg(folder: string, args: readonly string[]): Promise<Buffer> {
  return run("ffmpeg", folder, ["-v", "error", "-nostdin", "-y", ...args]);
}

/** Writes the song to a file. */
export async function makeSongFile(options: SongFileOptions): Promise<void> {
  const { folder, file, encode, lengthMs, sampleRateHz = 44_100, layout = "stereo" } = options;
  const expression = songExpression(channelsOf(layout).length, lengthMs);
  const source = `aevalsrc='${expression}':c=${layout}:s=${sampleRateHz}:d=${lengthMs / 1000}`;
  await runFfmpeg(folder, ["-f", "lavfi", "-i", source, ...encode, file]);
}

/**
 * A file as ffmpeg decodes it: 48 kHz stereo; more channels are mixed by ITU-R BS.775 and scaled so that nothing clips.
 * `madeAs` is the layout of the song where ffmpeg does not know that of the file: it keeps the order all the same.
 */
export async function decodeSongFile(folder: string, file: string, madeAs?: string): Promise<StereoAudio> {
  const probe = ["-v", "error", "-select_streams", "a:0", "-show_entries", "stream=channels,channel_layout"];
  const answer = JSON.parse((await run("ffprobe", folder, [...probe, "-of", "json", file])).toString());
  const { channels, channel_layout: layout } = answer.streams[0];
  const resample = ["-af", `aresample=${OUTPUT_RATE_HZ}:resampler=soxr:precision=28`];
  const bytes = await runFfmpeg(folder, ["-i", file, "-map", "0:a:0", ...resample, "-f", "f32le", "-"]);
  const samples = new Float32Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength));
  return mixToStereo(
    samples,
    channels === 1 ? "mono" : channels === 2 ? "stereo" : (knownLayout(layout) ?? madeAs ?? layout),
  );
}

/** The packets of the file's audio as ffprobe sees them, each as `SHA256:…` of its bytes. */
export async function packetHashes(folder: string, file: string): Promise<string[]> {
  const args = ["-v", "error", "-select_streams", "a:0", "-show_packets", "-show_data_hash", "sha256"];
  const answer = JSON.parse((await run("ffprobe", folder, [...args, "-of", "json", file])).toString());
  return answer.packets.map((packet: { readonly data_hash: string }) => packet.data_hash.toLowerCase());
}

/** The packets of the file's audio themselves, from ffprobe's hexadecimal dump. */
export async function readPackets(folder: string, file: string): Promise<Uint8Array[]> {
  const args = ["-v", "error", "-select_streams", "a:0", "-show_packets", "-show_data"];
  const answer = JSON.parse((await run("ffprobe", folder, [...args, "-of", "json", file])).toString());
  return answer.packets.map(({ data }: { readonly data: string }) => {
    // Lines of `00000010: 0011 2233 …  text`, 16 bytes each.
    const lines = data.split("\n").filter((line) => line !== "");
    return Buffer.from(lines.map((line) => line.slice(10, 50).replaceAll(" ", "")).join(""), "hex");
  });
}

async function run(program: string, folder: string, args: readonly string[]): Promise<Buffer> {
  const options = { cwd: folder, encoding: "buffer", maxBuffer: OUTPUT_BYTES_MAX } as const;
  const { stdout } = await promisify(execFile)(program, args, options);
  return stdout;
}

function knownLayout(layout: string | undefined): string | undefined {
  return layout !== undefined && layout in LAYOUTS ? layout : undefined;
}

function channelsOf(layout: string): readonly string[] {
  const channels = LAYOUTS[layout];
  if (channels === undefined) throw new Error(`channel layout ${layout} is not in the table of the tests`);
  return channels;
}

function mixToStereo(interleaved: Float32Array, layout: string): StereoAudio {
  const speakers = channelsOf(layout);
  const mix = (side: "L" | "R") => {
    const shares = speakers.map((speaker) => shareOf(speaker, side));
    const sum = shares.reduce((total, share) => total + share, 0);
    return Float32Array.from({ length: interleaved.length / speakers.length }, (_, sample) =>
      shares.reduce((total, share, index) => total + (share / sum) * interleaved[sample * speakers.length + index]!, 0),
    );
  };
  return { left: mix("L"), right: mix("R") };
}

/** ITU-R BS.775-3 annex 4. */
function shareOf(speaker: string, side: "L" | "R"): number {
  if (speaker === "LFE") return 0;
  if (speaker === "BC") return 0.5;
  if (speaker === "FC") return Math.SQRT1_2;
  if (speaker[1] !== side) return 0;
  return speaker.startsWith("F") ? 1 : Math.SQRT1_2;
}
