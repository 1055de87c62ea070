// The players of the rounds: what each of them plays and how, drawn from a seed; some are paused, filtered, soft, fast,
// have an end or user data. Pure. Lab only.

import { COUNTED_SONG, DECODED_SONG } from "./surroundings.ts";

export interface CastPlayer {
  readonly guildId: string;
  readonly song: string;
  readonly isPaused: boolean;
  /** Milliseconds of track time per millisecond while it plays. */
  readonly rate: number;
  /** The song's packets are sent as they are, with their numbers. */
  readonly isCounted: boolean;
  readonly endMs: number | undefined;
  /** Without voice and song. */
  readonly body: Readonly<Record<string, unknown>>;
}

const FIRST_GUILD = 400_000;
/** Far enough from both ends of the counted song for all rounds. */
const POSITION_MS_MIN = 20_000;
const POSITION_MS_MAX = 300_000;
const END_MS = 800_000;
const FAST = 1.2;

/** In ten players: four unchanged, one soft, one with an equalizer, one fast, one with an end, two paused. */
export function castOf(count: number, random: () => number): readonly CastPlayer[] {
  return Array.from({ length: count }, (_, index) => playerOf(index, random));
}

function playerOf(index: number, random: () => number): CastPlayer {
  const kind = index % 10;
  const position = Math.round(POSITION_MS_MIN + random() * (POSITION_MS_MAX - POSITION_MS_MIN));
  const isFast = kind === 6;
  const isChanged = kind === 4 || kind === 5 || isFast;
  const isPaused = kind >= 8;
  const endMs = kind === 7 ? END_MS : undefined;
  const body = {
    position,
    paused: isPaused,
    ...(endMs !== undefined && { endTime: endMs }),
    ...(kind === 4 && { volume: 40 }),
    ...(kind === 5 && { filters: { equalizer: [{ band: 1, gain: 0.2 }] } }),
    ...(isFast && { filters: { timescale: { speed: FAST } } }),
  };
  return {
    guildId: String(FIRST_GUILD + index),
    song: isChanged ? DECODED_SONG : COUNTED_SONG,
    isPaused,
    rate: isPaused ? 0 : isFast ? FAST : 1,
    isCounted: !isChanged,
    endMs,
    body,
  };
}

/** The user data of its track. */
export function userDataOf(index: number): Readonly<Record<string, unknown>> {
  return { requester: String(index), note: `für ${index} ♫` };
}
