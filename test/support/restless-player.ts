// A whole player, with real pipelines, decoders and encoders, on a test's clock, whose client changes something all the
// time: random filters at random times, seeks, pauses, other volumes, ends and tracks. Its voice decodes every frame as
// a listener does. Throws at the first error: samples that are not numbers, a frame lost, late or doubled, events out
// of order, or a position that is not that of the received song.

import { sumOf } from "../../src/bridge/audio-report.ts";
import type { WorkerEvent } from "../../src/bridge/events.ts";
import { type FilterSettings, settingsIn } from "../../src/filters/filter-settings.ts";
import { createDecoder } from "../../src/media/decode/create-decoder.ts";
import type { Decoder } from "../../src/media/decode/decoder.ts";
import type { FrameEncoder } from "../../src/media/encode/frame-encoder.ts";
import { OpusFrameEncoder } from "../../src/media/encode/opus-encoder.ts";
import { FRAME_MS } from "../../src/media/format/audio-format.ts";
import type { AudioStream, Packet } from "../../src/media/format/packet.ts";
import { Codecs } from "../../src/media/pipeline/codecs.ts";
import type { AudioPlayer } from "../../src/media/player/audio-player.ts";
import { connectPlayer, createAudioPlayer, playCommand, readAhead } from "./audio-players.ts";
import { readCodecFixture } from "./codec-fixture.ts";
import { FakeClock } from "./fake-clock.ts";
import { randomFilters } from "./random-filters.ts";
import { ScriptedDemuxer } from "./scripted-demuxer.ts";
import { UndiagnosedVoice } from "./undiagnosed-voice.ts";

const FRAME_SAMPLES = 960;
const SONG_MS = 20_000;
const PRE_SKIP_MS = 6.5;
const MP3_FRAME_SAMPLES = 1152;
/** Most songs are a tone of increasing frequency: its pitch gives the time. */
const START_HZ = 300;
const SWEEP_HZ_PER_MS = 0.15;
/** Some filters do not clip to full scale. */
const PEAK_MAX = 200;
/** Silent ticks in a row before the first audio of a track or position. */
const START_TICKS_MAX = 3;
/** A check of the position waits this long for fades and old filters to be over. */
const CHECK_TICKS_MAX = 120;
const POSITION_MS_MAX = FRAME_MS;
/**
 * Old filters fade, two frames are buffered, and a song begins with some silence: none of it takes longer than this.
 * The longest is timescale at twenty times the speed: its buffer plays for half a second, at a pitch that occurs again.
 */
const MIX_MS_MORE = 1000;
const ENCODING = { complexity: 1, bitrateBps: 160_000, encoder: "tonearm" } as const;

const stereo = { sampleRateHz: 48_000, channelCount: 2, description: undefined } as const;
const OPUS: AudioStream = { ...stereo, codec: "opus", pcm: undefined };
const PCM: AudioStream = {
  ...stereo,
  codec: "pcm",
  sampleRateHz: 44_100,
  channelCount: 1,
  pcm: { encoding: "float", bitsPerSample: 32, isBigEndian: false },
};

interface Song {
  readonly stream: AudioStream;
  readonly packets: readonly Packet[];
}

const sampleAt = (ms: number) =>
  0.4 * Math.sin((2 * Math.PI * (START_HZ * ms + (SWEEP_HZ_PER_MS * ms * ms) / 2)) / 1000);

/**
 * One song as Opus, which can be passed through, and at another rate, which cannot; and MP3, some seconds over and
 * over.
 */
export async function makeSongs(): Promise<readonly Song[]> {
  const encoder = await OpusFrameEncoder.create({ complexity: 10, bitrateBps: 128_000 });
  const rest = { durationMs: FRAME_MS, trimEndSamples: 0 };
  const numbers = Array.from({ length: SONG_MS / FRAME_MS }, (_, number) => number);
  const opus = numbers.map((number) => {
    const audio = Float32Array.from({ length: FRAME_SAMPLES }, (_, at) => sampleAt(number * FRAME_MS + at / 48));
    const data = Uint8Array.from(encoder.encode(audio, audio));
    return { ...rest, data, timestampMs: number * FRAME_MS - PRE_SKIP_MS };
  });
  const pcm = numbers.map((number) => {
    const audio = Float32Array.from({ length: 882 }, (_, at) => sampleAt(number * FRAME_MS + at / 44.1));
    return { ...rest, data: new Uint8Array(audio.buffer), timestampMs: number * FRAME_MS };
  });
  encoder.close();
  const { stream, packets } = readCodecFixture("mp3");
  const durationMs = (1000 * MP3_FRAME_SAMPLES) / stream.sampleRateHz;
  const mp3 = Array.from({ length: Math.floor(SONG_MS / durationMs) }, (_, number) => {
    const data = packets[number % packets.length]!;
    return { data, durationMs, timestampMs: number * durationMs, trimEndSamples: 0 };
  });
  return [
    { stream: OPUS, packets: opus },
    { stream: PCM, packets: pcm },
    { stream, packets: mp3 },
  ];
}

