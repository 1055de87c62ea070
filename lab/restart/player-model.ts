// What a client may expect of one player: the state after each of its requests, and how that differs from a player that
// the node reports. Pure; times are Unix epoch milliseconds. Lab only.

import type { PlayerView } from "../test-environment/bot.ts";

/** A played track; `number` is in its user data and never used twice. */
interface ExpectedTrack {
  readonly number: number;
  /** Changes with each request for user data. */
  readonly note: number;
  readonly lengthMs: number;
  /** Where it ends: by its length or its end time. */
  readonly endMs: number;
  /** Asked for or reported: it is not before that, unless the client seeks. It stands still while voice is joined. */
  readonly floorMs: number;
  readonly positionMs: number;
  readonly atMs: number;
  /** The position was reported by the node, or asked for, while the player was paused. */
  readonly isExact: boolean;
}

export interface ExpectedPlayer {
  readonly track: ExpectedTrack | undefined;
  readonly isPaused: boolean;
  readonly volume: number;
  readonly filters: ExpectedFilters;
  readonly voiceToken: string;
}

export type ExpectedFilters = Readonly<Record<string, unknown>>;

/** Undefined: no player. */
export type Expected = ExpectedPlayer | undefined;

/** A request for one player. */
export type Request =
  | { readonly kind: "delete" }
  | {
      readonly kind: "patch";
      readonly body: Readonly<Record<string, unknown>>;
      readonly changes: Changes;
    };

/** What a PATCH changes. */
export interface Changes {
  readonly voiceToken?: string;
  /** Null stops. */
  readonly play?: { readonly number: number; readonly lengthMs: number } | null;
  readonly note?: number;
  readonly isPaused?: boolean;
  readonly volume?: number;
  readonly filters?: ExpectedFilters;
  readonly positionMs?: number;
  readonly endMs?: number;
}

/** Positions of playing tracks: restoring, buffering and answers take their time. */
const POSITION_TOLERANCE_MS = 1500;
/** Frames that were rendered ahead when a pause came are heard, and count some milliseconds later. */
const PAUSE_TOLERANCE_MS = 150;
const DEFAULTS = { track: undefined, isPaused: false, volume: 100, filters: {}, voiceToken: "" };

/** The state after a request that is carried out at that moment. */
export function after(before: Expected, request: Request, atMs: number): Expected {
  if (request.kind === "delete") return undefined;
  const player = before ?? DEFAULTS;
  const { play, isPaused, volume, filters, voiceToken } = request.changes;
  const isChangingTrack = play !== undefined;
  return {
    track: isChangingTrack ? played(request.changes, atMs) : changed(player, request.changes, atMs),
    isPaused: isChangingTrack ? (isPaused ?? false) : (isPaused ?? player.isPaused),
    volume: volume ?? player.volume,
    filters: filters ?? player.filters,
    voiceToken: voiceToken ?? player.voiceToken,
  };
}

function played({ play, note = 0, positionMs = 0, endMs, isPaused }: Changes, atMs: number): ExpectedTrack | undefined {
  if (!play) return undefined;
  const { number, lengthMs } = play;
  const isExact = isPaused === true;
  const floorMs = positionMs;
  return { number, note, lengthMs, endMs: endAhead(endMs, positionMs) ?? lengthMs, floorMs, positionMs, atMs, isExact };
}

function changed(player: ExpectedPlayer, changes: Changes, atMs: number): ExpectedTrack | undefined {
  const { track } = player;
  if (track === undefined) return undefined;
  const isStandingStill = player.isPaused && changes.isPaused !== false;
  const positionMs = changes.positionMs ?? positionAt(player, atMs);
  return {
    ...track,
    note: changes.note ?? track.note,
    endMs: changes.endMs === undefined ? track.endMs : (endAhead(changes.endMs, positionMs) ?? track.lengthMs),
    floorMs: changes.positionMs ?? track.floorMs,
    positionMs,
    atMs,
    isExact: isStandingStill && (track.isExact || changes.positionMs !== undefined),
  };
}

