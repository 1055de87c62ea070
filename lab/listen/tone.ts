// Pure tones: making them, and measuring level, pitch and what else there is in a recording of one. Lab only.

interface ToneOptions {
  readonly frequencyHz: number;
  readonly sampleRateHz: number;
  readonly lengthSamples: number;
  /** Peak, default 0.5. */
  readonly amplitude?: number;
  /** Radians at the first sample, default 0. */
  readonly phase?: number;
}

/** A sine. */
export function makeTone(options: ToneOptions): Float32Array {
  const { frequencyHz, sampleRateHz, lengthSamples, amplitude = 0.5, phase = 0 } = options;
  const step = (2 * Math.PI * frequencyHz) / sampleRateHz;
  return Float32Array.from({ length: lengthSamples }, (_, index) => amplitude * Math.sin(phase + step * index));
}

interface ToneFit {
  readonly amplitude: number;
  /** Radians at the first sample, as in `makeTone`. */
  readonly phase: number;
  /** Power of everything that is not this tone (nor a constant), relative to a full-scale sine, in dB. */
  readonly residueDb: number;
}

/** Least-squares fit of `a sin + b cos + c` at a known frequency. */
export function fitTone(samples: Float32Array, frequencyHz: number, sampleRateHz: number): ToneFit {
  const step = (2 * Math.PI * frequencyHz) / sampleRateHz;
  const sums = { ss: 0, sc: 0, cc: 0, s: 0, c: 0, n: samples.length, xs: 0, xc: 0, x: 0 };
  for (let index = 0; index < samples.length; index++) {
    const sine = Math.sin(step * index);
    const cosine = Math.cos(step * index);
    const value = samples[index]!;
    sums.ss += sine * sine;
    sums.sc += sine * cosine;
    sums.cc += cosine * cosine;
    sums.s += sine;
    sums.c += cosine;
    sums.xs += value * sine;
    sums.xc += value * cosine;
    sums.x += value;
  }
  const [a, b, c] = solveThree(
    [sums.ss, sums.sc, sums.s, sums.sc, sums.cc, sums.c, sums.s, sums.c, sums.n],
    [sums.xs, sums.xc, sums.x],
  );
  let power = 0;
  for (let index = 0; index < samples.length; index++) {
    const rest = samples[index]! - a * Math.sin(step * index) - b * Math.cos(step * index) - c;
    power += rest * rest;
  }
  return {
    amplitude: Math.hypot(a, b),
    phase: Math.atan2(b, a),
    residueDb: 10 * Math.log10((2 * power) / samples.length + 1e-30),
  };
}

/**
 * How much higher (or lower) than `frequencyHz` a recorded tone is, in cents: from the rotation of its phase between
 * short pieces. Good for deviations up to a few per cent; undefined when there is no such tone.
 */
export function pitchCents(samples: Float32Array, frequencyHz: number, sampleRateHz: number): number | undefined {
  const pieceSamples = Math.min(Math.floor(samples.length / 8), Math.floor(sampleRateHz / 40));
  if (pieceSamples < (4 * sampleRateHz) / frequencyHz) return undefined;
  const pieceCount = Math.floor(samples.length / pieceSamples);
  let turn = 0;
  let before: number | undefined;
  let sumIndexTurn = 0;
  let sumIndexSquare = 0;
  let level = 0;
  for (let piece = 0; piece < pieceCount; piece++) {
    const start = piece * pieceSamples;
    const fit = fitTone(samples.subarray(start, start + pieceSamples), frequencyHz, sampleRateHz);
    level += fit.amplitude / pieceCount;
    const phase = fit.phase - (2 * Math.PI * frequencyHz * start) / sampleRateHz;
    if (before !== undefined) turn += wrap(phase - before);
    before = phase;
    const centred = piece - (pieceCount - 1) / 2;
    sumIndexTurn += centred * turn;
    sumIndexSquare += centred * centred;
  }
  if (level < 1e-4) return undefined;
  const turnPerSample = sumIndexTurn / sumIndexSquare / pieceSamples;
  return 1200 * Math.log2(1 + (turnPerSample * sampleRateHz) / (2 * Math.PI * frequencyHz));
}

function wrap(angle: number): number {
  return angle - 2 * Math.PI * Math.round(angle / (2 * Math.PI));
}

/** Cramer's rule for a 3 by 3 system, rows first. */
function solveThree(m: readonly number[], v: readonly number[]): readonly [number, number, number] {
  const [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0, i = 0] = m;
  const [x = 0, y = 0, z = 0] = v;
  const determinant = a * (e * i - f * h) - b * (d * i - f * g) + c * (d * h - e * g);
  return [
    (x * (e * i - f * h) - b * (y * i - f * z) + c * (y * h - e * z)) / determinant,
    (a * (y * i - f * z) - x * (d * i - f * g) + c * (d * z - y * g)) / determinant,
    (a * (e * z - y * h) - b * (d * z - y * g) + x * (d * h - e * g)) / determinant,
  ];
}
