// One guild's listener in a simulation, and the rules it checks: every packet of a track once and in order, no pause in
// it without a cause, no packet when nothing should play, and reported positions that match the received audio.

import { NUMBERS_PER_SONG, SONG_COUNT } from "./world.ts";

const FRAME_MS = 20;
/** Longest time between two frames of a playing track: ticks are exact here, links are not quite. */
const GAP_MS_MAX = 150;
/** From a command that ends audio until none is received. */
const STOP_MS_MAX = 250;
/**
 * How long after a seek the old position may be received: the seek takes effect when audio flows, and voice may have to
 * recover first.
 */
const OLD_POSITION_MS_MAX = 3000;
/** Frames that the loss of a worker may repeat: those sent since it last reported its position. */
const REPEATED_FRAMES_MAX = 60;
/** Between a reported position and the received audio: a frame, and the transit times of both. */
const POSITION_MS_MAX = 80;
/** Time after the last tolerance before positions are checked again. */
const POSITION_REST_MS = 2500;
const HISTORY_FRAMES = 500;
/**
 * Awaited playbacks that are told apart: with the one that was received last they must leave a song for the next one.
 */
const AWAITED_MAX = SONG_COUNT - 2;

/** A deviation that is allowed for a while, and its reason. */
export interface Tolerance {
  readonly why: string;
  /** How long there may be no audio. */
  readonly silentMs?: number;
  /** How long packets may be left out, … */
  readonly lossMs?: number;
  /** … or be repeated. */
  readonly repeatMs?: number;
  /** How long a track that is over may still be received, as its worker gets the command late. */
  readonly lateMs?: number;
}

/** One playback of a track. */
export interface Play {
  /** Sent to the node with the track, and returned with every event. */
  readonly id: number;
  readonly song: number;
  /** Number of the first expected packet. */
  readonly first: number;
}

/** A playback of which no packet has been received. */
interface AwaitedPlay {
  readonly play: Play;
  readonly requestedMs: number;
  /** When another one was requested in its place; infinite for the last one. */
  readonly replacedMs: number;
}

/** The target of a seek, in the track that was expected then. */
interface Seek {
  readonly play: Play | undefined;
  readonly number: number;
  readonly atMs: number;
}

export class SimulatedListener {
  /** All broken rules. */
  readonly faults: string[] = [];
  readonly #name: string;
  readonly #now: () => number;
  readonly #songPackets: number;
  /** The one that was received last. */
  #play: Play | undefined;
  /** Those requested since, in order. */
  #awaited: readonly AwaitedPlay[] = [];
  #last = -1;
  #lastMs = 0;
  /** Seeks whose target has not been received yet, in order. */
  #seeks: readonly Seek[] = [];
  #soughtMs = 0;
  /** Until when packets behind the last received one may have been left out. */
  #lostUntilMs = 0;
  #isExpected = false;
  /** When the expectation last changed. */
  #changedMs = 0;
  readonly #until = { silent: 0, loss: 0, repeat: 0, late: 0 };
  #why = "nothing";
  #reportedPosition: number | undefined;
  readonly #history: { readonly atMs: number; readonly number: number }[] = [];
  #receivedCount = 0;
  #missingCount = 0;

  constructor(options: { readonly name: string; readonly now: () => number; readonly songPackets: number }) {
    this.#name = options.name;
    this.#now = options.now;
    this.#songPackets = options.songPackets;
  }

  /** Audio frames received so far. */
  get receivedCount(): number {
    return this.#receivedCount;
  }

  /** Packets left out where that was allowed: each must have been counted by a worker. */
  get missingCount(): number {
    return this.#missingCount;
  }

  /** Songs of the tracks that may be received: those requested, and the last audible one until it has ended. */
  get songs(): readonly number[] {
    const awaited = this.#awaited.map(({ play }) => play.song);
    return this.#play === undefined ? awaited : [this.#play.song, ...awaited];
  }

  /** The last packet of the track has been received. */
  get isAtEnd(): boolean {
    return this.#last === this.#songPackets - 1;
  }

