// The heartbeat of an audio worker: one timer serves all its players, every 20 ms each, and is the only place that
// knows the order of a tick: send what is prepared, then prepare what comes next, then let events and clean-up run.
// Many players are spread over up to five phases of 4 ms, so that packets leave evenly; few share one, as each waking
// of the thread costs more than sending a packet. Deadlines are absolute: each is 20 ms after the one before it, never
// after "now". With pictures: docs/internals/tick.md. Audio thread; nothing here awaits or allocates per tick.

import { LATENESS_BOUNDS_MS } from "../../bridge/events.ts";
import type { Clock, Timer } from "../../lib/clock.ts";
import { Histogram } from "../../lib/histogram.ts";
import { FRAME_MS } from "../format/audio-format.ts";
import type { Bulkhead, Tickable } from "./bulkhead.ts";

/** Offsets of the phases within the 20 ms, in the order in which they are taken into use. */
const PHASE_OFFSETS_MS = [0, 12, 4, 16, 8] as const;
/** A further phase is used when those in use have this many players each (25 sends take about 0.3 ms). */
const PLAYERS_PER_PHASE = 25;
/** Time left to prepare the first frame of a player that joins. */
const FIRST_FRAME_MS = 2;
/**
 * How many frames behind its deadline a phase may be and still send them all, back to back. Beyond that (80 ms) the
 * schedule is moved: unlimited catch-up is heard as music that plays too fast (discord-voice.md section 2.5).
 */
export const CATCH_UP_FRAMES_MAX = 3;
/** Timers count in whole milliseconds: a deadline nearer than that is due, instead of waking once more for the rest. */
const EARLY_MS = 1;
/** How long one run may hold the thread before sockets get their turn. */
const RUN_MS_MAX = 4;

/** What the loop drives: one player. */
export interface LoopMember extends Tickable {
  /** The loop came more than `CATCH_UP_FRAMES_MAX` frames late and dropped `frames` deadlines from the schedule. */
  onDeadlinesDropped(frames: number): void;
  /** Its `send` or `prepare` has taken so much of the thread. */
  charge(usedMs: number): void;
}

interface Phase {
  readonly offsetMs: number;
  readonly members: LoopMember[];
  deadlineMs: number;
}

/** What a period of ticking cost and how exact it was. */
export interface TickReport {
  /** Share of the period spent in `send` and `prepare`, 0 to 1. */
  readonly load: number;
  readonly latenessMsP50: number;
  readonly latenessMsP99: number;
  readonly latenessMsMax: number;
  /** Sends by how late they were, in the classes of `LATENESS_BOUNDS_MS`, and their lateness added up. */
  readonly latenessCounts: readonly number[];
  readonly latenessMsSum: number;
}

/**
 * One per worker. A player is added when it has sound to send, and removes itself when it has none; between the two it
 * is sent for and prepared once each 20 ms.
 */
export class TickLoop {
  readonly #clock: Clock;
  readonly #bulkhead: Bulkhead;
  readonly #phases: Phase[];
  /** Players that have sent and wait for `prepare`; each stands in it at most once. */
  readonly #unprepared: LoopMember[] = [];
  readonly #phaseOf = new Map<LoopMember, Phase>();
  readonly #lateness = new Histogram({ widthMs: 0.25, buckets: 400 });
  #timer: Timer | undefined;
  #isRunning = false;
  #busyMs = 0;
  #reportedAtMs: number;

  constructor(clock: Clock, bulkhead: Bulkhead) {
    this.#clock = clock;
    this.#bulkhead = bulkhead;
    this.#reportedAtMs = clock.now();
    this.#phases = PHASE_OFFSETS_MS.map((offsetMs) => ({ offsetMs, members: [], deadlineMs: 0 }));
  }

