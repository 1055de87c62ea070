// Compares our CELT decoder with libopus's, packet by packet: the audio, and the state of the range decoder, which is the
// same only if both have read every bit alike. Also makes the packets: random ones, as any bytes are a valid frame.

import { expect } from "vitest";
import { ownCodecModules } from "../../src/media/decode/codec-modules.ts";
import { CeltStream } from "../../src/media/kernels/celt-kernel.ts";

/** The library's decoder does not report its range: it is here in the pinned build. After silence it is 2 ** 24. */
const FINAL_RANGE_BYTE = 96;
const BANDS = [13, 17, 19, 21];
const FRAME_BYTES_MIN = 2;

export interface CeltPackets {
  /** Binary logarithm of the frame's length in 2.5 ms, 0 to 3. */
  readonly sizeLog: number;
  /** Narrow, wide, super-wide and full: 0 to 3. */
  readonly bandwidth: number;
  readonly isStereo: boolean;
}

const opus = await ownCodecModules.libopus("decode").load();

/** Packets of one frame each, whose bytes are random after a first one that makes most of them not silent. */
export function randomCeltPackets(options: CeltPackets, count: number, random: () => number): Uint8Array[] {
  const { sizeLog, bandwidth, isStereo } = options;
  const toc = ((16 + 4 * bandwidth + sizeLog) << 3) | (isStereo ? 4 : 0);
  return Array.from({ length: count }, () => {
    const sizeBytes = FRAME_BYTES_MIN + Math.floor(random() ** 3 * (1275 - FRAME_BYTES_MIN));
    const packet = Uint8Array.from({ length: 1 + sizeBytes }, () => Math.floor(256 * random()));
    packet[0] = toc;
    if (random() < 0.1) packet[1] = 255;
    return packet;
  });
}

/** The largest difference between both decoders' samples, as a share of the largest sample. */
export function celtDifference(packets: readonly Uint8Array[], channelCount: 1 | 2): number {
  const stream = CeltStream.start(channelCount)!; // Node.js 20 has the vector instructions wherever it runs our tests
  const library = opus.createDecoder(channelCount, 0);
  let peak = 1e-9;
  let difference = 0;
  for (const packet of packets) {
    const config = packet[0]! >> 3;
    const samples = 120 << (config & 3);
    const isStereo = (packet[0]! & 4) !== 0;
    const format = { sizeLog: config & 3, bands: BANDS[(config >> 2) & 3]!, channelCount: isStereo ? 2 : 1 } as const;
    expect(stream.decode(packet.subarray(1), format, 1)).toBe(true);
    opus.module.HEAPU8.set(packet, opus.packetPointer);
    expect(opus.decode(library, packet.length)).toBe(samples);
    expect(stream.finalRange).toBe(opus.module.HEAP32[(library + FINAL_RANGE_BYTE) >> 2]! >>> 0);
    const pcm = opus.module.HEAPF32.subarray(opus.pcmPointer >> 2);
    for (let channel = 0; channel < channelCount; channel++) {
      for (let sample = 0; sample < samples; sample++) {
        const value = pcm[sample * channelCount + channel]!;
        peak = Math.max(peak, Math.abs(value));
        difference = Math.max(difference, Math.abs(value - stream.channels[channel]![sample]!));
      }
    }
  }
  stream.close();
  opus.module._oc_destroy_decoder(library);
  return difference / peak;
}
