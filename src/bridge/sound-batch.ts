// How the sound of many players is made, in one flat list of numbers, as positions are (position-batch.ts): twice a
// second, of every player that has a track.

import type { PlayerId } from "./commands.ts";

/** How packets come to be. `opening`: none has been made of this track yet. */
export const SOUND_MODES = ["opening", "passthrough", "transcoding"] as const;

/** One of these. */
export type SoundMode = (typeof SOUND_MODES)[number];

/** How the sound of one player is made. */
export interface SoundState {
  readonly playerId: PlayerId;
  /** Frames sent since the batch before. */
  readonly framesSent: number;
  readonly mode: SoundMode;
  /** Sound that is read and not yet sent, milliseconds of track time. */
  readonly queuedMs: number;
  /** Memory the track holds: bytes read ahead, tables, decoder. */
  readonly heldBytes: number;
  /** Time of its thread that it has used since the batch before, milliseconds. */
  readonly usedMs: number;
}

/** playerId, framesSent, mode, queuedMs, heldBytes, usedMs. */
const FIELDS = 6;

/** The states of many players, one after the other; made by `packSounds`. */
export type SoundBatch = readonly number[];

/** Their order is kept. */
export function packSounds(states: readonly SoundState[]): SoundBatch {
  const values: number[] = [];
  for (const { playerId, framesSent, mode, queuedMs, heldBytes, usedMs } of states) {
    values.push(playerId, framesSent, SOUND_MODES.indexOf(mode), queuedMs, heldBytes, usedMs);
  }
  return values;
}

/** What `packSounds` was given. */
export function unpackSounds(values: SoundBatch): SoundState[] {
  const states: SoundState[] = [];
  for (let at = 0; at + FIELDS <= values.length; at += FIELDS) {
    const [playerId = 0, framesSent = 0, mode = 0, queuedMs = 0, heldBytes = 0, usedMs = 0] = values.slice(
      at,
      at + FIELDS,
    );
    states.push({ playerId, framesSent, mode: SOUND_MODES[mode] ?? "opening", queuedMs, heldBytes, usedMs });
  }
  return states;
}
