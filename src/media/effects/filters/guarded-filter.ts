// A filter of a plugin in one track's chain. It works on a copy of the audio, which is checked before it counts: a
// filter that throws, outputs NaN or infinity, or takes too long, is left out from then on, and nothing else is lost.
// Its time is watched by the clock, and judged by the thread's CPU time, so that a busy machine condemns no filter;
// that of all together in filter-budget.ts. What never returns is a thread that hangs (docs/internals/recovery.md).
// Audio thread; `process` allocates nothing.

import type { PlayerId } from "../../../bridge/commands.ts";
import type { Heartbeat } from "../../../bridge/heartbeat.ts";
import type { WorkerFaultReason } from "../../../filters/module-filters.ts";
import { createCpuClock } from "../../../lib/thread-cpu.ts";
import type { AudioProcessor, FilterFactory } from "../../../plugin-api/plugin.ts";
import { FRAME_SAMPLES } from "../../format/audio-format.ts";
import type { AudioFilter } from "./audio-filter.ts";
import type { FilterBudget } from "./filter-budget.ts";

/** CPU time for a frame of 20 ms, milliseconds. */
const FRAME_BUDGET_MS = 4;
/**
 * How far a filter may exceed that, added up, milliseconds: two frames of 15 ms, or one of 34. Others are made 100 ms
 * ahead, so that they are not late.
 */
const EXCESS_MS_MAX = 30;
/** CPU time is measured for so many frames, 30 s, after one that took long by the clock. */
const JUDGED_FRAMES = 1500;
/** CPU time to create or reset one, milliseconds: as for importing its module, and less than the others' 100 ms. */
const CALL_BUDGET_MS = 50;
/** 5 ms: from the filter's last sample to the audio without it. */
const FADE_SAMPLES = 240;
/** Of a message for clients. */
const TEXT_LENGTH_MAX = 500;
/** As loud as decoded audio may be. Louder is as useless as infinity. */
const SAMPLE_MAX = 1000;

export interface FilterFault {
  readonly reason: WorkerFaultReason;
  /** For the operator. */
  readonly message: string;
}

/** Two clocks, milliseconds. */
export interface CpuMeter {
  readonly nowMs: () => number;
  /** CPU time of the calling thread; where the system does not provide it, the same as `nowMs`. */
  readonly cpuMs: () => number;
}

/** Of the calling thread. */
export function systemCpuMeter(): CpuMeter {
  return { nowMs: () => performance.now(), cpuMs: createCpuClock() };
}

interface GuardedFilterOptions {
  readonly create: FilterFactory;
  readonly settings: Parameters<FilterFactory>[0];
  readonly playerId: PlayerId;
  readonly heartbeat: Pick<Heartbeat, "enter" | "leave">;
  readonly meter: CpuMeter;
  /** The worker's. */
  readonly budget: FilterBudget;
  /** Called once, at its first fault. */
  readonly onFault: (fault: FilterFault) => void;
}

/** Never throws. */
export class GuardedFilter implements AudioFilter {
  readonly #options: GuardedFilterOptions;
  /** Undefined once it has failed. */
  #processor: AudioProcessor | undefined;
  readonly #left = new Float32Array(FRAME_SAMPLES);
  readonly #right = new Float32Array(FRAME_SAMPLES);
  /** For the budget. */
  tookMs = 0;
  cpuMs = 0;
  #judgedFramesLeft = 0;
  #excessMs = 0;
  /** Its last output, from which the audio without it is faded in. */
  #lastLeft = 0;
  #lastRight = 0;
  #fadeSamplesLeft = 0;

