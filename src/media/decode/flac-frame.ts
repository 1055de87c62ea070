// Reads how much audio a FLAC frame claims to hold (RFC 9639 section 9.1), before any time is spent on decoding it.
// Audio thread.

interface FlacFrameSize {
  readonly lengthSamples: number;
  readonly channelCount: number;
}

/**
 *     sync(15) strategy(1) block size(4) rate(4) channels(4) bits(3) 0(1) number(8 to 56) [block size(8 or 16)] …
 *
 * Undefined when that is not how it begins.
 */
export function parseFlacFrameSize(packet: Uint8Array): FlacFrameSize | undefined {
  if (packet.length < 6 || packet[0] !== 0xff || (packet[1]! & 0xfe) !== 0xf8) return undefined;
  const lengthSamples = blockSize(packet);
  const assignment = packet[3]! >> 4;
  if (lengthSamples === undefined || assignment > 10) return undefined;
  // Values above eight are the three modes that code two channels together.
  return { lengthSamples, channelCount: assignment < 8 ? assignment + 1 : 2 };
}

function blockSize(packet: Uint8Array): number | undefined {
  const code = packet[2]! >> 4;
  if (code === 0) return undefined;
  if (code === 1) return 192;
  if (code <= 5) return 144 << code;
  if (code >= 8) return 1 << code;
  // Behind the frame's number, which is coded like UTF-8.
  const ones = Math.clz32(~(packet[4]! << 24));
  const at = 4 + Math.max(1, ones);
  const upper = packet[at];
  if (upper === undefined) return undefined;
  return code === 6 ? upper + 1 : upper * 256 + (packet[at + 1] ?? 0) + 1;
}
