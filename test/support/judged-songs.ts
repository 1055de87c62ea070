// Short songs for judging encoders: each with one character, the same every time.

import { seededRandom } from "../../lab/seeded-random.ts";
import type { Stereo } from "../../opus-encoder/lab/ear-model.ts";

type Voice = (at: number) => readonly [number, number];

function songOf(seconds: number, voice: Voice): Stereo {
  const length = seconds * 48_000;
  const song = [new Float32Array(length), new Float32Array(length)] as const;
  for (let at = 0; at < length; at++) {
    const [left, right] = voice(at);
    song[0][at] = left;
    song[1][at] = right;
  }
  return song;
}

/** A held chord, with overtones. */
export function chordSong(seconds: number, gain = 1): Stereo {
  return songOf(seconds, (at) => {
    let [left, right] = [0, 0];
    for (const [index, hertz] of [220, 277.2, 329.6, 440].entries()) {
      for (let overtone = 1; overtone <= 8; overtone++) {
        const tone = (0.08 / overtone) * Math.sin((2 * Math.PI * hertz * overtone * at) / 48_000);
        left += tone * (1 + 0.2 * index);
        right += tone * (1.6 - 0.2 * index);
      }
    }
    return [gain * left, gain * right];
  });
}

/** A soft chord, and a dry beat five times a second. */
export function beatSong(seconds: number): Stereo {
  const random = seededRandom(7);
  const chord = chordSong(seconds, 0.1);
  return songOf(seconds, (at) => {
    const beat = 0.7 * Math.exp(-(at % 9600) / 400) * (random() - 0.5) * (at % 9600 < 4800 ? 1 : 0);
    return [chord[0][at]! + beat, chord[1][at]! + beat];
  });
}

/** Noise with more energy in the low frequencies, mostly different on both sides. */
export function noiseSong(seconds: number): Stereo {
  const random = seededRandom(8);
  let [left, right] = [0, 0];
  return songOf(seconds, () => {
    const middle = random() - 0.5;
    left = 0.8 * left + 0.15 * (middle + random() - 0.5);
    right = 0.8 * right + 0.15 * (middle + random() - 0.5);
    return [left, right];
  });
}
