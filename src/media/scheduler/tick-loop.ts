// The scheduler of an audio worker: has the frames of all players made in the order of their deadlines, some way ahead,
// and is the only place that knows when a player is served. The pacer (../pacer) sends each frame at its deadline, so a
// worker that is late by less than the ready frames causes no gap. What cannot be made ahead (silence, a frame whose
// audio has not arrived, a closed gate) is served when it is due. Deadlines are absolute: each is 20 ms after the
// previous one, never after "now". With drawings: docs/internals/tick.md. Audio thread; nothing here awaits.

import type { Clock, Timer } from "../../lib/clock.ts";
import type { Owner } from "../../lib/owners.ts";
import { FRAME_MS } from "../format/audio-format.ts";
import type { ErrorBoundary, Tickable } from "./error-boundary.ts";
import { FairQueue } from "./fair-queue.ts";

/** Offsets of the phases within the 20 ms, in the order in which they are taken into use. */
const PHASE_OFFSETS_MS = [0, 12, 4, 16, 8] as const;
/** A further phase is used when those in use have this many players each (25 sends take about 0.3 ms). */
const PLAYERS_PER_PHASE = 25;
/** Time left to make the first frame of a player that joins. */
const FIRST_FRAME_MS = 2;
/**
 * How many frames late a player may be and still send them all, back to back. Beyond that (80 ms) its schedule is
 * moved: unlimited catch-up sounds like music that plays too fast (discord-voice.md section 2.5).
 */
export const CATCH_UP_FRAMES_MAX = 3;
/** Timers count in whole milliseconds: a deadline nearer than that is due, instead of waking once more for the rest. */
const EARLY_MS = 1;
/** How much earlier than necessary a phase may be served where nothing is made in bursts. */
const TOGETHER_MS = 8;
/** How long one run may hold the thread before sockets are served. */
const RUN_MS_MAX = 4;
/** A player without a frame is checked again when the previous frame should have been sent. */
const RECHECK_MS = FRAME_MS - 2;

/** One player, as the loop drives it. */
export interface LoopMember extends Tickable {
  /** When there is more to do than the thread can, each owner waits for its own players only. */
  readonly owner: Owner;
  /** The loop was more than `CATCH_UP_FRAMES_MAX` frames late and dropped `frames` deadlines from the schedule. */
  onDeadlinesDropped(frames: number): void;
  /** Its `send` and `prepare`, of one or more frames, have used this much time of the thread. */
  charge(usedMs: number): void;
}

/** One player in the schedule. */
interface ScheduleEntry {
  readonly member: LoopMember;
  readonly phase: Phase;
  /** Deadline of the frame to be made next. */
  dueMs: number;
  /** Without a frame: when to check again. */
  recheckMs: number;
  /** It is in one of the queues. */
  isQueued: boolean;
  isGone: boolean;
}

interface Phase {
  readonly offsetMs: number;
  readonly entries: ScheduleEntry[];
  /** Deadline of the frames of its players to be made next. */
  frontMs: number;
}

interface TickLoopOptions {
  /** Look-ahead per player in frames, at least; 0: each frame is made when it is due. */
  readonly lookAheadFrames: number;
  /**
   * Frames of each player that are made when one player has no more than the look-ahead: so many more lie ready at most.
   * Default: 1.
   */
  readonly burstFrames?: number;
  /** Called between two frames, while there is time. */
  readonly yieldToPacer?: (nowMs: number) => void;
}

/**
 * Players are served from two queues, those that are short of frames first; among these, the players of the owner that
 * has used the thread least. A player is added when it has audio to send, and removes itself when it has none.
 */
