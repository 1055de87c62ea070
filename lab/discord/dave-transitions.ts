// Transitions of a DAVE call: announced with an id, answered by every bot with op 23, executed with op 22, after a time
// limit also without an answer (discord-voice.md section 3.4). Several may be pending at once. Id 0 is executed by
// announcing it.

import type { Clock } from "../../src/lib/clock.ts";
import type { MemberSlot } from "./dave-member.ts";
import type { DavePolicy } from "./dave-policy.ts";
import type { ViolationKind } from "./violations.ts";
import type { Waiters } from "./waiters.ts";

export interface Transition {
  readonly id: number;
  /** The DAVE version in force afterwards. */
  readonly version: number;
  readonly slots: readonly MemberSlot[];
}

interface TransitionHost {
  readonly policy: DavePolicy;
  readonly clock: Clock;
  readonly waiters: Waiters;
  report(kind: ViolationKind, detail: string): void;
  /** True while the member is in the call. */
  isPresent(slot: MemberSlot): boolean;
  onExecuted(transition: Transition): void;
}

export class Transitions {
  readonly #host: TransitionHost;
  /** Announced and not executed. */
  readonly #pending = new Set<Transition>();
  /** Bots that have not sent op 23, by transition id. */
  readonly #waiting = new Map<number, Set<MemberSlot>>();
  #executedCount = 0;

  constructor(host: TransitionHost) {
    this.#host = host;
  }

  get pendingCount(): number {
    return this.#pending.size;
  }

  get executedCount(): number {
    return this.#executedCount;
  }

  /** Sees a transition through that was announced to the members. */
  begin(transition: Transition): void {
    for (const slot of transition.slots) slot.announcedIds.add(transition.id);
    if (transition.id === 0) {
      this.#finish(transition);
      return;
    }
    const bots = transition.slots.filter((slot) => slot.member.kind === "bot");
    const waiting = new Set(bots);
    this.#pending.add(transition);
    this.#waiting.set(transition.id, waiting);
    void this.#awaitAnswers(transition, waiting);
    void this.#seeThrough(transition, waiting);
  }

  /** Op 23. */
  onReady(slot: MemberSlot, id: number): void {
    if (id === 0) this.#host.report("dave-transition-ready", "op 23 for transition 0, which is executed at once");
    else if (!slot.announcedIds.has(id))
      this.#host.report("dave-transition-ready", `op 23 for unknown transition ${id}`);
    this.#waiting.get(id)?.delete(slot);
  }

  /** The answer of this member to this transition is no longer awaited. */
  excuse(slot: MemberSlot, id: number): void {
    this.#waiting.get(id)?.delete(slot);
  }

  async #seeThrough(transition: Transition, waiting: ReadonlySet<MemberSlot>): Promise<void> {
    const { policy, waiters } = this.#host;
    await waiters.settled(() => this.#isAnswered(waiting), Math.min(policy.executeWithinMs, policy.answerTimeoutMs));
    if (policy.executeDelayMs > 0) await waiters.settled(() => false, policy.executeDelayMs);
    this.#pending.delete(transition);
    this.#finish(transition);
  }

  /** The transition is executed without the members that answer late, which may take longer. */
  async #awaitAnswers({ id }: Transition, waiting: ReadonlySet<MemberSlot>): Promise<void> {
    const { policy, waiters } = this.#host;
    if (!(await waiters.settled(() => this.#isAnswered(waiting), policy.answerTimeoutMs))) {
      const late = [...waiting].map((slot) => slot.userId).join(", ");
      this.#host.report("dave-transition-timeout", `no op 23 for transition ${id} from ${late}`);
    }
    if (this.#waiting.get(id) === waiting) this.#waiting.delete(id);
  }

  #isAnswered(waiting: ReadonlySet<MemberSlot>): boolean {
    return [...waiting].every((slot) => !this.#host.isPresent(slot));
  }

  #finish(transition: Transition): void {
    const now = this.#host.clock.now();
    this.#executedCount++;
    for (const slot of transition.slots) {
      slot.setActive(transition.version > 0, now);
      // It has asked to be added again since: until then it may send either kind of frame.
      if (slot.isStale) slot.setActive(false, now);
      if (this.#host.isPresent(slot) && transition.id !== 0) slot.member.executeTransition(transition.id);
    }
    this.#host.onExecuted(transition);
  }
}
