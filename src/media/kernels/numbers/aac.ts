// The memory of the AAC decoder, as byte addresses: tables that the host writes once, the packet that is decoded with
// what it describes, and a slot for what each pair of channels retains from packet to packet. Audio thread.

/** Of one channel: lines of its spectrum, and samples that it gives. */
export const FRAME_SAMPLES = 1024;
export const SHORT_SAMPLES = 128;
export const SHORT_WINDOWS = 8;
export const CHANNELS_MAX = 8;

// Tables.

/** |n|^(4/3) for the values that can be coded. */
export const POWERS_BYTE = 1024;
export const POWERS = 8192;

/** 2^(n/4) for n from -GAIN_ZERO on. */
export const GAINS_BYTE = POWERS_BYTE + 4 * POWERS;
export const GAIN_ZERO = 100;
export const GAINS = 256;

/** Where the entries of each Huffman table begin: 11 of spectra (from 1 on), one of scale factors, and of the others. */
export const BOOKS_BYTE = GAINS_BYTE + 4 * GAINS;
export const SCALE_BOOK = 12;
export const REPLICATION_BOOK = 13;
export const STEREO_BOOK = 23;
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
const RATES = 13;
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

// Of spectral band replication (SBR).

/** The rate of each index in Hz, and which offsets of the first band it has: one for each of 16 numbers. */
export const RATES_BYTE = SHORT_TURNS_BYTE + 2 * 4 * 64;
export const OFFSET_ROWS_BYTE = RATES_BYTE + 4 * 16;
export const OFFSETS_BYTE = OFFSET_ROWS_BYTE + 16;
/** Logarithms (base 2) of whole numbers up to 64, as 64-bit floats. */
export const LOGARITHMS_BYTE = OFFSETS_BYTE + 16 * 8;
/** 2^(n/2) for n from -HALVES_ZERO on. */
export const HALVES_BYTE = LOGARITHMS_BYTE + 8 * 66;
export const HALVES_ZERO = 260;
export const HALVES = 381;
/** 512 complex random numbers. */
export const RANDOM_BYTE = HALVES_BYTE + 4 * (HALVES + 3);
/** The window of the analysis, backwards in five parts; and of the synthesis. */
export const ANALYSIS_WINDOW_BYTE = RANDOM_BYTE + 8 * 512;
export const SYNTHESIS_WINDOW_BYTE = ANALYSIS_WINDOW_BYTE + 4 * 320;
/** Turns, real and imaginary: before and after the transform of the analysis, and of the synthesis. */
export const ANALYSIS_IN_BYTE = SYNTHESIS_WINDOW_BYTE + 4 * 640;
export const ANALYSIS_OUT_BYTE = ANALYSIS_IN_BYTE + 8 * 32;
export const SYNTHESIS_IN_BYTE = ANALYSIS_OUT_BYTE + 8 * 32;
export const SYNTHESIS_OUT_BYTE = SYNTHESIS_IN_BYTE + 8 * 64;

// Of parametric stereo. Most tables have a part for 20 parameters, and one for 34.

/** Gains of both sides by level difference and coherence, four numbers each: two ways to mix. */
export const MIXES_BYTE = SYNTHESIS_OUT_BYTE + 8 * 64;
export const MIX_BYTES = 4 * 4 * 8 * 46;
/** Smoothed phases by three of them in a row, complex. */
export const PHASES_BYTE = MIXES_BYTE + 2 * MIX_BYTES;
/** Filters that split the lowest subbands: 8 for 20 parameters; 12, 8 and 4 for 34. Seven complex taps in 64 bytes. */
export const SPLITS_BYTE = PHASES_BYTE + 8 * 512;
export const SPLIT_BYTES = 64;
/** Turns of each filtered band: of its input, and of the three filters; complex. */
export const FRACTIONS_BYTE = SPLITS_BYTE + SPLIT_BYTES * 32;
export const FILTERED_BANDS_MAX = 50;
/** The parameter of each band. */
export const PARAMETERS_BYTE = FRACTIONS_BYTE + 2 * 32 * FILTERED_BANDS_MAX;
export const STEREO_BANDS_MAX = 91;

