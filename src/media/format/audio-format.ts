// The one format that sound has inside the node and on its way to Discord: 48 kHz, stereo, frames of 20 ms. Every
// length in samples is reckoned from here. Audio thread.

/** Samples of one channel in a second: what Opus works at (RFC 6716 section 2) and what Discord expects. */
export const SAMPLE_RATE_HZ = 48_000;

/** Samples of one channel in a millisecond. */
export const SAMPLES_PER_MS = SAMPLE_RATE_HZ / 1000;

/** Sound in one packet to Discord, milliseconds. */
export const FRAME_MS = 20;

/** Sound in one packet to Discord, samples of one channel; also what RTP timestamps grow by. */
export const FRAME_SAMPLES = FRAME_MS * SAMPLES_PER_MS;

/** An Opus encoder gives sound later by this many samples at 48 kHz (OPUS_GET_LOOKAHEAD of libopus, 6.5 ms). */
export const ENCODER_DELAY_SAMPLES = 312;

/** What is below this (-400 dB) is silence, and made 0: smaller numbers would in the end be subnormal and slow. */
export const INAUDIBLE = 1e-20;
/** As many frames at most are made ahead of those that are sent, and can be taken back: 120 ms. */
export const FRAMES_AHEAD_MAX = 6;
