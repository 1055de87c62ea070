// Draws the requests of the moments: what a client may ask of a player next. Pure but for its randomness. Lab only.

import type { IssuedVoice } from "../discord/voice-session.ts";
import { type Changes, type Expected, type ExpectedFilters, positionAt, type Request } from "./player-model.ts";
import { COUNTED_SONG_SECONDS, SHORT_SONG_SECONDS } from "./surroundings.ts";

export interface RequestSources {
  readonly random: () => number;
  /** A number that was not used before. */
  readonly nextNumber: () => number;
  readonly issueVoice: () => IssuedVoice;
  /** Encoded tracks. */
  readonly songs: { readonly long: string; readonly short: string };
}

type Patch = Extract<Request, { kind: "patch" }>;

const SHARE_SHORT = 0.3;
const LONG_MS = COUNTED_SONG_SECONDS * 1000;
const SHORT_MS = SHORT_SONG_SECONDS * 1000;

/** A request that makes sense for a player in this state. */
export function drawRequest(expected: Expected, sources: RequestSources, nowMs: number): Request {
  const { random } = sources;
  if (expected === undefined) return withVoice(playRequest(sources), sources.issueVoice());
  const dice = random();
  if (dice < 0.06) return { kind: "delete" };
  if (expected.track === undefined || dice < 0.26) return playRequest(sources);
  if (dice < 0.34) return patch({ track: { encoded: null } }, { play: null });
  if (dice < 0.48) return paused(!expected.isPaused);
  if (dice < 0.6) return seekRequest(expected.track.endMs, random());
  if (dice < 0.72) return volumeRequest(Math.floor(random() * 200));
  if (dice < 0.82) return filterRequest(sources);
  if (dice < 0.92) return noteRequest(expected.track.number, sources.nextNumber());
  return endRequest(positionAt(expected, nowMs) + 400 + Math.round(random() * 3000));
}

/** Lets the track end soon. */
export function endSoon(expected: Expected, nowMs: number, afterMs: number): Request | undefined {
  if (expected?.track === undefined || expected.isPaused) return undefined;
  return endRequest(positionAt(expected, nowMs) + afterMs);
}

function playRequest({ random, nextNumber, songs }: RequestSources): Patch {
  const isShort = random() < SHARE_SHORT;
  const number = nextNumber();
  const position = isShort ? 0 : Math.floor(random() * 200_000);
  const isPaused = random() < 0.2;
  const track = { encoded: isShort ? songs.short : songs.long, userData: { number, note: number } };
  return patch(
    { track, position, ...(isPaused && { paused: true }) },
    { play: { number, lengthMs: isShort ? SHORT_MS : LONG_MS }, note: number, positionMs: position, isPaused },
  );
}

function withVoice({ body, changes }: Patch, voice: IssuedVoice): Request {
  return patch({ ...body, voice }, { ...changes, voiceToken: voice.token });
}

function paused(isPaused: boolean): Patch {
  return patch({ paused: isPaused }, { isPaused });
}

function seekRequest(endMs: number, share: number): Patch {
  const position = Math.floor(share * Math.max(0, Math.min(endMs, 400_000) - 1500));
  return patch({ position }, { positionMs: position });
}

function volumeRequest(volume: number): Patch {
  return patch({ volume }, { volume });
}

function filterRequest({ random }: RequestSources): Patch {
  const choices: readonly ExpectedFilters[] = [
    {},
    { rotation: { rotationHz: 0.2 } },
    { timescale: { speed: 1.25 } },
    { tremolo: { frequency: 4, depth: 0.5 } },
  ];
  const filters = choices[Math.floor(random() * choices.length)] ?? {};
  return patch({ filters }, { filters });
}

function noteRequest(number: number, note: number): Patch {
  return patch({ track: { userData: { number, note } } }, { note });
}

function endRequest(endMs: number): Patch {
  const endTime = Math.round(endMs);
  return patch({ endTime }, { endMs: endTime });
}

function patch(body: Readonly<Record<string, unknown>>, changes: Changes): Patch {
  return { kind: "patch", body, changes };
}
