// The memory of the AAC decoder, as byte addresses: tables that the host writes once, the packet that is decoded with
// what it describes, and a slot for what each pair of channels retains from packet to packet. Audio thread.

/** Of one channel: lines of its spectrum, and samples that it gives. */
export const FRAME_SAMPLES = 1024;
export const SHORT_SAMPLES = 128;
export const SHORT_WINDOWS = 8;
export const CHANNELS_MAX = 8;
/** Beside the channels of a packet: it has data of HE-AAC. */
export const EXTENDED = 256;

// Tables.

/** |n|^(4/3) for the values that can be coded. */
export const POWERS_BYTE = 1024;
export const POWERS = 8192;

/** 2^(n/4) for n from -GAIN_ZERO on. */
export const GAINS_BYTE = POWERS_BYTE + 4 * POWERS;
export const GAIN_ZERO = 100;
export const GAINS = 256;

/** Where the entries of each Huffman table begin: 11 of spectra (from 1 on), and one of scale factors. */
export const BOOKS_BYTE = GAINS_BYTE + 4 * GAINS;
export const SCALE_BOOK = 12;
const BOOKS = 36;

/** Values of the codes of spectra, already raised to 4/3: four with signs, four without, then pairs. */
export const SIGNED_QUADS_BYTE = BOOKS_BYTE + 4 * BOOKS;
export const PLAIN_QUADS_BYTE = SIGNED_QUADS_BYTE + 16 * 81;
/** For books 5 and 6, 7 and 8, 9 and 10, and 11. */
export const SIGNED_PAIRS_BYTE = PLAIN_QUADS_BYTE + 16 * 81;
export const PAIRS_7_BYTE = SIGNED_PAIRS_BYTE + 8 * 81;
export const PAIRS_12_BYTE = PAIRS_7_BYTE + 8 * 64;
export const PAIRS_16_BYTE = PAIRS_12_BYTE + 8 * 169;

/** By the index of the sample rate: number of bands and limit of noise shaping, each for long and short windows. */
export const RATES = 13;
export const RATE_FACTS_BYTE = PAIRS_16_BYTE + 8 * 289;
/** First lines of the bands, numbers of 16 bits: of each rate's long windows, then of its short ones. */
export const LONG_BANDS_BYTE = RATE_FACTS_BYTE + 4 * RATES;
export const LONG_BANDS = 52;
export const SHORT_BANDS_BYTE = LONG_BANDS_BYTE + 2 * LONG_BANDS * RATES;
export const SHORT_BANDS = 16;

/** Coefficients of noise shaping: 3 and 4 bits, then the same without the highest bit. */
export const SHAPING_BYTE = SHORT_BANDS_BYTE + 2 * SHORT_BANDS * RATES + 8;

/** Rising halves of the windows: sine, then Kaiser-Bessel. */
export const LONG_WINDOWS_BYTE = SHAPING_BYTE + 4 * 16 * 4;
export const SHORT_WINDOWS_BYTE = LONG_WINDOWS_BYTE + 2 * 4 * FRAME_SAMPLES;

/** exp(-2πin/128), real and imaginary part. */
export const ROOTS = 128;
export const ROOTS_BYTE = SHORT_WINDOWS_BYTE + 2 * 4 * SHORT_SAMPLES;
/** The last step of a transform of 512 and of 64 points: for four points in a row three factors, real, imaginary. */
export const LONG_STEP_BYTE = ROOTS_BYTE + 8 * ROOTS;
export const SHORT_STEP_BYTE = LONG_STEP_BYTE + 4 * 6 * 128;
/** Turns before and after the transform: real parts, then imaginary ones. */
export const LONG_TURNS_BYTE = SHORT_STEP_BYTE + 4 * 6 * 16;
export const SHORT_TURNS_BYTE = LONG_TURNS_BYTE + 2 * 4 * 512;

/** The entries of the Huffman tables. */
export const CODES_BYTE = SHORT_TURNS_BYTE + 2 * 4 * 64;
const CODES_BYTES = 32_768;

// The packet.

export const PACKET_BYTE = CODES_BYTE + CODES_BYTES;
export const PACKET_BYTES_MAX = 16_384;

/** By which elements the channels come: four bytes for each element: identifier, tag, first and second channel. */
export const ELEMENTS_BYTE = PACKET_BYTE + PACKET_BYTES_MAX + 64;
export const ELEMENTS_MAX = 16;
/** The identifier behind the last element, and the tag of an element that may have any. */
export const NO_ELEMENT = 255;
export const ANY_TAG = 255;
/** Addresses of what each channel retains. */
export const STATES_BYTE = ELEMENTS_BYTE + 4 * ELEMENTS_MAX;
/** Of each channel, and of one that is not played: what the packet describes, and the spectrum. */
export const CHANNELS_BYTE = STATES_BYTE + 4 * CHANNELS_MAX;
export const CHANNEL_BYTES = 1408;
export const SPECTRA_BYTE = CHANNELS_BYTE + CHANNEL_BYTES * (CHANNELS_MAX + 1);
/** The decoded audio of each channel. */
export const OUTPUT_SAMPLES = 2048;
export const OUTPUT_BYTE = SPECTRA_BYTE + 4 * FRAME_SAMPLES * (CHANNELS_MAX + 1);

/** Two areas of the transforms, and the transformed spectrum. */
export const WORK_BYTE = OUTPUT_BYTE + 4 * OUTPUT_SAMPLES * CHANNELS_MAX;
export const WORK_BYTES = 32 * 128;
export const LINES_BYTE = WORK_BYTE + 2 * WORK_BYTES;

// Slots.

export const SLOTS_BYTE = LINES_BYTE + 4 * FRAME_SAMPLES;
/** Of one channel: window sequence, window shape, then the half of the last window that overlaps with the next. */
export const STATE_SEQUENCE = 0;
export const STATE_SHAPE = 4;
export const STATE_OVERLAP = 16;
export const STATE_BYTES = STATE_OVERLAP + 4 * (FRAME_SAMPLES / 2);
/** Of a stream's first slot: the state of the noise generator, behind both channels. */
export const SLOT_NOISE = 2 * STATE_BYTES;
export const SLOT_BYTES = SLOT_NOISE + 16;