  /** `previous`: the one that it replaces. */
  constructor(options: GuardedFilterOptions, previous: GuardedFilter | undefined) {
    this.#options = options;
    const { create, settings, budget } = options;
    const before = previous === undefined ? undefined : previous.#processor;
    if (previous !== undefined) budget.forget(previous);
    this.#call("creating it", () => {
      const made = before === undefined ? create(settings) : create(settings, before);
      refusePromise(made, "creating it");
      if (typeof made?.process !== "function") throw new TypeError("it made nothing that has a process()");
      this.#processor = made;
    });
  }

  /** Nothing is known of its memory. */
  get isEchoing(): boolean {
    return this.#processor !== undefined;
  }

  process(left: Float32Array, right: Float32Array, lengthSamples: number): void {
    for (let start = 0; start < lengthSamples; start += FRAME_SAMPLES) {
      const count = Math.min(FRAME_SAMPLES, lengthSamples - start);
      if (this.#processor !== undefined) this.#run(this.#processor, left, right, start, count);
      if (this.#fadeSamplesLeft > 0) this.#fade(left, right, start, count);
    }
  }

  reset(): void {
    this.#fadeSamplesLeft = 0;
    this.jump();
  }

  jump(): void {
    this.#call("reset()", () => refusePromise(this.#processor?.reset?.(), "reset()"));
  }

  release(): void {
    this.#processor = undefined;
    this.#options.budget.forget(this);
  }

  removeAsTooSlow(message: string): void {
    if (this.#processor !== undefined) this.#remove("tooSlow", message);
  }

  /** Calls the plugin apart from frames. */
  #call(what: string, call: () => void): void {
    const { playerId, heartbeat, meter } = this.#options;
    const startCpuMs = meter.cpuMs();
    const startMs = meter.nowMs();
    heartbeat.enter(playerId, "filter");
    try {
      call();
      const usedMs = Math.min(meter.nowMs() - startMs, meter.cpuMs() - startCpuMs);
      if (usedMs > CALL_BUDGET_MS) this.removeAsTooSlow(`${what} took ${Math.round(usedMs)} ms of CPU time`);
    } catch (error) {
      this.#remove("failed", textOf(error));
    } finally {
      heartbeat.leave();
    }
  }

  #run(processor: AudioProcessor, left: Float32Array, right: Float32Array, start: number, count: number): void {
    const ownLeft = this.#left;
    const ownRight = this.#right;
    for (let sample = 0; sample < count; sample++) {
      ownLeft[sample] = left[start + sample]!;
      ownRight[sample] = right[start + sample]!;
    }
    const { playerId, heartbeat, meter, budget } = this.#options;
    const isJudged = this.#judgedFramesLeft > 0 || budget.isJudging;
    const startCpuMs = isJudged ? meter.cpuMs() : 0;
    const startMs = meter.nowMs();
    heartbeat.enter(playerId, "filter");
    try {
      refusePromise(processor.process(ownLeft, ownRight, count), "process()");
    } catch (error) {
      this.#remove("failed", textOf(error));
      return;
    } finally {
      heartbeat.leave();
    }
    const tookMs = meter.nowMs() - startMs;
    const cpuMs = isJudged ? meter.cpuMs() - startCpuMs : tookMs;
    const budgetMs = (FRAME_BUDGET_MS * count) / FRAME_SAMPLES;
    // Systems count CPU time in steps of up to 10 ms, so for one frame it may be less than that.
    const usedMs = Math.min(tookMs, cpuMs);
    if (usedMs > budgetMs) this.#judgedFramesLeft = JUDGED_FRAMES;
    budget.spend(this, tookMs, cpuMs);
    if (isJudged) this.#judge(usedMs, budgetMs);
    if (this.#processor === undefined) return;
    if (areSane(ownLeft, ownRight, count)) this.#take(left, right, start, count);
    else this.#remove("invalidSamples", "it output NaN, infinity or samples beyond all bounds");
  }

  #judge(usedMs: number, budgetMs: number): void {
    this.#judgedFramesLeft = Math.max(0, this.#judgedFramesLeft - 1);
    this.#excessMs = Math.max(0, this.#excessMs + usedMs - budgetMs);
    if (this.#excessMs <= EXCESS_MS_MAX) return;
    this.removeAsTooSlow(`it takes ${Math.round(usedMs)} ms of CPU time for ${Math.round(5 * budgetMs)} ms of audio`);
  }

  #take(left: Float32Array, right: Float32Array, start: number, count: number): void {
    for (let sample = 0; sample < count; sample++) {
      left[start + sample] = this.#left[sample]!;
      right[start + sample] = this.#right[sample]!;
    }
    this.#lastLeft = this.#left[count - 1]!;
    this.#lastRight = this.#right[count - 1]!;
  }

  #fade(left: Float32Array, right: Float32Array, start: number, count: number): void {
    const end = start + Math.min(this.#fadeSamplesLeft, count);
    for (let sample = start; sample < end; sample++) {
      const share = this.#fadeSamplesLeft-- / FADE_SAMPLES;
      left[sample] = left[sample]! + share * (this.#lastLeft - left[sample]!);
      right[sample] = right[sample]! + share * (this.#lastRight - right[sample]!);
    }
  }

  #remove(reason: WorkerFaultReason, message: string): void {
    this.release();
    this.#fadeSamplesLeft = FADE_SAMPLES;
    this.#options.onFault({ reason, message });
  }
}

/** False for NaN, too. */
function areSane(left: Float32Array, right: Float32Array, count: number): boolean {
  for (let sample = 0; sample < count; sample++) {
    if (!(Math.abs(left[sample]!) <= SAMPLE_MAX && Math.abs(right[sample]!) <= SAMPLE_MAX)) return false;
  }
  return true;
}

/** Throws for the promise of an async function, whose own error is caught: nobody else would. */
function refusePromise(answer: unknown, call: string): void {
  if (typeof answer !== "object" || answer === null || !("then" in answer) || typeof answer.then !== "function") return;
  Promise.resolve(answer).catch(() => undefined);
  throw new TypeError(`${call} is async, which audio cannot wait for; make it synchronous`);
}

/** What a plugin has thrown, which may be anything. */
function textOf(error: unknown): string {
  try {
    return (error instanceof Error ? `${error.name}: ${error.message}` : String(error)).slice(0, TEXT_LENGTH_MAX);
  } catch {
    return "it threw what cannot be shown";
  }
}
