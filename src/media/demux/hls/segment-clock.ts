// The time inside a segment: in MPEG-TS the first timestamp of its audio, in packed audio the one in its ID3 tag. These
// times continue from segment to segment and show exactly where one belongs. Pure. Audio thread.

/** Timestamps have 33 bits of 90 kHz and wrap around after 26.5 hours. */
export const CLOCK_WRAP_MS = 2 ** 33 / 90;

const TS_PACKET_BYTES = 188;
/** RFC 8216 section 3.4. */
const ID3_TIMESTAMP_OWNER = "com.apple.streaming.transportStreamTimestamp\0";

/** Milliseconds on the segment's own clock, or undefined when it carries none (fragmented MP4 has it in its boxes). */
export function segmentClockMs(bytes: Uint8Array): number | undefined {
  if (bytes[0] === 0x47 && (bytes.length < 189 || bytes[TS_PACKET_BYTES] === 0x47)) return firstAudioMs(bytes);
  return bytes[0] === 0x49 && bytes[1] === 0x44 && bytes[2] === 0x33 ? id3TimestampMs(bytes) : undefined;
}

/** ISO 13818-1: the PTS of the first PES packet whose stream id is one of audio. */
function firstAudioMs(bytes: Uint8Array): number | undefined {
  for (let at = 0; at + TS_PACKET_BYTES <= bytes.length; at += TS_PACKET_BYTES) {
    if (bytes[at] !== 0x47) return undefined;
    const isStart = (bytes[at + 1]! & 0x40) !== 0;
    const control = (bytes[at + 3]! >> 4) & 3;
    if (!isStart || (control & 1) === 0) continue;
    const payloadAt = at + 4 + (control === 3 ? 1 + bytes[at + 4]! : 0);
    const payload = bytes.subarray(payloadAt, at + TS_PACKET_BYTES);
    const ptsMs = payload.length >= 14 && isAudio(payload) ? ptsMsOf(payload) : undefined;
    if (ptsMs !== undefined) return ptsMs;
  }
  return undefined;
}

/** 00 00 01 and a stream id: C0 to DF is MPEG audio and AAC, BD private (AC-3, Opus). */
function isAudio(pes: Uint8Array): boolean {
  const id = pes[3]!;
  return pes[0] === 0 && pes[1] === 0 && pes[2] === 1 && ((id & 0xe0) === 0xc0 || id === 0xbd);
}

/** Bytes 9 to 13 of a PES header: 33 bits in three groups, each closed by a one. */
function ptsMsOf(pes: Uint8Array): number | undefined {
  if ((pes[7]! & 0x80) === 0) return undefined;
  const high = (pes[9]! >> 1) & 7;
  const middle = ((pes[10]! << 8) | pes[11]!) >> 1;
  const low = ((pes[12]! << 8) | pes[13]!) >> 1;
  return (high * 2 ** 30 + middle * 2 ** 15 + low) / 90;
}

/** The eight bytes behind the owner's name in the tag's PRIV frame. */
function id3TimestampMs(bytes: Uint8Array): number | undefined {
  const tag = Buffer.from(bytes.subarray(0, 1024));
  const ownerAt = tag.indexOf(ID3_TIMESTAMP_OWNER, 0, "latin1");
  const at = ownerAt + ID3_TIMESTAMP_OWNER.length;
  return ownerAt === -1 || at + 8 > tag.length ? undefined : (Number(tag.readBigUInt64BE(at)) % 2 ** 33) / 90;
}
