// A player whose songs are tones, with real codecs and a clock that stands still: its output is measured tone by tone,
// so a test sees which songs play and at which level.

import { decodeReceived } from "../../lab/listen/received.ts";
import { fitTone } from "../../lab/listen/tone.ts";
import type { PlayCommand } from "../../src/bridge/commands.ts";
import type { WorkerEvent } from "../../src/bridge/events.ts";
import type { Decoder } from "../../src/media/decode/decoder.ts";
import type { FrameEncoder } from "../../src/media/encode/frame-encoder.ts";
import { OpusFrameEncoder } from "../../src/media/encode/opus-encoder.ts";
import { FRAME_MS } from "../../src/media/format/audio-format.ts";
import type { AudioStream, Packet } from "../../src/media/format/packet.ts";
import { Codecs } from "../../src/media/pipeline/codecs.ts";
import type { PipelineOptions } from "../../src/media/pipeline/pipeline.ts";
import type { AudioPlayer } from "../../src/media/player/audio-player.ts";
import type { VoiceGate } from "../../src/media/voice/frame-sink.ts";
import { connectPlayer, createAudioPlayer, playCommand, readAhead } from "./audio-players.ts";
import { FakeClock } from "./fake-clock.ts";
import { filterSettings } from "./filter-settings.ts";
import { ScriptedDemuxer } from "./scripted-demuxer.ts";
import { UndiagnosedVoice } from "./undiagnosed-voice.ts";

const AMPLITUDE = 0.3;
const PRE_SKIP_MS = 6.5;
const FRAME_SAMPLES = 960;
/** A whole number of periods of 25 Hz: tones do not disturb each other's measurement. */
export const WINDOW_MS = 40;
const WINDOW_SAMPLES = 2 * FRAME_SAMPLES;
const SETTLE_ITERATIONS = 12;
const OPUS_STREAM = {
  codec: "opus",
  sampleRateHz: 48_000,
  channelCount: 2,
  description: undefined,
  pcm: undefined,
} as const;
const PCM_STREAM = {
  codec: "pcm",
  sampleRateHz: 48_000,
  channelCount: 1,
  description: undefined,
  pcm: { encoding: "float", bitsPerSample: 32, isBigEndian: false },
} as const;

export interface ToneSong {
  readonly hz: number;
  readonly stream: AudioStream;
  readonly packets: readonly Packet[];
}

/** Loads the codecs, which takes real time. */
export async function warmUp(): Promise<void> {
  const codecs = new Codecs({ complexity: 5, bitrateBps: 128_000, encoder: "tonearm" });
  for (const stream of [OPUS_STREAM, PCM_STREAM]) (await codecs.createDecoder(stream, { isComplete: true })).close();
  codecs.releaseEncoder(await codecs.acquireEncoder());
}

/** Never silent at a frame boundary. */
function toneAt(hz: number, sample: number): number {
  return AMPLITUDE * Math.cos((2 * Math.PI * hz * sample) / 48_000);
}

function frameOf(hz: number, index: number): Float32Array {
  return Float32Array.from({ length: FRAME_SAMPLES }, (_, at) => toneAt(hz, index * FRAME_SAMPLES + at));
}

/** `hz` a multiple of 25. */
export async function opusSong(hz: number, frameCount: number): Promise<ToneSong> {
  const encoder = await OpusFrameEncoder.create({ complexity: 5, bitrateBps: 128_000 });
  const packets = Array.from({ length: frameCount }, (_, index) => {
    const pcm = frameOf(hz, index);
    const data = Uint8Array.from(encoder.encode(pcm, pcm));
    return { data, timestampMs: index * FRAME_MS - PRE_SKIP_MS, durationMs: FRAME_MS, trimEndSamples: 0 };
  });
  encoder.close();
  return { hz, stream: OPUS_STREAM, packets };
}

export function pcmSong(hz: number, frameCount: number): ToneSong {
  const packets = Array.from({ length: frameCount }, (_, index) => {
    const data = new Uint8Array(frameOf(hz, index).buffer);
    return { data, timestampMs: index * FRAME_MS, durationMs: FRAME_MS, trimEndSamples: 0 };
  });
  return { hz, stream: PCM_STREAM, packets };
}

class RecordingVoice extends UndiagnosedVoice {
  gate: VoiceGate = "send";
  readonly frames: Uint8Array[] = [];
  /** "frame", "silence" and "stop", in order. */
  readonly log: string[] = [];

  async connect(): Promise<void> {}

  sendFrame(opus: Uint8Array): boolean {
    this.frames.push(Uint8Array.from(opus));
    this.log.push("frame");
    return true;
  }

  sendSilence(): void {
    this.log.push("silence");
  }

  stopSpeaking(): void {
    this.log.push("stop");
  }

