// The audio state of many players in one flat list of numbers, like positions (position-batch.ts): sent twice a second
// for every player that has a track.

import type { PlayerId } from "./commands.ts";

/** How packets are made. `opening`: none has been made for this track yet. */
export const AUDIO_MODES = ["opening", "passthrough", "transcoding"] as const;

/** One of these. */
type AudioMode = (typeof AUDIO_MODES)[number];

/** How the audio of one player is made. */
export interface AudioState {
  readonly playerId: PlayerId;
  /** Frames sent since the batch before. */
  readonly framesSent: number;
  readonly mode: AudioMode;
  /** Audio that is read and not yet sent, milliseconds of track time. */
  readonly queuedMs: number;
  /** Memory the track holds: bytes read ahead, tables, decoder. */
  readonly heldBytes: number;
  /** Time of its thread that it has used since the batch before, milliseconds. */
  readonly usedMs: number;
}

/** playerId, framesSent, mode, queuedMs, heldBytes, usedMs. */
const FIELDS = 6;

/** The states of many players, one after the other; made by `packAudioStates`. */
export type AudioBatch = readonly number[];

/** The order of `states` is preserved. */
export function packAudioStates(states: readonly AudioState[]): AudioBatch {
  const values: number[] = [];
  for (const { playerId, framesSent, mode, queuedMs, heldBytes, usedMs } of states) {
    values.push(playerId, framesSent, AUDIO_MODES.indexOf(mode), queuedMs, heldBytes, usedMs);
  }
  return values;
}

/** Reverses `packAudioStates`. */
export function unpackAudioStates(values: AudioBatch): AudioState[] {
  const states: AudioState[] = [];
  for (let at = 0; at + FIELDS <= values.length; at += FIELDS) {
    const [playerId = 0, framesSent = 0, mode = 0, queuedMs = 0, heldBytes = 0, usedMs = 0] = values.slice(
      at,
      at + FIELDS,
    );
    states.push({ playerId, framesSent, mode: AUDIO_MODES[mode] ?? "opening", queuedMs, heldBytes, usedMs });
  }
  return states;
}
