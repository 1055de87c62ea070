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

type Kind = "plain" | "paused" | "filtered" | "fast" | "ending" | "soft";

/** In turn: the first six are all kinds. */
const KINDS: readonly Kind[] = ["plain", "paused", "filtered", "fast", "ending", "soft"];
const MORE_KINDS: readonly Kind[] = ["plain", "plain", "plain", "paused"];

/** So many players, of all kinds in turn. */
export function castOf(count: number, random: () => number): readonly CastPlayer[] {
  const kinds = [...KINDS, ...MORE_KINDS];
  return Array.from({ length: count }, (_, index) => playerOf(index, kinds[index % kinds.length] ?? "plain", random));
}

function playerOf(index: number, kind: Kind, random: () => number): CastPlayer {
  const position = Math.round(POSITION_MS_MIN + random() * (POSITION_MS_MAX - POSITION_MS_MIN));
  const isChanged = kind === "soft" || kind === "filtered" || kind === "fast";
  const isPaused = kind === "paused";
  const endMs = kind === "ending" ? END_MS : undefined;
  return {
    guildId: String(FIRST_GUILD + index),
    song: isChanged ? DECODED_SONG : COUNTED_SONG,
    isPaused,
    rate: isPaused ? 0 : kind === "fast" ? FAST : 1,
    isCounted: !isChanged,
    endMs,
    body: { position, paused: isPaused, ...bodyOf(kind) },
  };
}

function bodyOf(kind: Kind): object {
  if (kind === "ending") return { endTime: END_MS };
  if (kind === "soft") return { volume: 40 };
  if (kind === "filtered") return { filters: { equalizer: [{ band: 1, gain: 0.2 }] } };
  return kind === "fast" ? { filters: { timescale: { speed: FAST } } } : {};
}

/** The user data of its track. */
export function userDataOf(index: number): Readonly<Record<string, unknown>> {
  return { requester: String(index), note: `für ${index} ♫` };
}