  close(): void {}
}

/** Counts codecs in use. */
class CountingCodecs extends Codecs {
  encoderCount = 0;
  decoderCount = 0;
  /** Awaited before a decoder is created. */
  beforeDecoder: () => Promise<void> = async () => undefined;

  override async createDecoder(...request: Parameters<Codecs["createDecoder"]>): Promise<Decoder> {
    await this.beforeDecoder();
    const decoder = await super.createDecoder(...request);
    this.decoderCount++;
    const close = decoder.close.bind(decoder);
    let isClosed = false;
    decoder.close = () => {
      if (!isClosed) this.decoderCount--;
      isClosed = true;
      close();
    };
    return decoder;
  }

  override async acquireEncoder(): Promise<FrameEncoder> {
    const encoder = await super.acquireEncoder();
    this.encoderCount++;
    return encoder;
  }

  override releaseEncoder(encoder: FrameEncoder): void {
    this.encoderCount--;
    super.releaseEncoder(encoder);
  }
}

export class TonePlayer {
  readonly clock = new FakeClock();
  readonly voice = new RecordingVoice();
  readonly events: WorkerEvent[] = [];
  readonly demuxers: ScriptedDemuxer[] = [];
  readonly codecs = new CountingCodecs({ complexity: 5, bitrateBps: 128_000, encoder: "tonearm" });
  readonly player: AudioPlayer;
  /** Called with each new demuxer before it is read. */
  onOpen: (demuxer: ScriptedDemuxer) => void = () => undefined;
  #opening: () => Promise<ToneSong> = () => Promise.reject(new Error("nothing was played"));
  #trackCount = 0;

  private constructor() {
    const open: PipelineOptions["open"] = async () => {
      const { stream, packets } = await this.#opening();
      const demuxer = new ScriptedDemuxer({ stream, packets });
      this.demuxers.push(demuxer);
      this.onOpen(demuxer);
      return demuxer;
    };
    const { clock, voice, codecs } = this;
    this.player = createAudioPlayer({ clock, voice, codecs, open, send: (event) => this.events.push(event) });
  }

  static async create(): Promise<TonePlayer> {
    const own = new TonePlayer();
    await connectPlayer(own.player);
    return own;
  }

  /** `pluginFilters.tonearm`, and the protocol's filters in `more`. */
  setFilters(tonearm: object, more: object = {}): void {
    this.player.setFilters(filterSettings({ ...more, pluginFilters: { tonearm } }));
  }

  /** Plays `song`, or the song that the function resolves with, whenever it does; returns the track's id. */
  play(song: ToneSong | (() => Promise<ToneSong>), changes: Partial<PlayCommand> = {}): number {
    const trackId = ++this.#trackCount;
    this.#opening = typeof song === "function" ? song : async () => song;
    const lengthMs = typeof song === "function" ? undefined : song.packets.length * FRAME_MS;
    this.player.play(playCommand({ trackId, lengthMs, ...changes }));
    return trackId;
  }

  /** Completes pending work, without time passing. */
  async settle(): Promise<void> {
    await readAhead(SETTLE_ITERATIONS);
  }

  async tick(count: number): Promise<void> {
    for (let index = 0; index < count; index++) {
      this.clock.advance(FRAME_MS);
      await this.settle();
      // The next frame is made ahead of its time.
      this.player.prepare();
    }
  }

  /** Ends of tracks with their reasons, as "1 finished". */
  get ends(): string[] {
    return this.events.flatMap((event) => (event.type === "trackEnded" ? [`${event.trackId} ${event.reason}`] : []));
  }

  get frameCount(): number {
    return this.voice.frames.length;
  }

  /** The range of packets that were not a song's own, from the first to the last: [first, last], [-1, -1] for none. */
  changed(songs: readonly ToneSong[]): [number, number] {
    const own = new Set(
      songs.flatMap(({ packets }) => packets.map(({ data }) => Buffer.from(data).toString("base64"))),
    );
    const isOwn = this.voice.frames.map((frame) => own.has(Buffer.from(frame).toString("base64")));
    return [isOwn.indexOf(false), isOwn.lastIndexOf(false)];
  }

  async received(): Promise<Float32Array> {
    return (await decodeReceived(this.voice.frames)).left;
  }
}

/** The level of a tone in each window of 40 ms, full scale being 1. */
export function levelsOf(received: Float32Array, hz: number): number[] {
  const levels: number[] = [];
  for (let start = 0; start + WINDOW_SAMPLES <= received.length; start += WINDOW_SAMPLES) {
    levels.push(fitTone(received.subarray(start, start + WINDOW_SAMPLES), hz, 48_000).amplitude / AMPLITUDE);
  }
  return levels;
}