export class TickLoop {
  readonly #clock: Clock;
  readonly #boundary: ErrorBoundary;
  readonly #yieldToPacer: (nowMs: number) => void;
  readonly #lookAheadMs: number;
  /** Length of a burst. 0: frames are made one at a time. */
  readonly #burstMs: number;
  /** Bursts start when the clock shows this, and whole bursts before and after. */
  #turnMs = 0;
  readonly #phases: Phase[];
  readonly #entries = new Map<LoopMember, ScheduleEntry>();
  readonly #urgent = new FairQueue<ScheduleEntry>();
  #routine: ScheduleEntry[] = [];
  /** Had no frame to send ahead when last asked: each waits for its deadline. */
  readonly #starved = new Set<ScheduleEntry>();
  #timer: Timer | undefined;
  #isRunning = false;
  /** When the timer is due, and when the last run ended. */
  #wakeMs = Number.POSITIVE_INFINITY;
  #ranUntilMs = 0;
  #busyMs = 0;
  #reportedAtMs: number;

  constructor(
    clock: Clock,
    boundary: ErrorBoundary,
    { lookAheadFrames, burstFrames = 1, yieldToPacer = () => undefined }: TickLoopOptions,
  ) {
    this.#clock = clock;
    this.#boundary = boundary;
    this.#yieldToPacer = yieldToPacer;
    this.#lookAheadMs = lookAheadFrames * FRAME_MS;
    this.#burstMs = burstFrames === 1 ? 0 : burstFrames * FRAME_MS;
    this.#reportedAtMs = clock.now();
    this.#phases = PHASE_OFFSETS_MS.map((offsetMs) => ({ offsetMs, entries: [], frontMs: 0 }));
  }

  /**
   * From the next burst on, bursts start when the clock shows `clockMs`, or whole bursts before or after: threads with
   * other turns then do not all want a processor at once. Without bursts this changes nothing.
   */
  setTurn(clockMs: number): void {
    this.#turnMs = clockMs;
  }

