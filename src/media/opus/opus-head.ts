// The OpusHead packet (RFC 7845 section 5.1), the set-up data of every Opus stream. Audio thread.

/** Fields of RFC 7845 section 5.1, without the original rate, as Opus plays at 48 kHz whatever it was. */
export interface OpusHead {
  readonly channelCount: number;
  /** Samples at 48 kHz to drop from the start. */
  readonly preSkipSamples: number;
  /** Output gain in 1/256 dB, to be applied by the decoder. */
  readonly gainQ8: number;
  readonly streamCount: number;
  /** How many of the streams, the first ones, are stereo. */
  readonly coupledCount: number;
  /** Per output channel the decoded channel: coupled streams count twice; 255 is silence. */
  readonly mapping: readonly number[];
  /** 0: mono or stereo; 1: up to eight channels in Vorbis order; 2 and 3: ambisonics; others: no declared order. */
  readonly family: number;
}

/**
 *     "OpusHead" version(1) channels(1) preskip(2) rate(4) gain(2) family(1) [streams(1) coupled(1) mapping(channels)]
 *
 * Little-endian. Undefined when it breaks a rule.
 */
export function parseOpusHead(bytes: Uint8Array): OpusHead | undefined {
  if (bytes.length < 19 || String.fromCharCode(...bytes.subarray(0, 8)) !== "OpusHead") return undefined;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  // The upper four bits are the major version: only 0 is known.
  if (view.getUint8(8) >= 16) return undefined;
  const channelCount = view.getUint8(9);
  const family = view.getUint8(18);
  const common = { channelCount, family, preSkipSamples: view.getUint16(10, true), gainQ8: view.getInt16(16, true) };
  if (family === 0) {
    if (channelCount !== 1 && channelCount !== 2) return undefined;
    return { ...common, streamCount: 1, coupledCount: channelCount - 1, mapping: channelCount === 1 ? [0] : [0, 1] };
  }
  if (channelCount === 0 || bytes.length < 21 + channelCount) return undefined;
  const streamCount = view.getUint8(19);
  const coupledCount = view.getUint8(20);
  const mapping = [...bytes.subarray(21, 21 + channelCount)];
  const isValid = mapping.every((index) => index === 255 || index < streamCount + coupledCount);
  if (streamCount === 0 || coupledCount > streamCount || streamCount + coupledCount > 255 || !isValid) return undefined;
  return { ...common, streamCount, coupledCount, mapping };
}

/** True when the stream's packets may be sent to Discord untouched: one stream, no output gain. */
export function isPassthroughHead(head: OpusHead): boolean {
  return head.family === 0 && head.gainQ8 === 0;
}
