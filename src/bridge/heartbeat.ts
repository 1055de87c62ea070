// What an audio thread writes into shared memory about itself for the case that it cannot report any more: that it is
// alive, and which player or request it is working for. The main thread reads it when the thread is lost or silent.
// Both threads.

const ACTIVITIES = ["idle", "command", "send", "prepare", "read", "timer", "voice", "probe", "filter"] as const;
/** `idle` stands for nothing in particular; an owner counts only with another one. `filter`: a plugin's. */
export type Activity = (typeof ACTIVITIES)[number];

/**
 * The owner of the current work, and the kind of work. An owner is a PlayerId, or on the probe thread a request number.
 */
export interface CurrentTask {
  readonly owner: number;
  readonly activity: Activity;
}

/** How often a thread that is not blocked updates its heartbeat, milliseconds. */
export const HEARTBEAT_INTERVAL_MS = 200;

const BEATS = 0;
const OWNER = 1;
const ACTIVITY = 2;
const STEPS = 3;
const THREAD = 4;
const FIELDS = 5;

/** A map, as objects are slower to look into by a name that differs from call to call. */
const CODES = new Map<Activity, number>(ACTIVITIES.map((activity, code) => [activity, code]));

/** `pack` gives it for the activity `idle` and no owner. */
const IDLE = 0;

/** Owner and activity in one number, so that nesting allocates nothing. */
function pack(owner: number, activity: Activity): number {
  return owner * ACTIVITIES.length + (CODES.get(activity) ?? IDLE);
}

/**
 * One per audio or probe thread, both ends over the same memory. Only the thread writes; the main thread may read at
 * any time.
 */
export class Heartbeat {
  readonly #fields: Int32Array;
  /** The pieces of work that have been entered and not left, outermost first, packed. */
  readonly #entered: number[] = [];
  /** The resumed work that is not paused, packed. */
  #resumed = IDLE;

  /** The memory to hand to the thread and to construct both ends from. */
  static allocate(): SharedArrayBuffer {
    return new SharedArrayBuffer(FIELDS * Int32Array.BYTES_PER_ELEMENT);
  }

  /** Either end, over the memory that `allocate` has given. */
  constructor(memory: SharedArrayBuffer) {
    this.#fields = new Int32Array(memory);
  }

  // The thread's side; costs some nanoseconds.

  /** From now on the thread works for this owner, until `leave`. Pieces of work may be nested. */
  enter(owner: number, activity: Activity): void {
    const currentTask = pack(owner, activity);
    this.#entered.push(currentTask);
    this.#begin(currentTask);
  }

  /** Ends the innermost piece of work. The enclosing one continues, if any, otherwise the one that was resumed. */
  leave(): void {
    this.#entered.pop();
    const depth = this.#entered.length;
    this.#show(depth === 0 ? this.#resumed : this.#entered[depth - 1]!);
  }

  /** Continues work for this owner after a wait, until `pause`; pieces of work may begin and end in between. */
  resume(owner: number, activity: Activity): void {
    this.#resumed = pack(owner, activity);
    this.#begin(this.#resumed);
  }

  /** The work that was resumed for this owner waits or is over. Without an owner: the work of any owner. */
  pause(owner?: number): void {
    if (owner !== undefined && Math.floor(this.#resumed / ACTIVITIES.length) !== owner) return;
    this.#resumed = IDLE;
    this.#show(this.#entered.at(-1) ?? IDLE);
  }

  #begin(currentTask: number): void {
    Atomics.add(this.#fields, STEPS, 1);
    this.#show(currentTask);
  }

  #show(currentTask: number): void {
    const activity = currentTask % ACTIVITIES.length;
    // The owner first: it counts only with an activity.
    if (activity !== IDLE) Atomics.store(this.#fields, OWNER, (currentTask - activity) / ACTIVITIES.length);
    Atomics.store(this.#fields, ACTIVITY, activity);
  }

  /** The thread has come round to its timers. */
  beat(): void {
    Atomics.add(this.#fields, BEATS, 1);
  }

  /** How the system counts this thread (lib/thread-cpu.ts); 0: not known. */
  set threadNumber(threadNumber: number) {
    Atomics.store(this.#fields, THREAD, threadNumber);
  }

  // The other side

  /** Grows (and wraps) as long as the thread lives. */
  get beats(): number {
    return Atomics.load(this.#fields, BEATS);
  }

  /** As the thread has set it; 0: not known (yet). */
  get threadNumber(): number {
    return Atomics.load(this.#fields, THREAD);
  }

  /** Increases (and wraps) with each piece of work that begins, also while timers have to wait. */
  get steps(): number {
    return Atomics.load(this.#fields, STEPS);
  }

  /** The current or last work of the thread; undefined: it works for no owner. */
  get currentTask(): CurrentTask | undefined {
    const activity = ACTIVITIES[Atomics.load(this.#fields, ACTIVITY)] ?? "idle";
    return activity === "idle" ? undefined : { owner: Atomics.load(this.#fields, OWNER), activity };
  }
}
