// ffmpeg for the ring `media`: makes files in every variant, and decodes them as a second opinion.

import { execFile } from "node:child_process";
import { promisify } from "node:util";

const OUTPUT_BYTES_MAX = 64 * 1024 * 1024;

/** Two seconds of sound with an unmistakable place in time: a tone on each side under a rising one. */
const SIGNAL =
  "aevalsrc=0.25*sin(2*PI*440*t)+0.15*sin(2*PI*(300*t+400*t*t))|0.25*sin(2*PI*660*t)+0.15*sin(2*PI*(300*t+400*t*t))";

export interface MakeOptions {
  readonly folder: string;
  readonly file: string;
  /** Codec and container arguments. */
  readonly encode: readonly string[];
  readonly sampleRateHz: number;
  readonly channelCount: number;
}

/** Writes the test sound to a file. */
export async function makeSound(options: MakeOptions): Promise<void> {
  const { folder, file, encode, sampleRateHz, channelCount } = options;
  const input = ["-f", "lavfi", "-i", `${SIGNAL}:s=${sampleRateHz}:d=2`, "-ac", String(channelCount)];
  await promisify(execFile)("ffmpeg", ["-v", "error", "-nostdin", "-y", ...input, ...encode, file], { cwd: folder });
}

/** What ffmpeg makes of the file: the left (or only) channel at 48 kHz. */
export async function decodeLeft(folder: string, file: string): Promise<Float32Array> {
  const output = ["-af", "pan=mono|c0=c0", "-ar", "48000", "-f", "f32le", "-"];
  const { stdout } = await promisify(execFile)("ffmpeg", ["-v", "error", "-nostdin", "-i", file, ...output], {
    cwd: folder,
    encoding: "buffer",
    maxBuffer: OUTPUT_BYTES_MAX,
  });
  return new Float32Array(stdout.buffer.slice(stdout.byteOffset, stdout.byteOffset + stdout.byteLength));
}
