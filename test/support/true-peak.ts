// The highest absolute value of audio between its samples, found independently of the node: eight times the rate, a
// Blackman-Harris windowed sinc of 64 taps.

const FACTOR = 8;
const HALF_TAPS = 32;
/** Audio never exceeds the samples on both sides by more than this factor; no relevant peak is missed. */
const OVERSHOOT_MAX = 2.5;

const ROWS = Array.from({ length: FACTOR - 1 }, (_, row) => sinc(1, HALF_TAPS, (row + 1) / FACTOR));

export function truePeak(audio: Float32Array): number {
  const samplePeak = audio.reduce((top, value) => Math.max(top, Math.abs(value)), 0);
  let highest = samplePeak;
  for (let at = HALF_TAPS - 1; at < audio.length - HALF_TAPS; at++) {
    if (Math.max(Math.abs(audio[at]!), Math.abs(audio[at + 1]!)) * OVERSHOOT_MAX < samplePeak) continue;
    for (const taps of ROWS) {
      let value = 0;
      for (let tap = 0; tap < taps.length; tap++) value += taps[tap]! * audio[at - HALF_TAPS + 1 + tap]!;
      highest = Math.max(highest, Math.abs(value));
    }
  }
  return highest;
}

/** Audio without frequencies above `hz`, at 48 kHz. */
export function lowPassed(audio: Float32Array, hz: number): Float32Array {
  const halfTaps = 128;
  const taps = sinc((2 * hz) / 48_000, halfTaps, 0);
  return audio.map((_, at) => {
    let value = 0;
    for (let tap = 0; tap < taps.length; tap++) value += taps[tap]! * (audio[at - halfTaps + 1 + tap] ?? 0);
    return value;
  });
}

function sinc(width: number, halfTaps: number, offset: number): Float64Array {
  const taps = Array.from({ length: 2 * halfTaps }, (_tap, index) => {
    const distance = index - (halfTaps - 1) - offset;
    const turn = (Math.PI * distance) / halfTaps;
    const window = 0.35875 + 0.48829 * Math.cos(turn) + 0.14128 * Math.cos(2 * turn) + 0.01168 * Math.cos(3 * turn);
    const angle = Math.PI * distance * width;
    return window * (angle === 0 ? 1 : Math.sin(angle) / angle);
  });
  const sum = taps.reduce((total, tap) => total + tap, 0);
  return Float64Array.from(taps, (tap) => tap / sum);
}
