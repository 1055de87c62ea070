// The protocol's names of the built-in filters (protocol-v4.md section 3.3): what can be switched off, sent and echoed.

/** All filters in the order in which they are listed and echoed. */
export const FILTER_NAMES = [
  "volume",
  "equalizer",
  "karaoke",
  "timescale",
  "tremolo",
  "vibrato",
  "distortion",
  "rotation",
  "channelMix",
  "lowPass",
] as const;