/** The entries of the Huffman tables. */
export const CODES_BYTE = PARAMETERS_BYTE + 2 * STEREO_BANDS_MAX + 2;
const CODES_BYTES = 65_536;

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
/** Addresses of what each channel retains for spectral band replication. */
export const REPLICAS_BYTE = STATES_BYTE + 4 * CHANNELS_MAX;
/** Of each channel, and of one that is not played: what the packet describes, and the spectrum. */
export const CHANNELS_BYTE = REPLICAS_BYTE + 4 * CHANNELS_MAX;
export const CHANNEL_BYTES = 1408;
export const SPECTRA_BYTE = CHANNELS_BYTE + CHANNEL_BYTES * (CHANNELS_MAX + 1);
/** The decoded audio of each channel. */
export const OUTPUT_SAMPLES = 2048;
export const OUTPUT_BYTE = SPECTRA_BYTE + 4 * FRAME_SAMPLES * (CHANNELS_MAX + 1);

/** Two areas of the transforms, and the transformed spectrum. */
export const WORK_BYTE = OUTPUT_BYTE + 4 * OUTPUT_SAMPLES * CHANNELS_MAX;
export const WORK_BYTES = 32 * 128;
export const LINES_BYTE = WORK_BYTE + 2 * WORK_BYTES;

// Spectral band replication works on subbands over slots of time, each as real parts, then imaginary ones.

/** Subbands of the core and of the output, and their slots in a packet. */
export const LOW_BANDS = 32;
export const BANDS = 64;
export const SLOTS_OF_TIME = 32;
/** What the generator needs of the past. */
export const PAST_SLOTS = 8;
/** Between a subband's real and imaginary parts. */
export const PART_BYTES = 4 * 44;
export const BAND_BYTES = 2 * PART_BYTES;
/** Subbands of the core, of the generated part, and of the output of both channels. */
export const LOW_BYTE = LINES_BYTE + 4 * FRAME_SAMPLES;
export const HIGH_BYTE = LOW_BYTE + BAND_BYTES * LOW_BANDS;
export const MIXED_BYTE = HIGH_BYTE + BAND_BYTES * BANDS;
export const MIXED_BYTES = BAND_BYTES * BANDS;
/** Samples that the analysis reads: those of the past, then the packet's. */
export const INPUT_BYTE = MIXED_BYTE + 2 * MIXED_BYTES;
export const INPUT_PAST = 288;
/** The windowed samples of four slots. */
export const FOLDED_BYTE = INPUT_BYTE + 4 * (INPUT_PAST + FRAME_SAMPLES);
/** Rows of the synthesis over time: 12 slots of the past, then the packet's. */
export const ROWS = 128;
export const ROW_PAST = 12;
export const ROW_BYTES = 4 * 48;
export const ROWS_BYTE = FOLDED_BYTE + 4 * 4 * 64;
/** Of envelopes by subband. */
const ENVELOPES_MAX = 5;
export const ADJUSTED_BANDS = 48;
export const MAP_BYTES = 4 * ADJUSTED_BANDS * ENVELOPES_MAX;
export const MAPS_BYTE = ROWS_BYTE + ROWS * ROW_BYTES;
const MAPS = 7;
/** Of one subband over time: gains and noise, then the same smoothed. */
export const TIMES_BYTE = MAPS_BYTE + MAPS * MAP_BYTES;
export const TIMES_BYTES = 4 * 48;
/** Coefficients of prediction of each subband of the core. */
export const PREDICTION_BYTE = TIMES_BYTE + 4 * TIMES_BYTES;

