// Turns received Opus packets into audio, and checks whether packets arrived as they were sent.

import { loadLibopus } from "../../src/media/opus/libopus.ts";

/** 20 ms, what a missing packet counts for. */
const FRAME_SAMPLES = 960;

/** Stereo audio at 48 kHz. */
export interface StereoAudio {
  readonly left: Float32Array;
  readonly right: Float32Array;
}

/**
 * Decodes packets in order as a listener's client would; undefined (a lost packet) and damage become 20 ms of silence.
 */
export async function decodeReceived(frames: readonly (Uint8Array | undefined)[]): Promise<StereoAudio> {
  const opus = await loadLibopus();
  const { module, packetPointer, pcmPointer } = opus;
  const decoder = opus.createDecoder(2, 0);
  const pieces: Float32Array[] = [];
  for (const frame of frames) {
    let samples = 0;
    if (frame !== undefined && frame.length > 0) {
      module.HEAPU8.set(frame, packetPointer);
      samples = opus.decode(decoder, frame.length);
    }
    const start = pcmPointer >> 2;
    pieces.push(samples > 0 ? module.HEAPF32.slice(start, start + 2 * samples) : new Float32Array(2 * FRAME_SAMPLES));
  }
  module._oc_destroy_decoder(decoder);
  return takeApart(pieces);
}

/** True when the received packets are, byte for byte and in order, an unbroken run of those sent. */
export function isBitExact(sent: readonly Uint8Array[], received: readonly Uint8Array[]): boolean {
  if (received.length === 0) return false;
  for (let start = 0; start + received.length <= sent.length; start++) {
    if (received.every((packet, index) => Buffer.compare(packet, sent[start + index]!) === 0)) return true;
  }
  return false;
}

function takeApart(pieces: readonly Float32Array[]): StereoAudio {
  const length = pieces.reduce((sum, piece) => sum + piece.length / 2, 0);
  const left = new Float32Array(length);
  const right = new Float32Array(length);
  let position = 0;
  for (const piece of pieces) {
    for (let index = 0; index < piece.length; index += 2, position++) {
      left[position] = piece[index]!;
      right[position] = piece[index + 1]!;
    }
  }
  return { left, right };
}
