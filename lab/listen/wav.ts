// WAV files: written by the demo, and read by tests as reference. 16-bit or float, mono or stereo.

import { readFile, writeFile } from "node:fs/promises";
import type { StereoAudio } from "./received.ts";

interface WavAudio extends StereoAudio {
  readonly sampleRateHz: number;
}

/** Writes 16-bit stereo; samples beyond full scale are clamped. */
export async function writeWav(path: string, { left, right, sampleRateHz }: WavAudio): Promise<void> {
  const dataBytes = left.length * 4;
  const file = Buffer.alloc(44 + dataBytes);
  file.write("RIFF", 0, "latin1");
  file.writeUInt32LE(36 + dataBytes, 4);
  file.write("WAVEfmt ", 8, "latin1");
  file.writeUInt32LE(16, 16);
  file.writeUInt16LE(1, 20);
  file.writeUInt16LE(2, 22);
  file.writeUInt32LE(sampleRateHz, 24);
  file.writeUInt32LE(sampleRateHz * 4, 28);
  file.writeUInt16LE(4, 32);
  file.writeUInt16LE(16, 34);
  file.write("data", 36, "latin1");
  file.writeUInt32LE(dataBytes, 40);
  for (let sample = 0; sample < left.length; sample++) {
    file.writeInt16LE(toInt16(left[sample]!), 44 + sample * 4);
    file.writeInt16LE(toInt16(right[sample] ?? 0), 46 + sample * 4);
  }
  await writeFile(path, file);
}

/** Reads 16-bit integer or 32-bit float WAV; mono goes to both sides. Throws when it is anything else. */
export async function readWav(path: string): Promise<WavAudio> {
  const file = await readFile(path);
  const chunks = readChunks(file);
  const format = chunks.get("fmt ");
  const data = chunks.get("data");
  if (format === undefined || data === undefined) throw new Error(`read ${path}: not a WAV file`);
  const channelCount = format.readUInt16LE(2);
  const bits = format.readUInt16LE(14);
  const isFloat = format.readUInt16LE(0) === 3 || (format.length > 26 && format.readUInt16LE(24) === 3);
  if (!(isFloat && bits === 32) && !(bits === 16 && !isFloat))
    throw new Error(`read ${path}: neither 16-bit nor float`);
  const read = (index: number) => (isFloat ? data.readFloatLE(index * 4) : data.readInt16LE(index * 2) / 32_768);
  const length = Math.floor(data.length / (bits / 8) / channelCount);
  const channel = (index: number) => Float32Array.from({ length }, (_, sample) => read(sample * channelCount + index));
  const left = channel(0);
  return { left, right: channelCount > 1 ? channel(1) : left, sampleRateHz: format.readUInt32LE(4) };
}

function toInt16(value: number): number {
  return Math.round(Math.max(-1, Math.min(1, value)) * 32_767);
}

/** RIFF chunks by name: name(4), length(4), data padded to an even length. */
function readChunks(file: Buffer): Map<string, Buffer> {
  const chunks = new Map<string, Buffer>();
  for (let position = 12; position + 8 <= file.length; ) {
    const size = file.readUInt32LE(position + 4);
    chunks.set(file.toString("latin1", position, position + 4), file.subarray(position + 8, position + 8 + size));
    position += 8 + size + (size & 1);
  }
  return chunks;
}
