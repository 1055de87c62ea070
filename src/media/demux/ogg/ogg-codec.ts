// The codecs inside Ogg: which one a stream's first packet announces, and its header packets put together into the
// pipeline's description (Opus RFC 7845, Vorbis I appendix A, FLAC RFC 9639 section 10.1). Audio thread.

import { SAMPLE_RATE_HZ } from "../../format/audio-format.ts";
import type { AudioStream } from "../../format/packet.ts";
import { joinXiphLaced } from "../../format/xiph-lacing.ts";
import { parseOpusHead } from "../../opus/opus-head.ts";
import { parseFlacFrameHeader, parseFlacStreamInfo } from "../flac-frame-header.ts";
import { withTaggedLoudness } from "../loudness-tags.ts";
import { readVorbisComments, type Tags } from "../tags.ts";
import { isVorbisHeader, parseVorbisIdentification } from "../vorbis-packet.ts";

export interface OggHeaders {
  readonly stream: AudioStream;
  /** Samples at the start of the granule count that must not be played. */
  readonly preSkipSamples: number;
  readonly tags: Tags;
  /** True when the last packet was audio already: nothing else said that the headers end. */
  readonly isAudioRead?: boolean;
}

/** State of the headers: complete, more packets needed, or broken. */
type HeaderResult = OggHeaders | "more" | "broken";

/** Collects the header packets of one logical stream. */
export type HeaderReader = (packet: Uint8Array) => HeaderResult;

/** Longest FLAC metadata, in packets. */
const FLAC_HEADER_COUNT_MAX = 256;

/** A reader for the stream's header packets by its first one; undefined when the codec is unknown or not audio. */
export function createHeaderReader(firstPacket: Uint8Array): HeaderReader | undefined {
  const text = String.fromCharCode(...firstPacket.subarray(0, 8));
  if (text === "OpusHead") return opusReader();
  if (text.startsWith("\x01vorbis")) return vorbisReader();
  if (text.startsWith("\x7fFLAC")) return flacReader();
  return undefined;
}

/** The name of an unsupported audio codec, for the error message; undefined when it is not audio. */
export function foreignAudioName(firstPacket: Uint8Array): string | undefined {
  const text = String.fromCharCode(...firstPacket.subarray(0, 8));
  if (text === "Speex   ") return "Speex";
  if (text.startsWith("\x7fCELT") || text.startsWith("CELT")) return "CELT";
  return text.startsWith("PCM     ") ? "PCM in Ogg" : undefined;
}

function opusReader(): HeaderReader {
  let headPacket: Uint8Array | undefined;
  return (packet) => {
    if (headPacket === undefined) {
      headPacket = packet;
      return parseOpusHead(packet) === undefined ? "broken" : "more";
    }
    const head = parseOpusHead(headPacket);
    if (head === undefined) return "broken";
    const tags: Tags = {};
    if (String.fromCharCode(...packet.subarray(0, 8)) === "OpusTags") readVorbisComments(packet, 8, tags);
    const { channelCount, preSkipSamples } = head;
    const description = headPacket;
    return {
      stream: withTaggedLoudness(
        { codec: "opus", sampleRateHz: SAMPLE_RATE_HZ, channelCount, description, pcm: undefined },
        tags,
      ),
      preSkipSamples,
      tags,
    };
  };
}

function vorbisReader(): HeaderReader {
  const packets: Uint8Array[] = [];
  return (packet) => {
    if (!isVorbisHeader(packet, packets.length * 2 + 1)) return "broken";
    packets.push(packet);
    const [first, comments, setup] = packets;
    if (first === undefined || comments === undefined || setup === undefined) return "more";
    const identification = parseVorbisIdentification(first);
    if (identification === undefined) return "broken";
    const tags: Tags = {};
    readVorbisComments(comments, 7, tags);
    const { sampleRateHz, channelCount } = identification;
    // The decoder does not need the comments, which may hold a big picture: an empty block replaces them.
    const description = joinXiphLaced([first, EMPTY_COMMENTS, setup]);
    return {
      stream: withTaggedLoudness({ codec: "vorbis", sampleRateHz, channelCount, description, pcm: undefined }, tags),
      preSkipSamples: 0,
      tags,
    };
  };
}

const EMPTY_COMMENTS = Uint8Array.of(3, 0x76, 0x6f, 0x72, 0x62, 0x69, 0x73, 0, 0, 0, 0, 0, 0, 0, 0, 1);

/**
 * First packet: 0x7f "FLAC", version, count of further headers (0 unknown), "fLaC", STREAMINFO; then one block each.
 */
function flacReader(): HeaderReader {
  let infoBlock: Uint8Array | undefined;
  let count = 0;
  let statedCount = 0;
  const tags: Tags = {};
  return (packet) => {
    if (infoBlock === undefined) {
      if (packet.length < 51) return "broken";
      infoBlock = packet.subarray(13, 51);
      statedCount = (packet[7]! << 8) | packet[8]!;
      return parseFlacStreamInfo(infoBlock.subarray(4)) === undefined ? "broken" : "more";
    }
    count += 1;
    if (parseFlacFrameHeader(packet) !== undefined) {
      const headers = flacHeaders(infoBlock, tags);
      return typeof headers === "string" ? headers : { ...headers, isAudioRead: true };
    }
    if (count > FLAC_HEADER_COUNT_MAX || packet[0] === 0xff || packet.length < 4) return "broken";
    if ((packet[0]! & 0x7f) === 4) readVorbisComments(packet, 4, tags);
    // The count says it where a muxer has not set the flag of the last block.
    const isLast = (packet[0]! & 0x80) !== 0 || count === statedCount;
    return isLast ? flacHeaders(infoBlock, tags) : "more";
  };
}

function flacHeaders(infoBlock: Uint8Array, tags: Tags): HeaderResult {
  const info = parseFlacStreamInfo(infoBlock.subarray(4));
  if (info === undefined) return "broken";
  const stream = withTaggedLoudness(flacStream(info, infoBlock.subarray(4, 38)), tags);
  return { stream, preSkipSamples: 0, tags };
}

/** The stream for a STREAMINFO body; the description holds only that block. */
export function flacStream(info: { sampleRateHz: number; channelCount: number }, body: Uint8Array): AudioStream {
  const description = new Uint8Array(42);
  description.set([0x66, 0x4c, 0x61, 0x43, 0x80, 0, 0, 34]);
  description.set(body.subarray(0, 34), 8);
  const { sampleRateHz, channelCount } = info;
  return { codec: "flac", sampleRateHz, channelCount, description, pcm: undefined };
}