/** An end that is not ahead of the position is ignored. */
function endAhead(endMs: number | undefined, positionMs: number): number | undefined {
  return endMs !== undefined && endMs > positionMs ? endMs : undefined;
}

/** Where its track is at that moment, but not beyond its end. 0 without one. */
export function positionAt({ track, isPaused, filters }: ExpectedPlayer, atMs: number): number {
  if (track === undefined) return 0;
  const speed = Number((filters.timescale as { speed?: number } | undefined)?.speed ?? 1);
  return isPaused ? track.positionMs : track.positionMs + speed * (atMs - track.atMs);
}

/** The track number that a reported track has in its user data. */
export function trackNumber(track: unknown): number | undefined {
  const { userData } = (track ?? {}) as { readonly userData?: { readonly number?: unknown } };
  return typeof userData?.number === "number" ? userData.number : undefined;
}

/** The expectation with the position that the node reports for the same track. */
export function located(player: Expected, view: PlayerView | undefined): Expected {
  if (player?.track === undefined || view === undefined) return player;
  if (trackNumber(view.track) !== player.track.number || view.paused !== player.isPaused) return player;
  const { position, time } = view.state;
  const at = { floorMs: position, positionMs: position, atMs: time };
  return { ...player, track: { ...player.track, ...at, isExact: view.paused } };
}

/** All differences, in words; `ended` are tracks whose end by themselves has been reported to the client. */
export function differences(
  expected: Expected,
  view: PlayerView | undefined,
  ended: ReadonlySet<number>,
): readonly string[] {
  if (expected === undefined) return view === undefined ? [] : ["the player is there"];
  if (view === undefined) return ["the player is missing"];
  const is = (what: string, found: unknown, asked: unknown): readonly string[] =>
    JSON.stringify(found) === JSON.stringify(asked)
      ? []
      : [`${what} is ${JSON.stringify(found)}, not ${JSON.stringify(asked)}`];
  const { token } = (view as unknown as { readonly voice: { readonly token: string } }).voice;
  const filters = (view as unknown as { readonly filters: ExpectedFilters }).filters;
  return [
    ...is("paused", view.paused, expected.isPaused),
    ...is("volume", view.volume, expected.volume),
    ...is("voice token", token, expected.voiceToken),
    ...(haveFilters(filters, expected.filters) ? [] : is("filters", filters, expected.filters)),
    ...trackDifferences(expected, view, ended),
  ];
}

function trackDifferences(player: ExpectedPlayer, view: PlayerView, ended: ReadonlySet<number>): readonly string[] {
  const expected = player.track !== undefined && ended.has(player.track.number) ? undefined : player.track;
  const number = view.track === null ? undefined : (trackNumber(view.track) ?? "without its user data");
  if (number !== expected?.number) return [`track is ${number ?? "none"}, not ${expected?.number ?? "none"}`];
  if (expected === undefined) return [];
  const { note } = (view.track as unknown as { readonly userData: { readonly note?: unknown } }).userData;
  const { position, time } = view.state;
  const expectedMs = Math.min(positionAt(player, time), expected.endMs);
  const isExact = expected.isExact && player.isPaused;
  const toleranceMs = isExact ? PAUSE_TOLERANCE_MS : POSITION_TOLERANCE_MS;
  const fromMs = Math.round((isExact ? expectedMs : Math.min(expected.floorMs, expectedMs)) - toleranceMs);
  const toMs = Math.round(expectedMs + toleranceMs);
  return [
    ...(note === expected.note ? [] : [`user data is ${note}, not ${expected.note}`]),
    ...(position >= fromMs && position <= toMs ? [] : [`position is ${position}, not ${fromMs} to ${toMs}`]),
  ];
}

function haveFilters(found: ExpectedFilters, asked: ExpectedFilters): boolean {
  if (Object.keys(found).length !== Object.keys(asked).length) return false;
  return Object.entries(asked).every(([name, value]) => {
    const there = found[name];
    if (typeof value !== "object" || value === null) return there === value;
    return Object.entries(value).every(([member, part]) => Reflect.get(Object(there), member) === part);
  });
}
