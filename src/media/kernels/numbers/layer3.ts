// The memory of the MPEG layer III decoder, as byte addresses: tables that the host writes once, the frame that is
// decoded, and a slot for what each stream retains from frame to frame. Audio thread.

/** Of one granule and channel: 32 subbands of 18 samples. */
export const GRANULE_SAMPLES = 576;
export const SUBBANDS = 32;
export const SLOTS_OF_TIME = 18;

// Tables.

/** |n|^(4/3) for the 8207 values that can be coded. */
export const POWERS_BYTE = 1024;
export const POWERS = 8208;

/** 2^(n/4) for n from -GAIN_ZERO on. */
export const GAINS_BYTE = POWERS_BYTE + 4 * POWERS;
export const GAIN_ZERO = 360;
export const GAINS = 432;

/** For each of the 32 tables: where its entries begin, and how many bits follow the value 15. */
export const BOOKS_BYTE = GAINS_BYTE + 4 * GAINS;

/** Of the tables of four values: 64 bytes each, value and bits by the next six bits. */
export const QUADS_BYTE = BOOKS_BYTE + 8 * 32;

/** First samples of the bands: 9 rates with 23 numbers of 16 bits for long blocks, then 9 with 14 for short ones. */
export const LONG_BANDS_BYTE = QUADS_BYTE + 128;
export const LONG_BANDS = 23;
export const SHORT_BANDS_BYTE = LONG_BANDS_BYTE + 2 * 9 * LONG_BANDS;
export const SHORT_BANDS = 14;

/** Bits of the two groups of scale factors, by their code. */
export const SCALE_BITS_BYTE = SHORT_BANDS_BYTE + 2 * 9 * SHORT_BANDS;
/** How many scale factors have each of four lengths, for version 2: 6 kinds, 3 kinds of blocks. */
export const SCALE_COUNTS_BYTE = SCALE_BITS_BYTE + 32;

/** Windows of the long transform, 36 numbers for each block type (none for 2); and of the short one, 12. */
export const WINDOWS_BYTE = SCALE_COUNTS_BYTE + 72 + 2;
export const SHORT_WINDOW_BYTE = WINDOWS_BYTE + 4 * 36 * 4;

/** Factors of both sides for intensity: 7 positions of version 1, then 64 for each scale of version 2. */
export const PANNING_BYTE = SHORT_WINDOW_BYTE + 4 * 12;

/** The synthesis window: for each of 32 samples 16 taps, signs included. */
export const SYNTHESIS_BYTE = PANNING_BYTE + 8 * (7 + 1 + 128);

/** Cosines of the long and the short transform: 18 rows of 18, and 6 rows of 6. */
export const COSINES_BYTE = SYNTHESIS_BYTE + 4 * 512;
export const SHORT_COSINES_BYTE = COSINES_BYTE + 4 * 18 * 18;

/** Factors of the butterflies over the subbands: for 32, 16, 8, 4 and 2 of them. */
export const BUTTERFLIES_BYTE = SHORT_COSINES_BYTE + 4 * 36;
/** Cosines, then sines of the eight turns between neighbouring subbands. */
export const ALIASES_BYTE = BUTTERFLIES_BYTE + 4 * 32;

/** The entries of the Huffman tables, up to the frame. */
export const CODES_BYTE = 57_344;

// The frame.

/** The packet: header, side information, main data. */
export const FRAME_BYTE = 122_880;
export const FRAME_BYTES_MAX = 4096;
/** Main data in a row: what earlier frames have left, and this frame's. */
export const MAIN_BYTE = FRAME_BYTE + FRAME_BYTES_MAX;
export const RESERVOIR_BYTES_MAX = 512;
/** Facts of two granules with two channels each. */
export const GRANULES_BYTE = MAIN_BYTE + RESERVOIR_BYTES_MAX + FRAME_BYTES_MAX + 16;
export const GRANULE_BYTES = 128;
/** Scale factors of two granules with two channels each, and the positions for intensity of one channel. */
export const SCALES_BYTE = GRANULES_BYTE + 4 * GRANULE_BYTES;
export const SCALES = 48;
export const POSITIONS_BYTE = SCALES_BYTE + 4 * SCALES;
/** Spectra of both channels, and space to sort one. */
export const SPECTRA_BYTE = POSITIONS_BYTE + SCALES + 16;
export const SORTED_BYTE = SPECTRA_BYTE + 2 * 4 * GRANULE_SAMPLES;
/** Samples of the subbands of one channel, 20 places for 18 moments. */
export const MOMENTS = 20;
export const SUBBANDS_BYTE = SORTED_BYTE + 4 * GRANULE_SAMPLES;
/** The decoded audio of both channels. */
export const OUTPUT_BYTE = SUBBANDS_BYTE + 4 * SUBBANDS * MOMENTS;
export const OUTPUT_SAMPLES = 1152;

/** Vectors that the transforms work on. */
export const WORK_BYTE = OUTPUT_BYTE + 2 * 4 * OUTPUT_SAMPLES;
const WORK_BYTES = 16 * 112;

// Slots.

export const SLOTS_BYTE = WORK_BYTE + WORK_BYTES;
/** In a slot: how many bytes are left of earlier frames, those bytes, then per channel the overlap and the rows. */
export const SLOT_RESERVOIR = 16;
export const SLOT_OVERLAPS = SLOT_RESERVOIR + RESERVOIR_BYTES_MAX;
export const OVERLAP_BYTES = 4 * GRANULE_SAMPLES;
/** Rows of the synthesis: 15 moments of the past and 20 places for the new ones, and one more. */
export const SLOT_ROWS = SLOT_OVERLAPS + 2 * OVERLAP_BYTES;
export const ROW_MOMENTS = 36;
export const ROWS_BYTES = 4 * SUBBANDS * ROW_MOMENTS;
export const SLOT_BYTES = SLOT_ROWS + 2 * ROWS_BYTES;
