// What the events of a run did to the sound of each guild: the gaps of players whose machine was struck, and for all
// others how many packets were missing or late around an event, beside undisturbed seconds of the run. Pure. Lab only.

import type { EventName, Fault, Subject } from "./schedule.ts";
import type { Interruption } from "./sound-log.ts";

/** An event that took place. Times by `performance.now()`. */
export interface Happening {
  readonly subject: Subject;
  readonly fault: Fault;
  readonly fromMs: number;
  /** When its subject was there again. */
  readonly toMs: number;
}

/** A voice connection has begun to send for a guild. */
export interface Sending {
  readonly guildId: string;
  /** Undefined: unknown. */
  readonly machine: string | undefined;
  readonly fromMs: number;
}

/** Players that nothing should have happened to, in some span of time. */
export interface Steadiness {
  /** Of one guild, and of all together. */
  readonly guildSeconds: number;
  readonly missing: number;
  readonly late: number;
  readonly newStreams: number;
  /** The longest time between two packets; 0 if none was late. */
  readonly longestMs: number;
}

export interface SoundResult {
  /** Of players whose machine the event struck: the gap of each, 0 without one. */
  readonly hit: ReadonlyMap<EventName, readonly number[]>;
  /** Around the events, of players on other machines. */
  readonly beside: ReadonlyMap<EventName, Steadiness>;
  /** While nothing happened, and long after. */
  readonly undisturbed: Steadiness;
  /** The lab's machine has too little time for all: then only what no lack of time explains is a loss. */
  readonly isStarved: boolean;
  readonly losses: readonly string[];
}

export interface SoundRecord {
  readonly guildIds: readonly string[];
  readonly interruptions: readonly Interruption[];
  readonly happenings: readonly Happening[];
  /** In the order of their times. */
  readonly sendings: readonly Sending[];
  /** Of the run. */
  readonly fromMs: number;
  readonly toMs: number;
}

/** An event is felt until so long after its subject is there again. */
const AFTER_MS = 10_000;
/** Others have noticed it, and done what they do then, so long after its beginning: a dead machine is declared dead. */
const NOTICED_MS = 25_000;
const BEFORE_MS = 1000;
/** Shorter ones of players that were struck are noise. */
const GAP_MS_MIN = 100;
/** Sound that is shorter does not end a gap. */
const BLIP_MS_MAX = 1000;
/** Nothing interrupts players of machines that are well; the lab's process may be busy for so long. */
const BESIDE_MS_MAX = 1000;
/** On a starved machine so much is missing of players whose machine is well, and longer pauses are noise. */
const STARVED_RATE = 0.005;
const STARVED_MS_MAX = 5000;

const FRAMES_PER_SECOND = 50;
/** Of the packets of players beside an event, beyond so many times what is missing of all whose machine is well. */
const MISSING_MAX = 0.01;
const STARVED = 3;

type Span = readonly [fromMs: number, toMs: number];

export function judgeSound(record: SoundRecord): SoundResult {
  const { guildIds, happenings } = record;
  const guilds = guildIds.map((guildId) => guildOf(guildId, record));
  const hit = new Map<EventName, number[]>();
  const beside = new Map<EventName, Steadiness>();
  for (const happening of happenings) {
    const name = nameOf(happening);
    const span: Span = [happening.fromMs - BEFORE_MS, Math.min(record.toMs, happening.fromMs + NOTICED_MS)];
    for (const guild of guilds) {
      if (guild.struck.includes(happening)) {
        hit.set(name, [...(hit.get(name) ?? []), gapOf(guild, happening)]);
        continue;
      }
      const inside = within(guild, without(span, guild.struck.map(feltSpan)));
      beside.set(name, sum(beside.get(name), inside.steadiness));
    }
  }
  const calm = without([record.fromMs, record.toMs], happenings.map(feltSpan));
  const undisturbed = guilds.reduce((total, guild) => sum(total, within(guild, calm).steadiness), NONE);
  const well = guilds.reduce((total, guild) => sum(total, within(guild, wellSpans(guild, record)).steadiness), NONE);
  const isStarved = missingRate(well) > STARVED_RATE;
  const lengthMsMax = isStarved ? STARVED_MS_MAX : BESIDE_MS_MAX;
  const losses = [
    ...guilds.flatMap((guild) => lossesOf(guild, record, lengthMsMax)),
    ...[...beside].flatMap(([name, steadiness]) => {
      const rate = missingRate(steadiness);
      if (rate <= MISSING_MAX + STARVED * missingRate(well)) return [];
      return [`beside ${name} ${steadiness.missing} packets are missing, ${(rate * 1000).toFixed(1)} of 1000`];
    }),
  ];
  return { hit, beside, undisturbed, isStarved, losses };
}

function missingRate({ guildSeconds, missing }: Steadiness): number {
  return guildSeconds === 0 ? 0 : missing / (guildSeconds * FRAMES_PER_SECOND);
}

