// What the decoders cannot play, known from a stream's set-up alone: an input is refused when it is loaded, and not when
// it is played. Audio and probe threads.

import { NodeError } from "../../errors.ts";
import type { AudioStream } from "../format/packet.ts";
import { splitXiphLaced } from "../format/xiph-lacing.ts";
import { type OpusHead, parseOpusHead } from "../opus/opus-head.ts";

const STEREO_HEAD: OpusHead = {
  channelCount: 2,
  preSkipSamples: 0,
  gainQ8: 0,
  streamCount: 1,
  coupledCount: 1,
  mapping: [0, 1],
  family: 0,
};
/** More streams than 7.1 needs are not music, and each costs decoding time. */
const OPUS_STREAMS_MAX = 8;
const VORBIS_CHANNELS_MAX = 8;
/** Ambisonics, whose channels are no speakers (RFC 8486). */
const AMBISONICS_FAMILIES: readonly number[] = [2, 3];

/** Throws NodeError `media-unsupported-codec`, with the reason, for a stream that no decoder here can play. */
export function requirePlayable(stream: AudioStream): void {
  if (stream.codec === "opus") opusHeadOf(stream);
  if (stream.codec === "vorbis") vorbisChannelsOf(stream.description);
}

/** The stream's header, stereo without one; throws NodeError `media-unsupported-codec` when it cannot be played. */
export function opusHeadOf(stream: AudioStream): OpusHead {
  const head = stream.description === undefined ? STEREO_HEAD : parseOpusHead(stream.description);
  if (head === undefined) throw unsupported("an Opus", "its header is damaged");
  const { family, channelCount, streamCount } = head;
  if (AMBISONICS_FAMILIES.includes(family)) {
    throw unsupported("an Opus", `channel mapping family ${family} (ambisonics) cannot be played`);
  }
  if (channelCount > OPUS_STREAMS_MAX || streamCount > OPUS_STREAMS_MAX) {
    const found = `${channelCount} channels in ${streamCount} streams`;
    throw unsupported("an Opus", `${found} are more than ${OPUS_STREAMS_MAX}`);
  }
  return head;
}

/** Channels by the identification header, 0 when it is missing; throws as `opusHeadOf`. */
export function vorbisChannelsOf(description: Uint8Array | undefined): number {
  const [identification] = (description && splitXiphLaced(description)) ?? [];
  const channelCount = identification?.[11] ?? 0;
  if (channelCount <= VORBIS_CHANNELS_MAX) return channelCount;
  throw unsupported("a Vorbis", `${channelCount} channels are more than ${VORBIS_CHANNELS_MAX}`);
}

function unsupported(decoder: string, why: string): NodeError {
  return new NodeError("media-unsupported-codec", `set up ${decoder} decoder: ${why}`);
}
