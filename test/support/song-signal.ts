// The song of the audio tests: on every channel a tone, different for each, under one that wanders irregularly, so that
// each moment is unique and any codec preserves it well. As samples and as an expression for ffmpeg's aevalsrc.

interface SongOptions {
  readonly sampleRateHz: number;
  readonly lengthMs: number;
}

/** Fade at both ends, so that the ends do not click. */
const FADE_S = 0.005;
/** Steady tones by channel. */
const TONES_HZ = [440, 660, 554, 70, 370, 831, 495, 740] as const;
/**
 * The wandering tone: its middle, and per swing the rate, the width in Hz and the phase. It stays between 300 and 2100
 * Hz.
 */
const WANDER_HZ = 1200;
const SWINGS = [
  { rateHz: 0.437, widthHz: 500, phase: 0 },
  { rateHz: 0.271, widthHz: 400, phase: 1 },
] as const;
const TONE_SHARE = 0.25;
const WANDER_SHARE = 0.2;

/** One channel of the song. */
export function makeSong(channel: number, { sampleRateHz, lengthMs }: SongOptions): Float32Array {
  const lengthS = lengthMs / 1000;
  const toneHz = TONES_HZ[channel % TONES_HZ.length]!;
  return Float32Array.from({ length: Math.round(lengthS * sampleRateHz) }, (_, index) => {
    const t = index / sampleRateHz;
    const fade = Math.min(1, t / FADE_S, (lengthS - t) / FADE_S);
    const swing = SWINGS.reduce(
      (sum, { rateHz, widthHz, phase }) => sum + (widthHz / rateHz) * Math.sin(2 * Math.PI * rateHz * t + phase),
      0,
    );
    const wander = Math.sin(2 * Math.PI * WANDER_HZ * t + swing + channel);
    return fade * (TONE_SHARE * Math.sin(2 * Math.PI * toneHz * t) + WANDER_SHARE * wander);
  });
}

/** The song as an expression for `aevalsrc`, channels separated by `|`; put it in single quotes. */
export function songExpression(channelCount: number, lengthMs: number): string {
  const swings = SWINGS.map(({ rateHz, widthHz, phase }) => `${widthHz / rateHz}*sin(2*PI*${rateHz}*t+${phase})`);
  const fade = `min(1,min(t,${lengthMs / 1000}-t)/${FADE_S})`;
  const channels = Array.from({ length: channelCount }, (_, channel) => {
    const tone = `${TONE_SHARE}*sin(2*PI*${TONES_HZ[channel % TONES_HZ.length]}*t)`;
    return `${fade}*(${tone}+${WANDER_SHARE}*sin(2*PI*${WANDER_HZ}*t+${swings.join("+")}+${channel}))`;
  });
  return channels.join("|");
}
