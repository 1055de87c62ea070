// Streams of hard signals through an encoder and libopus's decoder: every packet must be one of 20 ms with plausible
// audio, and after each both range coders must be in the same state, if the encoder reports its own. Lab only.

import type { FrameHead } from "@tonearm/opus-encoder";
import { seededRandom } from "../../lab/seeded-random.ts";
import { FRAME_SAMPLES } from "../../src/media/format/audio-format.ts";
import { loadLibopus } from "../../src/media/opus/libopus.ts";
import { OPUS_FRAME_BYTES_MAX, packetDurationSamples } from "../../src/media/opus/opus-packet.ts";
import type { Stereo } from "./ear-model.ts";
import type { EncoderKind, JudgedEncoder, JudgedOptions } from "./encoders.ts";
import { ExactDecoder } from "./exact-decoder.ts";
import { type AudioToEncode, HARD_SIGNALS, HardSignal, PlayedMusic } from "./hard-signals.ts";

/** Our own encoder limits its input to full scale; the decoded audio can be this loud, as postfilters ring. */
const DECODED_MAX = 64;
const PACKET_BYTES_MAX = 1 + OPUS_FRAME_BYTES_MAX;
const STREAM_FRAMES_MAX = 400;
const AUDIO_FRAMES_MEAN = 40;
/** Share of independent frames, and share of those among them with which the encoder is reset. */
const INDEPENDENT_SHARE = 0.013;
const RESET_SHARE = 0.003;
/** Share of frames with a given head. */
const GIVEN_HEAD_SHARE = 0.02;
const BITRATES_KBPS = [6, 8, 12, 16, 20, 24, 32, 48, 64, 80, 96, 128, 160, 192, 256, 320, 384, 448, 510];

export interface ExactPlan {
  readonly kind: EncoderKind;
  readonly frameCount: number;
  readonly seed: number;
  /** Makes up half of the audio; default none. */
  readonly music?: readonly Stereo[];
  /** Called for each bad frame; its stream ends with it. */
  readonly onBad: (bad: BadFrame) => void;
  /** Called after each stream with the frames so far. */
  readonly onProgress?: (frames: number) => void;
}

/** A frame that the decoder did not decode as intended. */
export interface BadFrame {
  /** Counted through all streams: the same plan fails at the same frame. */
  readonly frame: number;
  readonly audio: string;
  readonly options: JudgedOptions;
  readonly fault: string;
}

interface NamedAudio {
  readonly name: string;
  readonly audio: AudioToEncode;
}

/** Counts of a run. */
export interface ExactRun {
  readonly frames: number;
  /** Good frames whose final range the encoder reported: it was the decoder's. */
  readonly rangesCompared: number;
  /** Frames of each signal, by name. */
  readonly framesByName: Readonly<Record<string, number>>;
}

/**
 * Encodes a number of frames in streams of random settings and changing signals, with resets, independent packets, and
 * given heads. Half of the streams use a decoder that has decoded others before, as another player's decoder would
 * have.
 */
export async function runExactly(plan: ExactPlan): Promise<ExactRun> {
  const { kind, frameCount, seed, music = [], onBad, onProgress } = plan;
  const [opus, random] = [await loadLibopus(), seededRandom(seed)];
  const changing = changingAudio(random, music);
  const framesByName: Record<string, number> = {};
  let [frames, rangesCompared] = [0, 0];
  let decoder = new ExactDecoder(opus, 2);
  while (frames < frameCount) {
    const options = randomOptions(random);
    const encoder = await kind.create(options);
    if (random() < 0.5) encoder.makeNextIndependent();
    else {
      decoder.close();
      decoder = new ExactDecoder(opus, options.channelCount);
    }
    const end = Math.min(frameCount, frames + 1 + Math.floor(STREAM_FRAMES_MAX * random()));
    for (let fault: string | undefined; frames < end && fault === undefined; frames++) {
      const draw = random();
      if (draw < RESET_SHARE) encoder.reset();
      if (draw < INDEPENDENT_SHARE) encoder.makeNextIndependent();
      const { name, audio } = changing.next().value;
      framesByName[name] = (framesByName[name] ?? 0) + 1;
      const head = random() < GIVEN_HEAD_SHARE ? randomHead(random) : undefined;
      fault = faultOf(encoder, decoder, audio, head);
      if (fault === undefined) rangesCompared += encoder.finalRange === undefined ? 0 : 1;
      else onBad({ frame: frames, audio: name, options, fault });
    }
    encoder.close();
    onProgress?.(frames);
  }
  decoder.close();
  return { frames, rangesCompared, framesByName };
}

function randomOptions(random: () => number): JudgedOptions & { readonly channelCount: 1 | 2 } {
  return {
    bitrateBps: 1000 * BITRATES_KBPS[Math.floor(BITRATES_KBPS.length * random())]!,
    channelCount: random() < 0.25 ? 1 : 2,
    isVariable: random() < 0.7,
  };
}

function randomHead(random: () => number): FrameHead {
  const period = random() < 0.3 ? 0 : 15 + Math.floor(1008 * random());
  const [gainStep, taps] = [Math.floor(8 * random()), Math.floor(3 * random())];
  return { period, gainStep, taps, isTransient: random() < 0.3 };
}

function faultOf(
  encoder: JudgedEncoder,
  decoder: ExactDecoder,
  { left, right }: AudioToEncode,
  head: FrameHead | undefined,
): string | undefined {
  try {
    const packet = encoder.encode(left, right, head);
    if (packet.length > PACKET_BYTES_MAX) return `the packet has ${packet.length} bytes`;
    if (packetDurationSamples(packet) !== FRAME_SAMPLES) return "the packet is not one of 20 ms";
    const { finalRange } = encoder;
    // libopus, which reports no final range, accepts input that is too loud: the samples need only be numbers.
    const decodedMax = finalRange === undefined ? Number.POSITIVE_INFINITY : DECODED_MAX;
    const wrong = decoder.decode(packet).find((sample) => !(Math.abs(sample) < decodedMax));
    if (wrong !== undefined) return `a decoded sample is ${wrong}`;
    if (finalRange === undefined || finalRange === decoder.finalRange) return undefined;
    return `the encoder's final range is ${finalRange}, the decoder's ${decoder.finalRange}`;
  } catch (error) {
    return String(error);
  }
}

/** One hard signal, or some music, after the other, without a transition: the encoder must cope with its next frame. */
function* changingAudio(random: () => number, music: readonly Stereo[]): Generator<NamedAudio, never> {
  for (;;) {
    const drawn = drawAudio(random, music);
    do {
      drawn.audio.next();
      yield drawn;
    } while (random() >= 1 / AUDIO_FRAMES_MEAN);
  }
}

function drawAudio(random: () => number, music: readonly Stereo[]): NamedAudio {
  const piece = random() < 0.5 ? music[Math.floor(music.length * random())] : undefined;
  if (piece !== undefined) return { name: "music", audio: new PlayedMusic(piece, random) };
  const name = HARD_SIGNALS[Math.floor(HARD_SIGNALS.length * random())]!;
  return { name, audio: new HardSignal(name, random) };
}
