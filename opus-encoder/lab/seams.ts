// Measures how a song of libopus continues after frames of another encoder, as when a volume is reset: its packets code
// loudness as a change, relative to the other encoder's state. Lab only.

import { decodeReceived, type StereoAudio } from "../../lab/listen/received.ts";
import { ENCODER_DELAY_SAMPLES, FRAME_SAMPLES } from "../../src/media/format/audio-format.ts";
import { readFrameHead } from "../../src/media/opus/frame-head.ts";
import type { Stereo } from "./ear-model.ts";
import { type EncoderKind, encoderKindOf } from "./encoders.ts";

const BITRATE_BPS = 128_000;
/** Frames of the other encoder before the seam: by then the decoder's start with them is inaudible. */
const FRAMES_BEFORE = 6;
/** Distance between seams. */
const SEAM_FRAMES = 17;
const SILENT_ENERGY = 1e-3;

/** A song as libopus at complexity 10 encodes it. */
interface EncodedSong {
  readonly packets: readonly Uint8Array[];
  /** The decoded packets. */
  readonly decoded: StereoAudio;
}

/** The encoder of the frames before the seam, and its options. */
interface SeamPlan {
  readonly kind: EncoderKind;
  /** The last frames before the seam that start with the same head as the packets they replace. */
  readonly ledFrames: number;
}

/** Encodes its whole frames. */
export async function encodeSong([left, right]: Stereo): Promise<EncodedSong> {
  const encoder = await encoderKindOf("libopus:10").create({ bitrateBps: BITRATE_BPS });
  const packets = Array.from({ length: Math.floor(left.length / FRAME_SAMPLES) }, (_, frame) => {
    return Uint8Array.from(encoder.encode(...frameAt({ left, right }, frame * FRAME_SAMPLES)));
  });
  encoder.close();
  return { packets, decoded: await decodeReceived(packets) };
}

/** Seams measured in a song: spread irregularly over nearly all of it. */
function seamsOf({ packets }: EncodedSong): number[] {
  const seams: number[] = [];
  for (let seam = 2 * SEAM_FRAMES; seam < packets.length - 2; seam += SEAM_FRAMES) seams.push(seam);
  return seams;
}

/**
 * For each seam (the number of the packet behind it) the error of that packet's audio compared with the original
 * stream, as a share of its energy. Silent packets are left out.
 */
export async function seamErrors(song: EncodedSong, seams: readonly number[], plan: SeamPlan): Promise<number[]> {
  const errors: number[] = [];
  for (const seam of seams) {
    const before = await encodeAgain(song, seam, plan);
    const decoded = frameAt(await decodeReceived([...before, song.packets[seam]!]), FRAMES_BEFORE * FRAME_SAMPLES);
    const expected = frameAt(song.decoded, seam * FRAME_SAMPLES);
    let [error, energy] = [0, 0];
    for (const [index, side] of expected.entries()) {
      for (const [sample, value] of side.entries()) {
        error += (decoded[index]![sample]! - value) ** 2;
        energy += value ** 2;
      }
    }
    if (energy > SILENT_ENERGY) errors.push(error / energy);
  }
  return errors;
}

/** The frames before a seam, by the other encoder, each in the position of the packet that it replaces. */
async function encodeAgain(song: EncodedSong, seam: number, { kind, ledFrames }: SeamPlan): Promise<Uint8Array[]> {
  const encoder = await kind.create({ bitrateBps: BITRATE_BPS });
  const packets: Uint8Array[] = [];
  for (let frame = seam - FRAMES_BEFORE; frame < seam; frame++) {
    const audio = frameAt(song.decoded, frame * FRAME_SAMPLES + ENCODER_DELAY_SAMPLES);
    const head = frame >= seam - ledFrames ? readFrameHead(song.packets[frame]!) : undefined;
    packets.push(Uint8Array.from(encoder.encode(...audio, head)));
  }
  encoder.close();
  return packets;
}

/** Both sides of 20 ms, starting at a sample. */
function frameAt({ left, right }: StereoAudio, from: number): [Float32Array, Float32Array] {
  return [left.subarray(from, from + FRAME_SAMPLES), right.subarray(from, from + FRAME_SAMPLES)];
}

/** The results of one plan at the seams of all songs (`seamErrors`). */
export interface MeasuredSeams {
  readonly plan: SeamPlan;
  readonly errors: readonly number[];
}

/** libopus after itself, and the encoder with none, one and two frames led. */
export async function compareSeams(music: readonly Stereo[], encoder: EncoderKind): Promise<MeasuredSeams[]> {
  const decoded: { readonly plan: SeamPlan; readonly errors: number[] }[] = [
    { plan: { kind: encoderKindOf("libopus:10"), ledFrames: 0 }, errors: [] },
    ...[0, 1, 2].map((ledFrames) => ({ plan: { kind: encoder, ledFrames }, errors: [] })),
  ];
  for (const piece of music) {
    const song = await encodeSong(piece);
    for (const { plan, errors } of decoded) errors.push(...(await seamErrors(song, seamsOf(song), plan)));
  }
  return decoded;
}
