// libopus as WebAssembly, one instance per thread, with its heap laid open: encoders and decoders work on fixed scratch
// areas of that heap, so a frame costs no allocation. The package's own interface copies each frame into fresh arrays and
// cannot start over without an await; docs/decisions/codecs.md has the measurements.

/** The exports of the generated module that are used. Views are replaced when the heap grows: read them at each use. */
interface LibopusModule {
  readonly HEAPU8: Uint8Array;
  readonly HEAP32: Int32Array;
  readonly HEAPF32: Float32Array;
  _malloc(sizeBytes: number): number;
  _free(pointer: number): void;
  _oc_create_encoder(sampleRateHz: number, channelCount: number, application: number, errorPointer: number): number;
  _oc_destroy_encoder(encoder: number): void;
  _oc_encode_float(encoder: number, pcm: number, samples: number, packet: number, sizeBytesMax: number): number;
  _oc_encoder_ctl(encoder: number, request: number, value: number): number;
  _oc_create_decoder(sampleRateHz: number, channelCount: number, errorPointer: number): number;
  _oc_destroy_decoder(decoder: number): void;
  _oc_decode_float(
    decoder: number,
    packet: number,
    sizeBytes: number,
    pcm: number,
    samplesMax: number,
    isFec: number,
  ): number;
  _oc_decoder_ctl(decoder: number, request: number, value: number): number;
}

/** Longest packet sound, 120 ms at 48 kHz (RFC 6716 section 3.2). */
export const OPUS_PACKET_SAMPLES_MAX = 5760;
/** Longest packet bytes: 48 frames of 1275 bytes with their lengths, and some padding. */
export const OPUS_PACKET_BYTES_MAX = 65_536;

const OPUS_SAMPLE_RATE_HZ = 48_000;
const OPUS_APPLICATION_AUDIO = 2049;
const OPUS_SET_BITRATE = 4002;
const OPUS_SET_COMPLEXITY = 4010;
const OPUS_SET_SIGNAL = 4024;
const OPUS_SIGNAL_MUSIC = 3002;
const OPUS_SET_GAIN = 4034;
const OPUS_SET_PREDICTION_DISABLED = 4042;

export class Libopus {
  readonly module: LibopusModule;
  /** Scratch of `OPUS_PACKET_SAMPLES_MAX` interleaved stereo floats; overwritten by every encode and decode. */
  readonly pcmPointer: number;
  /** Scratch of `OPUS_PACKET_BYTES_MAX` bytes. */
  readonly packetPointer: number;
  readonly #errorPointer: number;

  constructor(module: LibopusModule) {
    this.module = module;
    this.pcmPointer = module._malloc(OPUS_PACKET_SAMPLES_MAX * 2 * Float32Array.BYTES_PER_ELEMENT);
    this.packetPointer = module._malloc(OPUS_PACKET_BYTES_MAX);
    this.#errorPointer = module._malloc(4);
    if (!this.pcmPointer || !this.packetPointer || !this.#errorPointer)
      throw new Error("libopus has no memory to start");
  }

  /** A new stereo encoder for music at 48 kHz (about 49 kB). Complexity 0 to 10, bitrate 500 to 512000. */
  createEncoder(options: { readonly complexity: number; readonly bitrateBps: number }): number {
    const module = this.module;
    const encoder = module._oc_create_encoder(OPUS_SAMPLE_RATE_HZ, 2, OPUS_APPLICATION_AUDIO, this.#errorPointer);
    this.#check(encoder, "create an encoder");
    const results = [
      module._oc_encoder_ctl(encoder, OPUS_SET_BITRATE, options.bitrateBps),
      module._oc_encoder_ctl(encoder, OPUS_SET_COMPLEXITY, options.complexity),
      module._oc_encoder_ctl(encoder, OPUS_SET_SIGNAL, OPUS_SIGNAL_MUSIC),
    ];
    if (results.every((result) => result === 0)) return encoder;
    module._oc_destroy_encoder(encoder);
    throw new Error(`libopus refused complexity ${options.complexity} or bitrate ${options.bitrateBps}`);
  }

  /** Takes effect with the next frame: nothing of the stream so far is forgotten. */
  setComplexity(encoder: number, complexity: number): void {
    this.module._oc_encoder_ctl(encoder, OPUS_SET_COMPLEXITY, complexity);
  }

  /** False: packets lean on nothing before them, until it is true again (as in a new encoder). */
  setPrediction(encoder: number, { isOn }: { readonly isOn: boolean }): void {
    this.module._oc_encoder_ctl(encoder, OPUS_SET_PREDICTION_DISABLED, isOn ? 0 : 1);
  }

  /** A new decoder to 48 kHz (about 27 kB). `gainQ8` is the output gain of OpusHead, 1/256 dB. */
  createDecoder(channelCount: 1 | 2, gainQ8: number): number {
    const decoder = this.module._oc_create_decoder(OPUS_SAMPLE_RATE_HZ, channelCount, this.#errorPointer);
    this.#check(decoder, "create a decoder");
    if (gainQ8 !== 0) this.module._oc_decoder_ctl(decoder, OPUS_SET_GAIN, gainQ8);
    return decoder;
  }

  #check(pointer: number, action: string): void {
    const code = this.module.HEAP32[this.#errorPointer >> 2];
    if (pointer === 0 || code !== 0) throw new Error(`libopus could not ${action} (${code})`);
  }
}

// Loaded once per thread and never changed afterwards, like an imported module.
let loading: Promise<Libopus> | undefined;

/** The thread's libopus; the first call takes about 15 ms, later ones nothing. */
export function loadLibopus(): Promise<Libopus> {
  loading ??= instantiate();
  return loading;
}

async function instantiate(): Promise<Libopus> {
  // The generated module is not among the package's exports; it lies beside its entry (version pinned in package.json).
  const url = new URL("./generated/libopus.generated.mjs", import.meta.resolve("libopus-wasm"));
  const generated = (await import(url.href)) as { default: () => Promise<LibopusModule> }; // emscripten's own shape
  return new Libopus(await generated.default());
}