/** Parametric stereo: subbands that the lowest ones are split into, of both sides. */
export const SPLIT_BANDS = 32;
export const SPLIT_BYTE = PREDICTION_BYTE + 16 * LOW_BANDS;
/** Energies of the parameters over time, which become gains. */
export const PARAMETERS_MAX = 34;
export const ENERGIES_BYTE = SPLIT_BYTE + 2 * BAND_BYTES * SPLIT_BANDS;
export const ENERGY_BYTES = 4 * SLOTS_OF_TIME;
/** A band with what came before it, and the filters' output: real parts, then imaginary ones of each. */
export const DELAYS_BYTE = ENERGIES_BYTE + ENERGY_BYTES * PARAMETERS_MAX;
export const DELAY_BYTES = 4 * 48;
/** Gains of each parameter: eight numbers before an envelope, and eight at its end. */
export const NEXT_GAINS_BYTE = DELAYS_BYTE + 8 * DELAY_BYTES;
export const GAIN_ROW_BYTES = 4 * 36;

// Slots.

export const SLOTS_BYTE = NEXT_GAINS_BYTE + 8 * GAIN_ROW_BYTES;
/** Of one channel: window sequence, window shape, then the half of the last window that overlaps with the next. */
export const STATE_SEQUENCE = 0;
export const STATE_SHAPE = 4;
/** Not 0: what the channel retains for spectral band replication is valid. */
export const STATE_REPLICATED = 8;
export const STATE_OVERLAP = 16;
export const STATE_BYTES = STATE_OVERLAP + 4 * (FRAME_SAMPLES / 2);
/** Of a stream's first slot: the state of the noise generator, and whether there is replication, behind both channels. */
export const SLOT_STREAM = 2 * STATE_BYTES;
export const STREAM_NOISE = 0;
export const STREAM_REPLICATED = 4;
/** Not 0: it has had parametric stereo. */
export const STREAM_STEREO = 8;
/** What is cleared before a stream begins; the rest is when it is first needed. */
export const SLOT_CLEARED_BYTES = SLOT_STREAM + 16;

/** What a channel retains for replication: facts, then tables, envelopes … */
export const REPLICA_TABLES = 512;
export const REPLICA_ENVELOPES = REPLICA_TABLES + 640;
/** … samples, subbands of the core, of the output, gains, and rows of the synthesis. */
export const REPLICA_INPUT = REPLICA_ENVELOPES + 384;
export const REPLICA_LOW = REPLICA_INPUT + 4 * INPUT_PAST;
export const REPLICA_HIGH = REPLICA_LOW + 8 * PAST_SLOTS * LOW_BANDS;
export const REPLICA_GAINS = REPLICA_HIGH + 64 * BANDS;
export const REPLICA_ROWS = REPLICA_GAINS + 32 * ADJUSTED_BANDS;
export const REPLICA_BYTES = REPLICA_ROWS + 4 * ROW_PAST * ROWS;

/** What a stream retains for parametric stereo, behind its channels: facts, parameters, phases, gains … */
export const SLOT_STEREO = SLOT_CLEARED_BYTES + 2 * REPLICA_BYTES;
export const STEREO_ROWS = 256;
export const STEREO_PHASES = STEREO_ROWS + 4 * 5 * 36;
export const STEREO_GAINS = STEREO_PHASES + 2 * 36;
/** … of transients, then the past of the split subbands, of all bands and of the filters. */
export const STEREO_TRANSIENTS = STEREO_GAINS + 8 * GAIN_ROW_BYTES;
export const STEREO_INPUT = STEREO_TRANSIENTS + 3 * GAIN_ROW_BYTES;
export const STEREO_DELAYS = STEREO_INPUT + 5 * 2 * 4 * 6;
export const STEREO_PAST = 14;
export const STEREO_FILTERS = STEREO_DELAYS + 8 * STEREO_PAST * STEREO_BANDS_MAX;
export const STEREO_FILTER_PAST = 5;
export const STEREO_BYTES = STEREO_FILTERS + 3 * 8 * STEREO_FILTER_PAST * FILTERED_BANDS_MAX;

export const SLOT_BYTES = SLOT_STEREO + STEREO_BYTES;
