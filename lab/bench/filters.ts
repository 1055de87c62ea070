// The cost of each filter: CPU milliseconds per second of stereo audio, through a player's whole chain, next to the
// Opus encoder in the same run. `npm run bench -- filters`.

import { checkedFilterSettings } from "../../src/control/api/filter-settings.ts";
import { filtersBody } from "../../src/control/protocol/filter-schemas.ts";
import { EffectChain } from "../../src/media/effects/effect-chain.ts";
import { OpusFrameEncoder } from "../../src/media/encode/opus-encoder.ts";

const ROUNDS = 12;
const SECONDS = 10;
const FRAME_SAMPLES = 960;
const FRAMES_PER_SECOND = 50;

/** As clients send them. */
const CHAINS: Readonly<Record<string, object>> = {
  "none (queue and check of the samples)": {},
  volume: { volume: 0.5 },
  "equalizer, 15 bands": { equalizer: Array.from({ length: 15 }, (_, band) => ({ band, gain: 0.1 })) },
  "equalizer, 5 bands": { equalizer: Array.from({ length: 5 }, (_, band) => ({ band, gain: 0.1 })) },
  karaoke: { karaoke: {} },
  "timescale, nightcore": { timescale: { speed: 1.2, pitch: 1.2 } },
  "timescale, speed 1.5": { timescale: { speed: 1.5 } },
  "timescale, speed 0.7, pitch 1.3": { timescale: { speed: 0.7, pitch: 1.3 } },
  tremolo: { tremolo: {} },
  vibrato: { vibrato: {} },
  "distortion, mild": { distortion: { sinScale: 2, cosScale: 0, tanScale: 0, tanOffset: 1 } },
  "distortion, clipping": { distortion: { scale: 5, offset: 0.2 } },
  rotation: { rotation: { rotationHz: 0.2 } },
  channelMix: { channelMix: { leftToRight: 0.5, rightToLeft: 0.5 } },
  lowPass: { lowPass: { smoothing: 20 } },
  ...Object.fromEntries(
    ["highPass", "echo", "reverb", "chorus", "phaser", "flanger", "compressor"].map((name) => [
      `tonearm: ${name}`,
      { pluginFilters: { tonearm: { [name]: {} } } },
    ]),
  ),
  "tonearm: loudness": { pluginFilters: { tonearm: { loudness: {} } } },
  "tonearm: fadeOut, while it lasts": { pluginFilters: { tonearm: { fadeOut: { duration: 30_000 } } } },
  "tonearm: loudness, all above the ceiling": { pluginFilters: { tonearm: { loudness: { target: -5, peak: -9 } } } },
};

/** A minute of nothing in particular, over and over. */
class Song {
  readonly lengthSamples = 48_000;
  readonly #audio = Float32Array.from(
    { length: 48_000 },
    (_, at) => 0.3 * Math.sin(at * 0.05) + 0.1 * Math.sin(at * at * 1e-5),
  );
  #at = 0;

  readInto(left: Float32Array, right: Float32Array, lengthSamples: number): number {
    for (let sample = 0; sample < lengthSamples; sample++) {
      const value = this.#audio[this.#at]!;
      left[sample] = value;
      right[sample] = 0.7 * value;
      if (++this.#at === this.#audio.length) this.#at = 0;
    }
    return lengthSamples;
  }
}

/** The best of several rounds: what the machine can do undisturbed. */
function costMs(work: () => void): number {
  let best = Number.POSITIVE_INFINITY;
  for (let round = 0; round < ROUNDS; round++) {
    const before = process.cpuUsage();
    work();
    const used = process.cpuUsage(before);
    best = Math.min(best, (used.user + used.system) / 1000 / SECONDS);
  }
  return best;
}

const left = new Float32Array(FRAME_SAMPLES);
const right = new Float32Array(FRAME_SAMPLES);
const song = new Song();
const encoder = await OpusFrameEncoder.create({ complexity: 10, bitrateBps: 128_000 });
const encoderMs = costMs(() => {
  for (let frame = 0; frame < SECONDS * FRAMES_PER_SECOND; frame++) {
    song.readInto(left, right, FRAME_SAMPLES);
    encoder.encode(left, right);
  }
});
encoder.close();
print("Opus encode, complexity 10", encoderMs);

let emptyMs = 0;
for (const [name, filters] of Object.entries(CHAINS)) {
  const chain = new EffectChain();
  chain.setFilters(checkedFilterSettings(filtersBody.parse(filters)));
  chain.begin();
  const cost = costMs(() => {
    for (let frame = 0; frame < SECONDS * FRAMES_PER_SECOND; frame++) {
      chain.prepare(song, FRAME_SAMPLES);
      // As far from the end as the song is long: a fade-out is in progress.
      chain.fades.setPosition(SECONDS * 48_000, SECONDS * 48_000);
      chain.render(song, left, right, FRAME_SAMPLES);
      chain.level(left, right, FRAME_SAMPLES);
    }
  });
  if (Object.keys(filters).length === 0) emptyMs = cost;
  print(name, Object.keys(filters).length === 0 ? cost : cost - emptyMs);
}

function print(name: string, milliseconds: number): void {
  const share = ((100 * milliseconds) / encoderMs).toFixed(1);
  console.log(`${name.padEnd(40)}${milliseconds.toFixed(3).padStart(8)} ms/s${share.padStart(7)} % of the encoder`);
}