/** A real player has 100 ms for it. */
const PREPARE_ATTEMPTS = 5;

/** Receives as a listener's client does. */
class ListeningVoice extends UndiagnosedVoice {
  readonly gate = "send";
  /** The last two frames, left side. */
  received = new Float32Array(2 * FRAME_SAMPLES);
  lastPacket = new Uint8Array();
  frames = 0;
  readonly #decoder: Decoder;

  constructor(decoder: Decoder) {
    super();
    this.#decoder = decoder;
  }

  async connect(): Promise<void> {}

  sendFrame(opus: Uint8Array): boolean {
    const block = this.#decoder.decode(opus);
    if (block instanceof Promise || block.lengthSamples !== FRAME_SAMPLES) throw new Error("a damaged packet was sent");
    this.received.copyWithin(0, FRAME_SAMPLES);
    for (const channel of block.channels) expectSane(channel);
    this.received.set(block.channels[0]!.subarray(0, FRAME_SAMPLES), FRAME_SAMPLES);
    this.lastPacket = Uint8Array.from(opus);
    this.frames += 1;
    return true;
  }

  sendSilence(): void {}

  stopSpeaking(): void {}

  close(): void {
    void this.#decoder.close();
  }
}

const watchedEncoders = new WeakSet<FrameEncoder>();

/**
 * The encoder turns samples that are not numbers into silence, which no listener would notice: they are checked before.
 */
function watched(encoder: FrameEncoder): FrameEncoder {
  if (watchedEncoders.has(encoder)) return encoder;
  watchedEncoders.add(encoder);
  const encode = encoder.encode.bind(encoder);
  encoder.encode = (left, right, head) => {
    for (const channel of [left, right]) expectSane(channel);
    return encode(left, right, head);
  };
  return encoder;
}

function expectSane(channel: Float32Array): void {
  for (let sample = 0; sample < FRAME_SAMPLES; sample++) {
    if (!(Math.abs(channel[sample]!) < PEAK_MAX)) throw new Error(`rendered a sample of ${channel[sample]}`);
  }
}

export class RestlessPlayer {
  /** Checks of the position against the received audio, by packet and by pitch. */
  checksByPacket = 0;
  checksByPitch = 0;
  endedTracks = 0;
  readonly #random: () => number;
  readonly #songs: readonly Song[];
  readonly #clock = new FakeClock();
  readonly #codecs = new Codecs(ENCODING);
  readonly #player: AudioPlayer;
  readonly #voice: ListeningVoice;
  #song: Song | undefined;
  #trackId = 0;
  #seekId = 0;
  #hasEnded = true;
  #silentTicks = 0;
  #filters: FilterSettings = {};
  /** Other filters or the previous song may be audible until then. */
  #isMixedUntilMs = 0;
  /** Decoders and encoders given out and not closed. */
  #openCodecs = 0;