  /** Starts serving a player: its first frame is due at the next deadline of the emptiest phase, from `startsMs` on. */
  add(member: LoopMember, startsMs = 0): void {
    if (this.#entries.has(member)) return;
    const phase = this.#emptiestPhase();
    const dueMs = this.#nextDeadlineOf(phase, startsMs);
    if (phase.entries.length === 0) phase.frontMs = dueMs;
    const entry: ScheduleEntry = { member, phase, dueMs, recheckMs: dueMs, isQueued: false, isGone: false };
    phase.entries.push(entry);
    this.#entries.set(member, entry);
    this.#queue(entry);
    this.#hurry();
  }

  /** Stops serving a player; it costs nothing from now on. */
  remove(member: LoopMember): void {
    const entry = this.#entries.get(member);
    if (entry === undefined) return;
    entry.isGone = true;
    this.#entries.delete(member);
    this.#starved.delete(entry);
    const { entries } = entry.phase;
    const index = entries.indexOf(entry);
    entries[index] = entries[entries.length - 1]!;
    entries.pop();
  }

  /** The last `frames` of the player have been revoked: they are made again, for the same deadlines. */
  rewind(member: LoopMember, frames: number): void {
    const entry = this.#entries.get(member);
    if (entry === undefined || frames === 0) return;
    entry.dueMs -= frames * FRAME_MS;
    this.#queue(entry);
    this.#hurry();
  }

  /** True when every player with audio that can be made ahead has at least half of its look-ahead. */
  get isAhead(): boolean {
    const nowMs = this.#clock.now();
    const isWanting = ({ dueMs, isGone }: ScheduleEntry) => !isGone && this.#isShort(dueMs, nowMs);
    if (this.#urgent.some(isWanting) || this.#routine.some(isWanting)) return false;
    return !this.#phases.some(({ entries, frontMs }) => entries.length > 0 && this.#isShort(frontMs, nowMs));
  }

  /**
   * Runs now when it is due and others have held the thread for as long as a run may: to be called between pieces of
   * other work, as an iteration of the event loop may be long (hundreds of commands or sockets at once).
   */
  catchUp(): void {
    const nowMs = this.#clock.now();
    if (this.#isRunning || nowMs < this.#wakeMs || nowMs - this.#ranUntilMs < RUN_MS_MAX) return;
    this.#timer?.cancel();
    this.#run();
  }

  /** No more ticks; the players stay as they are. */
  close(): void {
    this.#timer?.cancel();
    this.#wakeMs = Number.POSITIVE_INFINITY;
    this.#entries.clear();
    this.#starved.clear();
    for (const phase of this.#phases) phase.entries.length = 0;
  }

  /** Share of the time since the last call that was spent in the players, 0 to 1. */
  takeLoad(): number {
    const now = this.#clock.now();
    const load = Math.min(1, this.#busyMs / Math.max(1, now - this.#reportedAtMs));
    this.#busyMs = 0;
    this.#reportedAtMs = now;
    return load;
  }

  #run(): void {
    this.#timer = undefined;
    this.#wakeMs = Number.POSITIVE_INFINITY;
    this.#isRunning = true;
    const startedMs = this.#clock.now();
    let nowMs = startedMs;
    this.#hurryRoutine(nowMs);
    while (nowMs - startedMs < RUN_MS_MAX) {
      this.#queueDue(nowMs);
      const isShort = this.#urgent.length > 0;
      const entry = this.#urgent.shift() ?? this.#routine.shift();
      if (entry === undefined) break;
      entry.isQueued = false;
      const servedFromMs = nowMs;
      // Frames in a row cost less than as many at different times. Those that are short of them take turns.
      do {
        if (entry.isGone) break;
        // On a busy machine the processor is then gone for milliseconds: too long for a player that is short of frames.
        if (!isShort) this.#yieldToPacer(nowMs);
        nowMs = this.#serve(entry, nowMs);
      } while (!isShort && this.#isOwed(entry) && nowMs - startedMs < RUN_MS_MAX);
      this.#charge(entry.member, nowMs - servedFromMs, nowMs);
      if (this.#isOwed(entry)) this.#queue(entry);
    }
    this.#busyMs += nowMs - startedMs;
    this.#ranUntilMs = nowMs;
    this.#isRunning = false;
    this.#arm(this.#nextDelayMs(nowMs));
  }

  /** Serves one frame of one player, if it has one or is due. Returns the time afterwards. */
  #serve(entry: ScheduleEntry, nowMs: number): number {
    const { member } = entry;
    this.#dropMissed(entry, nowMs);
    const aheadMs = entry.dueMs - nowMs;
    const isReady = this.#boundary.prepare(member) && entry.dueMs < entry.phase.frontMs;
    if (isReady || aheadMs < EARLY_MS) {
      this.#starved.delete(entry);
      this.#boundary.send(member, entry.dueMs);
      entry.dueMs += FRAME_MS;
    } else if (!entry.isGone) {
      entry.recheckMs = aheadMs > RECHECK_MS + EARLY_MS ? entry.dueMs - RECHECK_MS : entry.dueMs;
      this.#starved.add(entry);
    }
    return this.#clock.now();
  }

  #charge(member: LoopMember, usedMs: number, nowMs: number): void {
    member.charge(usedMs);
    this.#urgent.addUsedMs(member.owner, usedMs, nowMs);
  }

  /** While others were urgent, players that had enough frames when they were queued may have become short of them. */
  #hurryRoutine(nowMs: number): void {
    if (this.#urgent.length === 0 || !this.#routine.some(({ dueMs }) => this.#isShort(dueMs, nowMs))) return;
    const queued = this.#routine;
    this.#routine = [];
    for (const entry of queued) this.#place(entry, nowMs);
  }

  #dropMissed(entry: ScheduleEntry, nowMs: number): void {
    const missedFrames = Math.floor((nowMs - entry.dueMs) / FRAME_MS);
    if (missedFrames <= CATCH_UP_FRAMES_MAX) return;
    entry.dueMs += missedFrames * FRAME_MS;
    entry.member.onDeadlinesDropped(missedFrames);
  }

  /** Puts all players into a queue as soon as one phase is due: one wake-up serves them. */
  #queueDue(nowMs: number): void {
    if (this.#phases.some((phase) => this.#endsWithin(phase, nowMs, EARLY_MS))) {
      const reachMs = this.#reachMs(nowMs);
      for (const phase of this.#phases) {
        if (!this.#endsWithin(phase, nowMs, reachMs)) continue;
        while (this.#endsWithin(phase, nowMs, reachMs)) phase.frontMs += FRAME_MS;
        for (const entry of phase.entries) this.#queue(entry);
      }
    }
    for (const entry of this.#starved) if (entry.recheckMs - nowMs < EARLY_MS) this.#queue(entry);
  }

  /** Phases are served together whose look-ahead would end within this. */
  #reachMs(nowMs: number): number {
    if (this.#burstMs === 0) return this.#lookAheadMs === 0 ? EARLY_MS : TOGETHER_MS;
    const passedMs = nowMs + EARLY_MS - this.#turnMs;
    return (Math.floor(passedMs / this.#burstMs) + 1) * this.#burstMs + this.#turnMs - nowMs;
  }

  /** Its players will have less than the look-ahead by then. */
  #endsWithin({ entries, frontMs }: Phase, nowMs: number, withinMs: number): boolean {
    return entries.length > 0 && frontMs - this.#lookAheadMs - nowMs < withinMs;
  }

  /** More of its frames are to be made now. */
  #isOwed(entry: ScheduleEntry): boolean {
    return !entry.isGone && entry.dueMs < entry.phase.frontMs && !this.#starved.has(entry);
  }

  #queue(entry: ScheduleEntry): void {
    if (entry.isQueued) return;
    entry.isQueued = true;
    this.#place(entry, this.#clock.now());
  }

  #place(entry: ScheduleEntry, nowMs: number): void {
    if (this.#isShort(entry.dueMs, nowMs)) this.#urgent.push(entry, entry.member.owner);
    else this.#routine.push(entry);
  }

  #isShort(dueMs: number, nowMs: number): boolean {
    return dueMs - nowMs < this.#lookAheadMs / 2;
  }

  #nextDelayMs(nowMs: number): number {
    if (this.#urgent.length + this.#routine.length > 0) return 0;
    let nextMs = Number.POSITIVE_INFINITY;
    for (const { entries, frontMs } of this.#phases) {
      if (entries.length > 0) nextMs = Math.min(nextMs, frontMs - this.#lookAheadMs);
    }
    for (const { recheckMs } of this.#starved) nextMs = Math.min(nextMs, recheckMs);
    return nextMs - nowMs;
  }

  #hurry(): void {
    if (!this.#isRunning) this.#arm(0);
  }

  #arm(delayMs: number): void {
    this.#timer?.cancel();
    this.#wakeMs = this.#clock.now() + delayMs;
    if (delayMs === Number.POSITIVE_INFINITY) return;
    const wholeMs = delayMs > 0 ? Math.max(1, Math.floor(delayMs)) : 0;
    this.#timer = this.#clock.after(wholeMs, () => this.#run());
  }

  /** The phase in use with the fewest players; of equal ones the one with the earliest deadline. */
  #emptiestPhase(): Phase {
    const neededCount = Math.ceil((this.#entries.size + 1) / PLAYERS_PER_PHASE);
    const [first, ...others] = this.#phases.slice(0, neededCount);
    let best = first!; // a player needs at least one
    for (const phase of others) {
      const isEmptier = phase.entries.length < best.entries.length;
      const isSooner = this.#nextDeadlineOf(phase) < this.#nextDeadlineOf(best);
      if (isEmptier || (phase.entries.length === best.entries.length && isSooner)) best = phase;
    }
    return best;
  }

  /** The next moment on the phase's own 20 ms grid that leaves time to make a frame, and is not before `startsMs`. */
  #nextDeadlineOf(phase: Phase, startsMs = 0): number {
    const earliestMs = Math.max(startsMs, this.#clock.now() + FIRST_FRAME_MS);
    return Math.ceil((earliestMs - phase.offsetMs) / FRAME_MS) * FRAME_MS + phase.offsetMs;
  }
}
