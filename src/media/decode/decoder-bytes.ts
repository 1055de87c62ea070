// Memory that each decoder uses outside V8's heap, as an upper bound or as measured. The 17 MB that a WebAssembly
// instance reserves are only address space: the figure counts what it can touch, given each decoder's limits for its
// streams. Audio thread.

import type { AudioCodec, AudioStream } from "../format/packet.ts";
import { CELT_STREAM_BYTES } from "../kernels/celt-kernel.ts";
import { OPUS_DECODER_BYTES } from "../opus/libopus.ts";
import { PAST_PACKETS_BYTES } from "./past-packets.ts";

const KILOBYTE = 1024;

const DECODER_BYTES: Record<AudioCodec, number> = {
  /** Up to eight streams, each with our decoder or that of libopus, its last packets and its audio. */
  opus: 8 * (Math.max(OPUS_DECODER_BYTES, CELT_STREAM_BYTES) + PAST_PACKETS_BYTES + 46 * KILOBYTE),
  /** Of the library, with its tables; layer III takes 20 kB. */
  mp3: 512 * KILOBYTE,
  /** The longest frame allowed, as bytes, integers and floats, twice, and once as doubles. */
  flac: 4096 * KILOBYTE,
  /** Code books as large as its headers may be. */
  vorbis: 4096 * KILOBYTE,
  /** Four pairs of channels with what they retain, and their audio. */
  aac: (4 * 55 + 8 * 8) * KILOBYTE,
  /** Eight channels of the longest frame, and two more to work in. */
  alac: 10 * 4 * 16 * KILOBYTE,
  /** 40 ms of 64 channels. */
  pcm: 512 * KILOBYTE,
};

export function decoderBytes(stream: AudioStream): number {
  const isPlain = stream.codec === "opus" && stream.channelCount <= 2;
  return isPlain ? DECODER_BYTES.opus / 8 : DECODER_BYTES[stream.codec];
}