  private constructor(random: () => number, songs: readonly Song[], decoder: Decoder) {
    this.#random = random;
    this.#songs = songs;
    this.#voice = new ListeningVoice(decoder);
    this.#player = createAudioPlayer({
      clock: this.#clock,
      voice: this.#voice,
      open: async () => new ScriptedDemuxer(this.#song!),
      codecs: {
        createDecoder: async (stream, parts) => {
          const decoder = await this.#codecs.createDecoder(stream, parts);
          this.#openCodecs += 1;
          return { ...bound(decoder), close: () => this.#closeDecoder(decoder) };
        },
        acquireEncoder: async () => {
          this.#openCodecs += 1;
          return watched(await this.#codecs.acquireEncoder());
        },
        releaseEncoder: (encoder) => {
          this.#openCodecs -= 1;
          this.#codecs.releaseEncoder(encoder);
        },
      },
      send: (event) => this.#onEvent(event),
    });
  }

  static async create(random: () => number, songs: readonly Song[]): Promise<RestlessPlayer> {
    const restless = new RestlessPlayer(random, songs, await createDecoder(OPUS));
    await restless.#loadCodecs();
    await connectPlayer(restless.#player);
    return restless;
  }

  /** Sends a random filters object, often with something else, and then plays for a while. */
  async act(): Promise<void> {
    if (this.#hasEnded || this.#random() < 0.015) this.#play();
    this.#setFilters(randomFilters(this.#random));
    const kind = this.#random();
    if (kind < 0.2) this.#player.setVolume(Math.floor(this.#random() * 1000));
    else if (kind < 0.23) this.#seek();
    else if (kind < 0.26) await this.#pause();
    else if (kind < 0.28) this.#player.setEnd(this.#trackId, this.#random() < 0.5 ? undefined : this.#anyMs());
    else if (kind < 0.285) this.#stop();
    await this.#settle();
    await this.#tick(Math.floor(this.#random() ** 3 * 14));
  }

  /** Turns everything off, and checks whether the received audio is at the reported position. */
  async checkPosition(): Promise<void> {
    this.#setFilters({});
    this.#player.setVolume(100);
    this.#onMixed(0);
    if (this.#hasEnded) this.#play();
    this.#player.setEnd(this.#trackId, undefined);
    await this.#settle();
    // Old filters and fades end; frames are then aligned with packets again.
    for (let ticks = 0; ticks < CHECK_TICKS_MAX; ticks++) {
      await this.#tick(1);
      const positionMs = this.#player.position?.positionMs;
      if (positionMs === undefined || this.#hasEnded) return;
      const packet = this.#song?.stream === OPUS ? this.#receivedPacket() : undefined;
      if (packet !== undefined) {
        this.checksByPacket += 1;
        expectNear(positionMs, packet.timestampMs + FRAME_MS, "packet");
        return;
      }
      if (this.#clock.now() > this.#isMixedUntilMs && this.#song?.stream === PCM && this.#isSteady()) {
        this.checksByPitch += 1;
        expectNear(positionMs, this.#receivedTimeMs(), "pitch");
        return;
      }
    }
  }

  /** Stops, and checks that nothing is left behind. The next act plays again. */
  async rest(): Promise<void> {
    this.#stop();
    await this.#tick(10);
    if (this.#openCodecs !== 0) throw new Error(`${this.#openCodecs} decoders or encoders are still open`);
    if (this.#clock.pendingCount > 0) throw new Error(`${this.#clock.pendingCount} timers are still running`);
  }

  async close(): Promise<void> {
    await this.rest();
    this.#player.close();
  }

  #setFilters(filters: FilterSettings): void {
    this.#filters = filters;
    this.#player.setFilters(filters);
  }

  #play(): void {
    this.#onLeft();
    this.#song = this.#songs[Math.floor(this.#random() * this.#songs.length)];
    this.#trackId += 1;
    this.#seekId = 0;
    this.#hasEnded = false;
    this.#silentTicks = 0;
    const command = playCommand({
      trackId: this.#trackId,
      startMs: this.#random() < 0.5 ? 0 : this.#anyMs() / 2,
      endMs: this.#random() < 0.7 ? undefined : this.#anyMs(),
      lengthMs: this.#random() < 0.5 ? undefined : SONG_MS,
    });
    this.#player.play(command);
  }

  /** With crossfade the previous song stays audible. */
  #onLeft(): void {
    this.#onMixed(settingsIn(this.#filters, "crossfade")?.duration ?? 0);
  }

  #onMixed(forMs: number): void {
    this.#isMixedUntilMs = Math.max(this.#isMixedUntilMs, this.#clock.now() + forMs + MIX_MS_MORE);
  }

  #stop(): void {
    this.#player.stop();
    this.#hasEnded = true;
  }

  #seek(): void {
    const positionMs = this.#anyMs();
    this.#seekId += 1;
    this.#silentTicks = 0;
    this.#player.seek({ type: "seek", playerId: 1, trackId: this.#trackId, seekId: this.#seekId, positionMs });
  }

  async #pause(): Promise<void> {
    this.#player.pause(true);
    await this.#tick(Math.floor(this.#random() * 10));
    this.#player.pause(false);
    this.#silentTicks = 0;
  }

  #anyMs(): number {
    return Math.floor(this.#random() * (this.#random() < 0.05 ? 1.2 : 0.9) * SONG_MS);
  }

  async #tick(count: number): Promise<void> {
    for (let tick = 0; tick < count; tick++) {
      const before = this.#voice.frames;
      const isAudioDue = this.#player.isPlaying;
      // As frames are made ahead: a decoder may need some event loop iterations.
      for (let attempt = 0; attempt < PREPARE_ATTEMPTS && !this.#player.prepare(); attempt++) await this.#settle();
      this.#clock.advance(FRAME_MS);
      await this.#settle();
      this.#player.checkHealth({ hasOthers: false, threadLoad: 0 });
      const frames = this.#voice.frames - before;
      if (frames > 1) throw new Error(`${frames} frames in one tick`);
      this.#silentTicks = frames === 0 && isAudioDue && this.#player.isPlaying ? this.#silentTicks + 1 : 0;
      if (this.#silentTicks > START_TICKS_MAX) throw new Error(`no audio for ${this.#silentTicks} ticks`);
      const lost = sumOf(this.#player.counts.lostFrames);
      if (lost > 0) throw new Error(`${lost} frames lost`);
    }
  }

  /** Completes due reads and decodes, without time passing. */
  async #settle(): Promise<void> {
    await readAhead(4);
  }

  #onEvent(event: WorkerEvent): void {
    const wrong = (why: string) => new Error(`${why}: ${JSON.stringify(event)}, track ${this.#trackId}`);
    if (event.type === "trackEnded") {
      if (event.trackId !== this.#trackId || this.#hasEnded) throw wrong("an end of a track that is over");
      if (event.reason !== "finished") throw wrong("an end for no reason");
      this.#hasEnded = true;
      this.#onLeft();
      this.endedTracks += 1;
    } else if (event.type === "position") {
      const { trackId, seekId, positionMs, rate } = event.report;
      if (trackId !== this.#trackId || this.#hasEnded || seekId !== this.#seekId) throw wrong("a report of long ago");
      if (!(positionMs >= 0 && positionMs < 2 * SONG_MS && rate >= 0 && rate <= 16)) throw wrong("an absurd report");
    } else throw wrong("not expected here");
  }

  #receivedPacket(): Packet | undefined {
    const { lastPacket } = this.#voice;
    return this.#songs[0]!.packets.find(({ data }) => Buffer.compare(data, lastPacket) === 0);
  }

  /** One tone of the song's loudness, and no fade in it. */
  #isSteady(): boolean {
    const { received } = this.#voice;
    const power = (from: number) =>
      received.subarray(from, from + 480).reduce((sum, value) => sum + value * value, 0) / 480;
    return [0, 480, 960, 1440].every((from) => Math.abs(power(from) - 0.08) < 0.01);
  }

  /** The end of the received audio in song time, by the pitch of the last two frames. */
  #receivedTimeMs(): number {
    const { received } = this.#voice;
    const crossings: number[] = [];
    for (let at = 1; at < received.length; at++) {
      const [before, now] = [received[at - 1]!, received[at]!];
      if (before < 0 !== now < 0) crossings.push(at - now / (now - before));
    }
    const [first, last] = [crossings[0]!, crossings[crossings.length - 1]!];
    const frequencyHz = ((crossings.length - 1) * 24_000) / (last - first);
    const middleMs = (frequencyHz - START_HZ) / SWEEP_HZ_PER_MS;
    return middleMs + (received.length - (first + last) / 2) / 48;
  }

  /** Loading it from disk in the middle of a song would delay the song by real time, which no test clock controls. */
  async #loadCodecs(): Promise<void> {
    for (const { stream } of this.#songs) (await this.#codecs.createDecoder(stream, { isComplete: true })).close();
    this.#codecs.releaseEncoder(await this.#codecs.acquireEncoder());
  }

  #closeDecoder(decoder: Decoder): void {
    this.#openCodecs -= 1;
    decoder.close();
  }
}

function bound(decoder: Decoder): Omit<Decoder, "close"> {
  return {
    decode: (packet) => decoder.decode(packet),
    flush: () => decoder.flush(),
    reset: () => decoder.reset(),
  };
}

function expectNear(positionMs: number, receivedMs: number, by: string): void {
  if (Math.abs(positionMs - receivedMs) <= POSITION_MS_MAX) return;
  throw new Error(`the position says ${positionMs} ms, the listener's ${by} ${receivedMs} ms`);
}