  /** Starts serving a player: `prepare` at once, then `send` at the next deadline of the emptiest phase. */
  add(player: LoopMember): void {
    if (this.#phaseOf.has(player)) return;
    const phase = this.#emptiestPhase();
    if (phase.members.length === 0) phase.deadlineMs = this.#nextDeadlineOf(phase);
    phase.members.push(player);
    this.#phaseOf.set(player, phase);
    this.#unprepared.push(player);
    if (!this.#isRunning) this.#arm(0);
  }

  /** Stops serving a player; it costs nothing from now on. */
  remove(player: LoopMember): void {
    const phase = this.#phaseOf.get(player);
    if (phase === undefined) return;
    this.#phaseOf.delete(player);
    const index = phase.members.indexOf(player);
    phase.members[index] = phase.members[phase.members.length - 1]!;
    phase.members.pop();
  }

  /** No more ticks; the players stay as they are. */
  close(): void {
    this.#timer?.cancel();
    this.#phaseOf.clear();
    for (const phase of this.#phases) phase.members.length = 0;
  }

  /** The figures since the last call. */
  takeReport(): TickReport {
    const now = this.#clock.now();
    const report = {
      load: Math.min(1, this.#busyMs / Math.max(1, now - this.#reportedAtMs)),
      latenessMsP50: this.#lateness.quantile(0.5),
      latenessMsP99: this.#lateness.quantile(0.99),
      latenessMsMax: this.#lateness.max,
      latenessCounts: this.#lateness.classCounts(LATENESS_BOUNDS_MS),
      latenessMsSum: this.#lateness.sumMs,
    };
    this.#busyMs = 0;
    this.#reportedAtMs = now;
    this.#lateness.clear();
    return report;
  }

  /** Sends have priority over preparing: a slow encoder delays its own player, not the packets of the others. */
  #run(): void {
    this.#timer = undefined;
    this.#isRunning = true;
    const startedMs = this.#clock.now();
    let nowMs = startedMs;
    let delayMs = 0;
    while (nowMs - startedMs < RUN_MS_MAX) {
      const phase = this.#earliestPhase();
      if (phase !== undefined && phase.deadlineMs - nowMs < EARLY_MS) {
        this.#servePhase(phase, nowMs);
      } else {
        const player = this.#unprepared.shift();
        if (player === undefined) {
          delayMs = phase === undefined ? Number.POSITIVE_INFINITY : phase.deadlineMs - nowMs;
          break;
        }
        if (this.#phaseOf.has(player)) this.#prepare(player, nowMs);
      }
      nowMs = this.#clock.now();
    }
    this.#busyMs += nowMs - startedMs;
    this.#isRunning = false;
    if (delayMs !== Number.POSITIVE_INFINITY) this.#arm(delayMs);
  }

  #servePhase(phase: Phase, nowMs: number): void {
    const lateMs = nowMs - phase.deadlineMs;
    const missedFrames = Math.floor(lateMs / FRAME_MS);
    const isBeyondCatchUp = missedFrames > CATCH_UP_FRAMES_MAX;
    if (isBeyondCatchUp) phase.deadlineMs += missedFrames * FRAME_MS;
    let sinceMs = nowMs;
    // Backwards: a player may leave the phase while it is served, and the last one then takes its place.
    for (let index = phase.members.length - 1; index >= 0; index--) {
      const player = phase.members[index];
      if (player === undefined) continue;
      if (isBeyondCatchUp) player.onDeadlinesDropped(missedFrames);
      this.#lateness.add(Math.max(0, lateMs));
      this.#bulkhead.send(player, phase.deadlineMs);
      const sentMs = this.#clock.now();
      player.charge(sentMs - sinceMs);
      sinceMs = sentMs;
      if (this.#phaseOf.has(player)) this.#unprepared.push(player);
    }
    phase.deadlineMs += FRAME_MS;
    // A second deadline that is due by now (sending took its time, too) would find its frames unprepared: make them
    // now, late is better than lost.
    if (phase.deadlineMs - this.#clock.now() < EARLY_MS) this.#prepareAll();
  }

  #prepareAll(): void {
    for (let player = this.#unprepared.shift(); player !== undefined; player = this.#unprepared.shift()) {
      if (this.#phaseOf.has(player)) this.#prepare(player, this.#clock.now());
    }
  }

  #prepare(player: LoopMember, startedMs: number): void {
    this.#bulkhead.prepare(player);
    player.charge(this.#clock.now() - startedMs);
  }

  #arm(delayMs: number): void {
    this.#timer?.cancel();
    const wholeMs = delayMs > 0 ? Math.max(1, Math.floor(delayMs)) : 0;
    this.#timer = this.#clock.after(wholeMs, () => this.#run());
  }

  #earliestPhase(): Phase | undefined {
    let earliest: Phase | undefined;
    for (const phase of this.#phases) {
      if (phase.members.length > 0 && (earliest === undefined || phase.deadlineMs < earliest.deadlineMs)) {
        earliest = phase;
      }
    }
    return earliest;
  }

  /** Of the phases in use the one with the fewest players; of equals the one whose deadline comes first. */
  #emptiestPhase(): Phase {
    const wantedCount = Math.ceil((this.#phaseOf.size + 1) / PLAYERS_PER_PHASE);
    const usable = this.#phases.slice(0, wantedCount);
    let best = this.#phases[0]!;
    let bestDeadlineMs = Number.POSITIVE_INFINITY;
    for (const phase of usable) {
      const deadlineMs = phase.members.length === 0 ? this.#nextDeadlineOf(phase) : phase.deadlineMs;
      const isEmptier = phase.members.length < best.members.length;
      const isSooner = phase.members.length === best.members.length && deadlineMs < bestDeadlineMs;
      if (isEmptier || isSooner) {
        best = phase;
        bestDeadlineMs = deadlineMs;
      }
    }
    return best;
  }

  /** The next moment on the phase's own 20 ms grid that leaves time to prepare a frame. */
  #nextDeadlineOf(phase: Phase): number {
    const earliestMs = this.#clock.now() + FIRST_FRAME_MS;
    return Math.ceil((earliestMs - phase.offsetMs) / FRAME_MS) * FRAME_MS + phase.offsetMs;
  }
}