  /** Some action happened that the rules know of. */
  allow({ why, silentMs = 0, lossMs = 0, repeatMs = 0, lateMs = 0 }: Tolerance): void {
    const now = this.#now();
    this.#why = `${why} at ${now.toFixed(0)}`;
    const { silent, loss, repeat, late } = this.#until;
    this.#until.silent = Math.max(silent, now + silentMs);
    this.#until.loss = Math.max(loss, now + lossMs);
    if (now - this.#lastMs <= GAP_MS_MAX) this.#lostUntilMs = this.#until.loss;
    this.#until.repeat = Math.max(repeat, now + repeatMs);
    this.#until.late = Math.max(late, now + lateMs);
  }

  /** A track is expected, in place of any before. `openMs` is the time it may take to start. */
  expect(play: Play, openMs: number): void {
    const now = this.#now();
    const replaced = this.#awaited.map((one) => ({ ...one, replacedMs: Math.min(one.replacedMs, now) }));
    const awaited = { play, requestedMs: now, replacedMs: Number.POSITIVE_INFINITY };
    this.#awaited = [...replaced, awaited].slice(-AWAITED_MAX);
    this.allow({ why: `play ${play.id}`, silentMs: openMs });
    this.#expectAudio(true);
  }

  /** The track continues at this packet. */
  expectSeek(number: number, openMs: number): void {
    const now = this.#now();
    this.#seeks = [...this.#seeks, { play: this.#requested, number, atMs: now }];
    this.#soughtMs = now;
    this.#reportedPosition = undefined;
    this.allow({ why: `seek to ${number}`, silentMs: openMs });
  }

  pause(isPaused: boolean): void {
    if (isPaused) this.#lostUntilMs = Math.min(this.#lostUntilMs, this.#now());
    // A seek takes effect after a frame or two of the old position.
    if (!isPaused) this.#soughtMs = this.#now();
    if (this.#requested !== undefined) this.#expectAudio(!isPaused);
  }

  stop(): void {
    this.#play = undefined;
    this.#awaited = [];
    this.#last = -1;
    this.#expectAudio(false);
  }

  /** Receives an audio frame, by its number. */
  receive(packet: number): void {
    const now = this.#now();
    this.#receivedCount++;
    this.#checkSilence(now);
    let sinceMs = this.#lastMs;
    this.#lastMs = now;
    // A worker that is held gets a command late.
    if (!this.#isExpected && now > Math.max(this.#changedMs + STOP_MS_MAX, this.#until.loss))
      this.#fault(`packet ${packet} though nothing should play`);
    const song = Math.floor(packet / NUMBERS_PER_SONG);
    const number = packet % NUMBERS_PER_SONG;
    const begun = this.#awaited.find((one) => one.play.song === song && this.#hasBegunInTime(one, number, now));
    if (begun !== undefined) {
      this.#begin(begun);
      sinceMs = Math.max(sinceMs, begun.requestedMs);
    }
    // Packets in transit when it ended.
    if (song !== this.#play?.song) {
      if (now > Math.max(this.#changedMs + STOP_MS_MAX, this.#until.late))
        this.#fault(`packet ${packet} of a track that is over`);
      return;
    }
    // It plays until the next one is ready.
    if (this.#awaited.length > 0 && now > this.#until.silent + GAP_MS_MAX)
      this.#fault(`packet ${packet} of a track that was replaced`);
    this.#follow(number, now, Math.max(0, Math.ceil((this.#lostUntilMs - sinceMs) / FRAME_MS)));
    this.#lostUntilMs = this.#isExpected ? this.#until.loss : Math.min(this.#until.loss, now);
    this.#last = number;
    this.#history.push({ atMs: now, number });
    if (this.#history.length > HISTORY_FRAMES) this.#history.shift();
  }

  /** A position reported by the node, in milliseconds, `agoMs` before now. */
  reportPosition(positionMs: number, agoMs: number): void {
    const now = this.#now();
    const isQuiet = now > Math.max(...Object.values(this.#until), this.#changedMs) + POSITION_REST_MS;
    // Its end may have been reported to a connection that was cut.
    const isOver = this.isAtEnd && positionMs === 0;
    if (isOver || !isQuiet || !this.#isExpected || this.#awaited.length > 0 || this.#seeks.length > 0) {
      this.#reportedPosition = undefined;
      return;
    }
    if (this.#reportedPosition !== undefined && positionMs < this.#reportedPosition) {
      this.#fault(`position ${positionMs} reported after ${this.#reportedPosition}`);
    }
    this.#reportedPosition = positionMs;
    const received = this.#history.findLast(({ atMs }) => atMs <= now - agoMs);
    if (received === undefined) return;
    const receivedMs = Math.min(
      (received.number + 1) * FRAME_MS + (now - agoMs - received.atMs),
      this.#songPackets * FRAME_MS,
    );
    if (Math.abs(positionMs - receivedMs) > POSITION_MS_MAX) {
      this.#fault(`position ${positionMs} reported where ${receivedMs.toFixed(0)} ms were received`);
    }
  }

  /** Checks whether there is audio now, if there should be. */
  check(): void {
    this.#checkSilence(this.#now());
  }

  /** The playback that was requested last. */
  get #requested(): Play | undefined {
    return this.#awaited.at(-1)?.play ?? this.#play;
  }

  /**
   * Whether this may be the first received packet of an awaited playback. One that has been replaced may still be
   * received if it began before that: then it plays until the next one is ready. When it began is known by its lost
   * packets, which were due after its request, or after a seek in it.
   */
  #hasBegunInTime({ play, requestedMs, replacedMs }: AwaitedPlay, number: number, now: number): boolean {
    if (replacedMs === Number.POSITIVE_INFINITY) return true;
    const latestMs = Math.max(replacedMs + STOP_MS_MAX, this.#until.late);
    const seeks = this.#seeks.filter((seek) => seek.play === play);
    return [{ number: play.first, atMs: requestedMs }, ...seeks].some((start) => {
      const begunMs = now - (number - start.number) * FRAME_MS;
      return begunMs >= start.atMs && begunMs <= latestMs;
    });
  }

  #begin(begun: AwaitedPlay): void {
    const { play } = begun;
    this.#play = play;
    this.#awaited = this.#awaited.slice(this.#awaited.indexOf(begun) + 1);
    this.#last = play.first - 1;
    // Seeks before the first packet arrived are still to take effect.
    const pending = [play, ...this.#awaited.map((one) => one.play)];
    this.#seeks = this.#seeks.filter((seek) => seek.play !== undefined && pending.includes(seek.play));
    this.#reportedPosition = undefined;
    this.#history.length = 0;
  }

  /**
   * `lostMax`: packets that were allowed to be lost right behind the last one, or at the beginning. The first packet
   * after a silence shows their loss, however long the silence was.
   */
  #follow(number: number, now: number, lostMax: number): void {
    const step = number - this.#last;
    if (step === 1) return;
    const seek = this.#soughtBy(number, now);
    if (seek !== undefined) {
      const later = this.#seeks.slice(this.#seeks.indexOf(seek) + 1);
      this.#missingCount += Math.max(0, number - seek.number - later.length);
      this.#seeks = later;
      return;
    }
    // Continues from the old position until the new one arrives, except for dropped packets.
    const isOldPosition = now - this.#soughtMs < OLD_POSITION_MS_MAX;
    const missing = step - 1 - (isOldPosition ? this.#seeks.length : 0);
    if (step > 1 && (missing <= 0 || now <= this.#until.loss || missing <= lostMax)) {
      this.#missingCount += Math.max(0, missing);
      return;
    }
    if (step < 1 && -step < REPEATED_FRAMES_MAX && now <= this.#until.repeat) return;
    this.#fault(`packet ${number} after ${this.#last}`);
  }

  /** The seek that led here: of the possible ones, the one whose target is nearest. */
  #soughtBy(number: number, now: number): Seek | undefined {
    const mayLose = now <= this.#until.loss;
    const possible = this.#seeks.filter((seek, index) => {
      // No more can be missing at its start than was due since.
      const lostMax = mayLose ? Math.ceil((now - seek.atMs) / FRAME_MS) : 0;
      // A seek during a pause drops the frame that was ready, of the old position.
      const thrownMax = this.#seeks.length - 1 - index;
      const isNear = number >= seek.number - 1 && number <= seek.number + Math.max(lostMax, thrownMax);
      return isNear && seek.play === this.#play;
    });
    const distance = (seek: Seek): number => Math.abs(number - seek.number);
    return possible.toSorted((one, other) => distance(one) - distance(other))[0];
  }

  #checkSilence(now: number): void {
    if (!this.#isExpected || (this.isAtEnd && this.#awaited.length === 0 && this.#seeks.length === 0)) return;
    const sinceMs = Math.max(this.#lastMs, this.#changedMs, this.#until.silent);
    if (now - sinceMs <= GAP_MS_MAX) return;
    this.#fault(`nothing for ${(now - Math.max(this.#lastMs, this.#changedMs)).toFixed(0)} ms`);
    // Reported once.
    this.#lastMs = now;
  }

  #expectAudio(isExpected: boolean): void {
    if (isExpected === this.#isExpected) return;
    this.#isExpected = isExpected;
    this.#changedMs = this.#now();
  }

  #fault(what: string): void {
    this.faults.push(`${this.#now().toFixed(0)} ${this.#name}: ${what} (last: ${this.#why})`);
  }
}