/** At no time but around what strikes its own machine may a player be interrupted, or miss a packet of its song. */
function lossesOf(guild: Guild, { happenings, fromMs, toMs }: SoundRecord, lengthMsMax: number): readonly string[] {
  const { interruptions } = within(guild, wellSpans(guild, { fromMs, toMs }));
  return interruptions.flatMap((interruption) => {
    const how = wrongOf(interruption, lengthMsMax);
    if (how === undefined) return [];
    const last = happenings.findLast((happening) => happening.fromMs <= interruption.toMs);
    const seconds = (ms: number): string => (ms / 1000).toFixed(1);
    const cause =
      last === undefined
        ? "nothing had happened before"
        : `${nameOf(last)} ${last.subject.name} was ${seconds(interruption.fromMs - last.fromMs)} s before`;
    return [
      `guild ${guild.guildId} ${how} at ${seconds(interruption.fromMs - fromMs)} s for ` +
        `${Math.round(lengthOf(interruption))} ms, though its machine was well; ${cause}`,
    ];
  });
}

/** When its machine was well. */
function wellSpans({ struck }: Guild, { fromMs, toMs }: Pick<SoundRecord, "fromMs" | "toMs">): readonly Span[] {
  return without([fromMs, toMs], struck.map(feltSpan));
}

function wrongOf(interruption: Interruption, lengthMsMax: number): string | undefined {
  const { isNewStream, skipped, missing } = interruption;
  if (isNewStream) return "joined voice again";
  // A starved machine may skip deadlines, and packets with them: then time has passed as well.
  if (skipped > missing) return `lost ${skipped} packets`;
  if (skipped < 0) return `heard ${-skipped} packets again`;
  return lengthOf(interruption) > lengthMsMax ? "was interrupted" : undefined;
}

function nameOf({ fault, subject }: Happening): EventName {
  return `${fault}-${subject.role}`;
}

/** The machine that sent for a guild at that moment. */
export function machineAt(sendings: readonly Sending[], guildId: string, atMs: number): string | undefined {
  return sendings.findLast((sending) => sending.guildId === guildId && sending.fromMs <= atMs)?.machine;
}

interface Guild {
  readonly guildId: string;
  readonly interruptions: readonly Interruption[];
  /** Events of the machine that it was on. */
  readonly struck: readonly Happening[];
}

function guildOf(guildId: string, { interruptions, happenings, sendings }: SoundRecord): Guild {
  const own = sendings.filter((sending) => sending.guildId === guildId);
  return {
    guildId,
    interruptions: interruptions.filter((interruption) => interruption.guildId === guildId),
    struck: happenings.filter(({ subject, fromMs }) => machineAt(own, guildId, fromMs) === subject.name),
  };
}

/**
 * From the last packet before the event's silence to the first one after it: a machine that wakes may send a little,
 * and be silent again as others have its players by then.
 */
function gapOf({ interruptions }: Guild, happening: Happening): number {
  const [fromMs, toMs] = feltSpan(happening);
  const gaps = interruptions.filter(
    (each) => each.toMs > happening.fromMs && each.fromMs > fromMs && each.fromMs < toMs && lengthOf(each) > GAP_MS_MIN,
  );
  const [first] = gaps;
  if (first === undefined) return 0;
  const last = gaps.reduce((end, gap) => (gap.fromMs - end.toMs <= BLIP_MS_MAX ? gap : end), first);
  return last.toMs - first.fromMs;
}

function lengthOf({ fromMs, toMs }: Interruption): number {
  return toMs - fromMs;
}

function feltSpan({ fromMs, toMs }: Happening): Span {
  return [fromMs - BEFORE_MS, Math.max(toMs + AFTER_MS, fromMs + NOTICED_MS)];
}

/** What is left of a span. */
export function without(span: Span, others: readonly Span[]): readonly Span[] {
  return others.reduce<readonly Span[]>(
    (parts, [fromMs, toMs]) =>
      parts.flatMap(([from, to]): readonly Span[] =>
        [[from, Math.min(to, fromMs)] as const, [Math.max(from, toMs), to] as const].filter(
          ([begin, end]) => begin < end,
        ),
      ),
    [span],
  );
}

const NONE: Steadiness = { guildSeconds: 0, missing: 0, late: 0, newStreams: 0, longestMs: 0 };

/** What lies wholly in one of these spans. */
function within(
  guild: Guild,
  spans: readonly Span[],
): { readonly interruptions: readonly Interruption[]; readonly steadiness: Steadiness } {
  const interruptions = guild.interruptions.filter(({ fromMs, toMs }) =>
    spans.some(([from, to]) => fromMs >= from && toMs <= to),
  );
  return {
    interruptions,
    steadiness: {
      guildSeconds: spans.reduce((total, [from, to]) => total + (to - from) / 1000, 0),
      missing: interruptions.reduce((total, { missing }) => total + missing, 0),
      late: interruptions.filter(({ missing }) => missing === 0).length,
      newStreams: interruptions.filter(({ isNewStream }) => isNewStream).length,
      longestMs: Math.max(0, ...interruptions.map(lengthOf)),
    },
  };
}

function sum(a: Steadiness = NONE, b: Steadiness): Steadiness {
  return {
    guildSeconds: a.guildSeconds + b.guildSeconds,
    missing: a.missing + b.missing,
    late: a.late + b.late,
    newStreams: a.newStreams + b.newStreams,
    longestMs: Math.max(a.longestMs, b.longestMs),
  };
}
