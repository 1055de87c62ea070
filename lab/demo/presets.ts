// The filters that bots offer by name, as the filters object a client sends: to be tried with `demo SONG --filter
// NAME`.

const tonearm = (filters: object) => ({ pluginFilters: { tonearm: filters } });
const bands = (gains: readonly number[]) => gains.map((gain, band) => ({ band, gain }));

export const PRESETS: Readonly<Record<string, object>> = {
  "8d": { rotation: { rotationHz: 0.2 } },
  bassboost: {
    equalizer: bands([0.2, 0.15, 0.1, 0.05, 0, -0.05, -0.1, -0.1, -0.1, -0.1, -0.1, -0.1, -0.1, -0.1, -0.1]),
  },
  cathedral: tonearm({ reverb: { roomSize: 0.8, damping: 0.4, mix: 0.4 } }),
  chipmunk: { timescale: { speed: 1.05, pitch: 1.35, rate: 1.25 } },
  chorus: tonearm({ chorus: {} }),
  darthvader: { timescale: { speed: 0.975, pitch: 0.5, rate: 0.8 } },
  daycore: { timescale: { speed: 0.85, pitch: 0.85 } },
  distortion: {
    distortion: {
      sinOffset: 0,
      sinScale: 1,
      cosOffset: 0,
      cosScale: 1,
      tanOffset: 0,
      tanScale: 1,
      offset: 0,
      scale: 1.5,
    },
  },
  doubletime: { timescale: { speed: 1.165 } },
  earrape: { equalizer: bands(Array.from({ length: 15 }, () => 0.25)), volume: 5 },
  echo: tonearm({ echo: {} }),
  electronic: {
    equalizer: bands([0.375, 0.35, 0.125, 0, 0, -0.125, -0.125, 0, 0.25, 0.125, 0.15, 0.2, 0.25, 0.35, 0.4]),
  },
  flat: { equalizer: bands(Array.from({ length: 15 }, () => 0)) },
  flanger: tonearm({ flanger: {} }),
  karaoke: { karaoke: { level: 1, monoLevel: 1, filterBand: 220, filterWidth: 100 } },
  loudness: tonearm({ loudness: {} }),
  lowpass: { lowPass: { smoothing: 20 } },
  mono: { channelMix: { leftToLeft: 0.5, leftToRight: 0.5, rightToLeft: 0.5, rightToRight: 0.5 } },
  nightcore: { timescale: { speed: 1.2, pitch: 1.2, rate: 1 } },
  night: tonearm({ highPass: { frequency: 60 }, compressor: { threshold: -30, gain: 8 } }),
  party: { equalizer: bands([-0.2, 0.25, 0.25, 0.15, 0, 0, 0, 0, 0, 0, 0, 0.1, 0.15, 0.2, 0.2]) },
  phaser: tonearm({ phaser: {} }),
  pop: {
    equalizer: bands([-0.09, -0.09, -0.09, 0.03, 0.07, 0.1, 0.13, 0.13, 0.1, 0.05, 0, -0.05, -0.09, -0.09, -0.09]),
  },
  radio: {
    equalizer: bands([-0.25, -0.25, -0.25, -0.25, -0.2, -0.1, 0.1, 0.25, 0.3, 0.3, 0.2, 0, -0.2, -0.25, -0.25]),
  },
  slow: { timescale: { speed: 0.7 } },
  slowedreverb: { timescale: { speed: 0.85, pitch: 0.85 }, ...tonearm({ reverb: { roomSize: 0.6, mix: 0.35 } }) },
  soft: { lowPass: { smoothing: 8 } },
  telephone: { lowPass: { smoothing: 6 }, ...tonearm({ highPass: { frequency: 500 } }) },
  treblebass: { equalizer: bands([0.3, 0.25, 0.2, 0.1, 0, -0.05, -0.1, -0.1, -0.05, 0, 0.1, 0.2, 0.25, 0.3, 0.3]) },
  tremolo: { tremolo: { frequency: 4, depth: 0.75 } },
  vaporwave: {
    equalizer: bands([0.15, 0.15]),
    timescale: { pitch: 0.85, speed: 0.85 },
    tremolo: { depth: 0.3, frequency: 14 },
  },
  vibrato: { vibrato: { frequency: 4, depth: 0.75 } },
};
