// The interface between the encoder's WebAssembly and its callers: the audio format, the offsets of audio and packets
// in the memory, and the size of one encoder's state. Read by both compilers, TypeScript and AssemblyScript: constants
// only, whole numbers without a point.

/** Samples of one channel in a second: the rate of Opus (RFC 6716 section 2). */
export const SAMPLE_RATE_HZ = 48_000;

/** Samples of one channel in a frame: 20 ms. */
export const FRAME_SAMPLES = 960;

/** How much later than its input the decoded audio is, in samples of one channel: 6.5 ms, as with libopus. */
export const ENCODER_DELAY_SAMPLES = 312;

/** A float of 32 bits, the type of audio samples. */
export const F32_BYTES = 4;

/** Four floats of 32 bits. */
export const VECTOR_BYTES = 16;

/** The encoder's own tables of constants end before this. */
export const TABLES_END_BYTE = 8192;

/** One frame of the left side (or the only one), then one of the right: 960 floats each. */
export const INPUT_BYTE = TABLES_END_BYTE + 64;

/** The packet of the last frame: a header of one byte, and the coded data. */
export const PACKET_BYTE = INPUT_BYTE + 2 * 4 * FRAME_SAMPLES;

/** Size of the largest packet. RFC 6716 section 3.4, R2: a frame is at most 1275 bytes; and the header. */
export const PACKET_BYTES_MAX = 1276;

/** Shortest period of the pitch filter, in samples (RFC 6716 section 4.3.7.1). */
export const PERIOD_MIN = 15;

/** Longest period of the pitch filter, in samples. */
export const PERIOD_MAX = 1022;

/** Memory shared by all encoders: tables computed at the start, and the work on one frame. */
export const SCRATCH_BYTE = PACKET_BYTE + 1280;

/** Start of the encoders' states. */
export const SLOTS_BYTE = 131072;

/** Size of one encoder's state. */
export const SLOT_BYTES = 11776;

/** Lowest bit rate in bits per second; requests outside the limits are clamped. */
export const BITRATE_BPS_MIN = 6000;

/** Highest bit rate, the most that one packet of 20 ms can hold. */
export const BITRATE_BPS_MAX = 510000;
