// The only audio format inside the node and on its way to Discord: 48 kHz, stereo, frames of 20 ms. Every length in
// samples derives from here. Audio thread.

/** Samples of one channel in a second: what Opus works at (RFC 6716 section 2) and what Discord expects. */
export const SAMPLE_RATE_HZ = 48_000;

/** Samples of one channel in a millisecond. */
export const SAMPLES_PER_MS = SAMPLE_RATE_HZ / 1000;

/** Length of one packet to Discord, milliseconds. */
export const FRAME_MS = 20;

/** Length of one packet to Discord, samples of one channel; RTP timestamps grow by it. */
export const FRAME_SAMPLES = FRAME_MS * SAMPLES_PER_MS;

/** Delay of an Opus encoder in samples at 48 kHz (OPUS_GET_LOOKAHEAD of libopus, 6.5 ms). */
export const ENCODER_DELAY_SAMPLES = 312;

/** Values below this (-400 dB) are silence, and set to 0: smaller numbers would in the end be subnormal and slow. */
export const INAUDIBLE = 1e-20;
/** Limit of frames that are made ahead of the sent ones and can be revoked: 180 ms. */
export const FRAMES_AHEAD_MAX = 9;
