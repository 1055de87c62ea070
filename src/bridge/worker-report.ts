// The report of an audio worker about itself and its players: one message every 500 ms, which is also its sign of life.
// Events whose time clients see (a position that jumps, the end of a track) are sent at once (events.ts). The figures
// of all players are packed into one list of numbers, as objects would cost more to copy between threads than to make.
// Packed by audio workers, unpacked by the main thread.

import { AUDIO_CODECS, AUDIO_MODES, type AudioState, PLAYER_GAUGES, type WorkerMetrics } from "./audio-metrics.ts";
import type { AudioChanges, CauseCounts } from "./audio-report.ts";
import type { PlayerId } from "./commands.ts";
import type { Increases } from "./counter-table.ts";
import type { PositionReport } from "./position-report.ts";
import { zeroCounts } from "./zero-counts.ts";

/** Time between two reports of a worker, milliseconds. */
export const WORKER_REPORT_INTERVAL_MS = 500;

/** A worker and its players. */
export interface WorkerReport {
  /** When it was made, Unix epoch milliseconds. */
  readonly epochMs: number;
  readonly worker: WorkerMetrics;
  /** Players that have something to report, some of them for the last time. */
  readonly players: readonly PlayerReport[];
}

/** One player on one worker. Each member is undefined when there is nothing to report. */
export interface PlayerReport {
  readonly playerId: PlayerId;
  /** Where its track is, at the time of the worker's report; only while it plays. */
  readonly position?: PositionReport | undefined;
  /** Only while it has a track. */
  readonly audio?: AudioState | undefined;
  /** Its counts since the last report: add them with `PLAYER_COUNTERS.add`, across its workers. */
  readonly increases?: Increases | undefined;
  readonly changes?: AudioChanges | undefined;
  /** The minute that has ended, once. */
  readonly minute?: FrameMinute | undefined;
}

/** Frames of one wall-clock minute of one player (protocol-v4.md section 4.5). */
export interface FrameMinute {
  /** Epoch milliseconds divided by 60000, rounded down. */
  readonly minute: number;
  /** Frames of 20 ms. */
  readonly sentFrames: number;
  /** Due frames that were not sent, by cause. */
  readonly lostFrames: CauseCounts;
  /** True when it was playing without a gap of more than 100 ms since before the start of this minute. */
  readonly isWholeMinute: boolean;
}

/** A report on its way: made by `packWorkerReport`, read by `unpackWorkerReport`, which alone know the order. */
export interface PackedWorkerReport {
  readonly type: "workerReport";
  readonly epochMs: number;
  readonly worker: WorkerMetrics;
  /** For each player its id, which of the following it has (`PARTS`), and the numbers of those. */
  readonly values: Float64Array;
  /** Rare parts, in the order of the players that have it. */
  readonly changes: readonly AudioChanges[];
  readonly minutes: readonly FrameMinute[];
}

/** In the order in which `unpackWorkerReport` reads them. */
const POSITION_FIELDS = ["trackId", "seekId", "positionMs", "rate"] as const;
const GAUGE_NAMES = Object.keys(PLAYER_GAUGES) as (keyof typeof PLAYER_GAUGES)[]; // its own keys
/** The bit of each part that a player may have. */
const PARTS = { position: 1, audio: 2, increases: 4, changes: 8, minute: 16 } as const;
const PART_NAMES = Object.keys(PARTS) as (keyof typeof PARTS)[]; // its own keys

/** Called on the audio worker. */
export function packWorkerReport({ epochMs, worker, players }: WorkerReport): PackedWorkerReport {
  const values: number[] = [];
  const changes: AudioChanges[] = [];
  const minutes: FrameMinute[] = [];
  for (const player of players) {
    const { position, audio, increases } = player;
    let parts = 0;
    for (const name of PART_NAMES) if (player[name] !== undefined) parts += PARTS[name];
    values.push(player.playerId, parts);
    if (position !== undefined) for (const name of POSITION_FIELDS) values.push(position[name]);
    if (audio !== undefined) {
      values.push(AUDIO_MODES.indexOf(audio.mode));
      values.push(audio.input === undefined ? -1 : AUDIO_CODECS.indexOf(audio.input.codec), audio.input?.bitrate ?? 0);
      for (const name of GAUGE_NAMES) values.push(audio[name]);
    }
    if (increases !== undefined) values.push(increases.length, ...increases);
    if (player.changes !== undefined) changes.push(player.changes);
    if (player.minute !== undefined) minutes.push(player.minute);
  }
  return { type: "workerReport", epochMs, worker, values: new Float64Array(values), changes, minutes };
}

/** Called on the main thread. Reverses `packWorkerReport`; a position has the time of the report. */
export function unpackWorkerReport(packed: PackedWorkerReport): WorkerReport {
  const { epochMs, worker, values } = packed;
  const changes = packed.changes.values();
  const minutes = packed.minutes.values();
  const players: PlayerReport[] = [];
  let at = 0;
  const next = (): number => values[at++] ?? 0;
  while (at < values.length) {
    const playerId = next();
    const parts = next();
    const has = (name: keyof typeof PARTS): boolean => (parts & PARTS[name]) !== 0;
    players.push({
      playerId,
      position: has("position")
        ? { playerId, trackId: next(), seekId: next(), positionMs: next(), epochMs, rate: next() }
        : undefined,
      audio: has("audio") ? readAudio(next) : undefined,
      increases: has("increases") ? readIncreases(next) : undefined,
      changes: has("changes") ? changes.next().value : undefined,
      minute: has("minute") ? minutes.next().value : undefined,
    });
  }
  return { epochMs, worker, players };
}

function readAudio(next: () => number): AudioState {
  const mode = AUDIO_MODES[next()] ?? "opening";
  const codec = AUDIO_CODECS[next()];
  const bitrate = next();
  const audio = { mode, input: codec && { codec, bitrate }, ...zeroCounts(GAUGE_NAMES) };
  for (const name of GAUGE_NAMES) audio[name] = next();
  return audio;
}

function readIncreases(next: () => number): Increases {
  const increases: number[] = [];
  for (let left = next(); left > 0; left--) increases.push(next());
  return increases;
}
