// A track's loudness from its tags: ReplayGain, and R128_TRACK_GAIN of Opus. Audio thread.

import type { AudioStream } from "../format/packet.ts";
import type { Tags } from "./tags.ts";

/** The target of ReplayGain 2.0 (equal to the 89 dB of ReplayGain 1). */
const REPLAY_GAIN_LUFS = -18;
/** RFC 7845 section 5.2.1: the target of R128_TRACK_GAIN, on top of the header's output gain. */
const R128_GAIN_LUFS = -23;
/** Tags that make a track quieter or louder than this are wrong. */
const LOUDNESS_LUFS_MIN = -60;
const LOUDNESS_LUFS_MAX = 0;
/** A single channel is measured alone, but played on both sides: 10 log10(2). */
const MONO_LU = 3.01;

/**
 * Returns the stream with the loudness from the tags. Audio that is mixed down changes its loudness: then it stays
 * undefined.
 */
export function withTaggedLoudness(stream: AudioStream, tags: Tags): AudioStream {
  const loudnessLufs = taggedLoudness(tags);
  if (loudnessLufs === undefined || stream.channelCount > 2) return stream;
  return { ...stream, loudnessLufs: loudnessLufs + (stream.channelCount === 1 ? MONO_LU : 0) };
}

function taggedLoudness({ r128Gain, replayGain }: Tags): number | undefined {
  // A whole number in 1/256 dB.
  const r128 = /^[+-]?\d{1,5}$/.test(r128Gain ?? "") ? R128_GAIN_LUFS - Number(r128Gain) / 256 : undefined;
  if (r128 !== undefined && isPlausible(r128)) return r128;
  const gain = /^([+-]?\d{1,3}(?:[.,]\d{1,6})?)\s*(?:dB)?$/i.exec(replayGain ?? "")?.[1]?.replace(",", ".");
  const replay = gain === undefined ? undefined : REPLAY_GAIN_LUFS - Number(gain);
  return replay !== undefined && isPlausible(replay) ? replay : undefined;
}

function isPlausible(loudnessLufs: number): boolean {
  return loudnessLufs >= LOUDNESS_LUFS_MIN && loudnessLufs <= LOUDNESS_LUFS_MAX;
}
