// The length of an Opus packet, from its table-of-contents byte (RFC 6716 section 3.1). Used by the Ogg, Matroska, MP4
// and MPEG-TS readers. Audio thread.

/** Samples at 48 kHz of one frame, by the configuration number in the upper five bits of the first byte. */
const FRAME_SAMPLES = Uint16Array.from({ length: 32 }, (_, config) => {
  if (config < 12) return [480, 960, 1920, 2880][config % 4] ?? 0;
  if (config < 16) return [480, 960][config % 2] ?? 0;
  return [120, 240, 480, 960][config % 4] ?? 0;
});

/** The most a packet may hold: 120 ms. */
const PACKET_SAMPLES_MAX = 5760;

/** Samples at 48 kHz that the packet decodes to; 0 for a packet that is none. */
export function opusPacketSamples(first: number, second: number, sizeBytes: number): number {
  if (sizeBytes < 1) return 0;
  const frameSamples = FRAME_SAMPLES[first >> 3]!;
  const code = first & 3;
  if (code === 0) return frameSamples;
  if (code < 3) return frameSamples * 2;
  const samples = sizeBytes < 2 ? 0 : frameSamples * (second & 63);
  return samples <= PACKET_SAMPLES_MAX ? samples : 0;
}

/** What an OpusHead packet (RFC 7845 section 5.1) says. */
export interface OpusHead {
  readonly channelCount: number;
  /** Samples at 48 kHz to drop at the start. */
  readonly preSkipSamples: number;
}

export function parseOpusHead(head: Uint8Array): OpusHead | undefined {
  if (head.length < 19 || String.fromCharCode(...head.subarray(0, 8)) !== "OpusHead") return undefined;
  const channelCount = head[9]!;
  if (channelCount === 0) return undefined;
  return { channelCount, preSkipSamples: head[10]! | (head[11]! << 8) };
}
