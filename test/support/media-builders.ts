// Builds media by hand for demuxer tests: ID3 tags, MP3 frames.

import { ascii, concat } from "../../lab/media-files/bytes.ts";
import { opusHead, opusTags } from "../../lab/media-files/containers.ts";

/** An ID3v2 tag around frames that are ready. */
export function id3Tag(version: number, flags: number, frames: Uint8Array): Uint8Array {
  const size = [21, 14, 7, 0].map((shift) => (frames.length >> shift) & 0x7f);
  return concat(ascii("ID3"), Uint8Array.of(version, 0, flags, ...size), frames);
}

/**
 * Silent Layer III frames of MPEG 1, each at a constant bit rate: exactly `sizeBytes` in all, the last one cut off.
 * Padding is distributed as encoders do it.
 */
export function mp3Frames(options: { kbps: number; rateHz: 44100 | 48000; sizeBytes: number }): Uint8Array {
  const bitrateIndex = [0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320].indexOf(options.kbps);
  const rateIndex = options.rateHz === 44_100 ? 0 : 1;
  const exactBytes = (144_000 * options.kbps) / options.rateHz;
  const bytes = new Uint8Array(options.sizeBytes + 2000);
  let at = 0;
  for (let frame = 1; at < options.sizeBytes; frame++) {
    const sizeBytes = Math.floor(frame * exactBytes) - at;
    const padding = sizeBytes > Math.floor(exactBytes) ? 2 : 0;
    bytes.set([0xff, 0xfb, (bitrateIndex << 4) | (rateIndex << 2) | padding, 0], at);
    at += sizeBytes;
  }
  return bytes.slice(0, options.sizeBytes);
}

/** The two header packets of a stereo Opus stream with 312 samples of pre-skip. */
export function opusHeaders(): readonly [Uint8Array, Uint8Array] {
  return [opusHead(), opusTags()];
}
