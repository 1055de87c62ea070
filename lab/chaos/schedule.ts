// What happens to which machine or NATS server, and when: drawn from a seed, so that never too many are away at once.
// Pure. Lab only.

import type { MachineRole } from "../cluster/machines.ts";

/**
 * `term`: ended by SIGTERM; `drain`: the same when it has moved its players; `pause`: stopped, then woken; `cut`: it runs,
 * and its packets to and from NATS vanish.
 */
export type Fault = "kill" | "term" | "drain" | "pause" | "cut";

/** A machine or a NATS server. */
export interface Subject {
  readonly name: string;
  readonly role: MachineRole | "nats";
}

export interface ChaosEvent {
  readonly subject: Subject;
  readonly fault: Fault;
  /** Since the beginning of the run. */
  readonly atMs: number;
  /** Until it is started again, woken or connected again. */
  readonly forMs: number;
}

/** `kill-gateway`, `cut-audio`, `pause-nats`. */
export type EventName = `${Fault}-${Subject["role"]}`;

export interface ScheduleOptions {
  readonly subjects: readonly Subject[];
  /** No event begins later. */
  readonly durationMs: number;
  /** Of events; undefined: all. */
  readonly names: ReadonlySet<string> | undefined;
  readonly random: () => number;
}

/** Nothing happens before: undisturbed seconds to compare with. */
const CALM_MS = 10_000;
/** From one event to the next. */
const STEP_MS_MIN = 2000;
const STEP_MS_MAX = 12_000;
/** Until what has come back counts as there again: a start, a place in the cluster, copies of records. */
const SETTLE_MS = 12_000;

interface Kind {
  readonly fault: Fault;
  /** How often it is drawn, against the others. */
  readonly weight: number;
  readonly forMsMin: number;
  readonly forMsMax: number;
}

/** Shorter and longer than a lease, and than the time after which a machine is declared dead. */
const OF_MACHINES: readonly Kind[] = [
  { fault: "kill", weight: 5, forMsMin: 500, forMsMax: 30_000 },
  { fault: "term", weight: 2, forMsMin: 500, forMsMax: 15_000 },
  { fault: "drain", weight: 2, forMsMin: 500, forMsMax: 15_000 },
  { fault: "pause", weight: 2, forMsMin: 500, forMsMax: 30_000 },
  { fault: "cut", weight: 2, forMsMin: 1000, forMsMax: 40_000 },
];
const OF_NATS: readonly Kind[] = [
  { fault: "kill", weight: 3, forMsMin: 500, forMsMax: 15_000 },
  { fault: "pause", weight: 1, forMsMin: 500, forMsMax: 12_000 },
];

/** Every event that `names` may have, of these subjects. */
export function eventNames(subjects: readonly Subject[]): readonly EventName[] {
  const roles = [...new Set(subjects.map(({ role }) => role))];
  return roles.flatMap((role) => kindsOf(role).map(({ fault }): EventName => `${fault}-${role}`));
}

/** In the order of their times. The same seed draws the same events for the same subjects. */
export function drawSchedule({ subjects, durationMs, names, random }: ScheduleOptions): readonly ChaosEvent[] {
  const events: ChaosEvent[] = [];
  let atMs = CALM_MS;
  while (atMs < durationMs) {
    const away = events.filter((event) => event.atMs + event.forMs + SETTLE_MS > atMs).map(({ subject }) => subject);
    const event = drawEvent(atMs, { spare: spareOf(subjects, away), names, random });
    if (event !== undefined) events.push(event);
    atMs += Math.round(STEP_MS_MIN + random() * (STEP_MS_MAX - STEP_MS_MIN));
  }
  return events;
}

/** Those that may be away beside these: a majority of the NATS servers and half of each role stay, and never none. */
export function spareOf(subjects: readonly Subject[], away: readonly Subject[]): readonly Subject[] {
  const there = subjects.filter((subject) => !away.includes(subject));
  const staysEnough = (subject: Subject, hasRole: (other: Subject) => boolean): boolean => {
    if (!hasRole(subject)) return true;
    const left = there.filter(hasRole).length - 1;
    const all = subjects.filter(hasRole).length;
    return subject.role === "nats" ? left > all / 2 : left >= Math.max(1, all / 2);
  };
  return there.filter((subject) => ROLES.every((hasRole) => staysEnough(subject, hasRole)));
}

const ROLES: readonly ((subject: Subject) => boolean)[] = [
  ({ role }) => role === "nats",
  ({ role }) => role === "gateway" || role === "both",
  ({ role }) => role === "audio" || role === "both",
];

interface Draw {
  readonly spare: readonly Subject[];
  readonly names: ReadonlySet<string> | undefined;
  readonly random: () => number;
}

function drawEvent(atMs: number, { spare, names, random }: Draw): ChaosEvent | undefined {
  const isWanted = (role: Subject["role"], { fault }: Kind): boolean => names?.has(`${fault}-${role}`) ?? true;
  const possible = spare.filter(({ role }) => kindsOf(role).some((kind) => isWanted(role, kind)));
  // By role first: there are more audio machines than gateways.
  const role = drawOne([...new Set(possible.map((subject) => subject.role))], random);
  const subject = drawOne(
    possible.filter((other) => other.role === role),
    random,
  );
  if (subject === undefined) return undefined;
  const kinds = kindsOf(subject.role).filter((kind) => isWanted(subject.role, kind));
  const kind = drawOne(
    kinds.flatMap((each) => Array.from({ length: each.weight }, () => each)),
    random,
  );
  if (kind === undefined) return undefined;
  const { fault, forMsMin, forMsMax } = kind;
  // As many short ones as long ones.
  return { subject, fault, atMs, forMs: Math.round(forMsMin * (forMsMax / forMsMin) ** random()) };
}

function kindsOf(role: Subject["role"]): readonly Kind[] {
  return role === "nats" ? OF_NATS : OF_MACHINES;
}

function drawOne<T>(list: readonly T[], random: () => number): T | undefined {
  return list[Math.floor(random() * list.length)];
}
