// The whole comparison: excerpts, each through every encoder at every bitrate, each judged. Lab only.

import { SAMPLE_RATE_HZ } from "../../src/media/format/audio-format.ts";
import { type ClassName, classesOf } from "./character.ts";
import type { Stereo } from "./ear-model.ts";
import type { EncoderKind } from "./encoders.ts";
import { EncoderJudge, type Judgement } from "./judge.ts";
import { decodeExcerpt, drawExcerpts, type Excerpt } from "./music.ts";
import { delayOf, roundTrip } from "./round-trip.ts";

/** Played before the judged part, so that encoders have adapted. */
const LEAD_SECONDS = 1;
/** Played after the excerpt: the last frame and the delay of any encoder. */
const TAIL_SECONDS = 0.1;
/** Quieter excerpts are not music, dB. */
const SILENCE_DB = -60;

export interface ListeningPlan {
  readonly folder: string;
  readonly excerptCount: number;
  /** Length of the judged part. */
  readonly seconds: number;
  readonly seed: number;
  readonly encoders: readonly EncoderToJudge[];
  /** Results of an earlier run of the same excerpts, which are not judged again. */
  readonly judgedBefore?: readonly JudgedExcerpt[];
}

/** An encoder and the requested bitrates. */
interface EncoderToJudge {
  readonly kind: EncoderKind;
  readonly targetsBps: readonly number[];
  /** It may have changed: it is judged again, whatever an earlier run found. */
  readonly isJudgedAgain: boolean;
}

/** One excerpt through one encoder at one bitrate; seconds are those of the excerpt with its lead-in. */
export interface EncoderJudgement extends Judgement {
  readonly encoder: string;
  readonly targetBps: number;
  /** Its actual bitrate. */
  readonly bitrateBps: number;
}

/** An excerpt and all its judgements. */
export interface JudgedExcerpt extends Excerpt {
  readonly classes: readonly ClassName[];
  readonly judgements: readonly EncoderJudgement[];
}

/** Yields each excerpt once it has been judged; silent ones are left out. */
export async function* listenThrough(plan: ListeningPlan): AsyncGenerator<JudgedExcerpt> {
  const lengthSeconds = LEAD_SECONDS + plan.seconds + TAIL_SECONDS;
  const listener = new Listener(plan);
  for (const excerpt of drawExcerpts(plan.folder, { ...plan, count: plan.excerptCount, lengthSeconds })) {
    const judged = await listener.listen(excerpt, decodeExcerpt(plan.folder, excerpt, lengthSeconds));
    if (judged !== undefined) yield judged;
  }
}

class Listener {
  readonly #plan: ListeningPlan;
  readonly #judge = new EncoderJudge();
  readonly #delays = new Map<string, number>();

  constructor(plan: ListeningPlan) {
    this.#plan = plan;
  }

  /** Undefined for silence. */
  async listen(excerpt: Excerpt, audio: Stereo): Promise<JudgedExcerpt | undefined> {
    const end = (LEAD_SECONDS + this.#plan.seconds) * SAMPLE_RATE_HZ;
    const character = this.#judge.setOriginal([audio[0].subarray(0, end), audio[1].subarray(0, end)]);
    if (character.levelDb < SILENCE_DB) return undefined;
    const before = this.#plan.judgedBefore?.find(
      ({ file, startSeconds }) => file === excerpt.file && startSeconds === excerpt.startSeconds,
    );
    const judgements: EncoderJudgement[] = [];
    for (const { kind, targetsBps, isJudgedAgain } of this.#plan.encoders) {
      for (const targetBps of targetsBps) {
        const known = before?.judgements.find((one) => one.encoder === kind.name && one.targetBps === targetBps);
        judgements.push((isJudgedAgain ? undefined : known) ?? (await this.#judgeEncoder(kind, targetBps, audio)));
      }
    }
    return { ...excerpt, classes: classesOf(character), judgements };
  }

  async #judgeEncoder(kind: EncoderKind, targetBps: number, audio: Stereo): Promise<EncoderJudgement> {
    const delaySamples = this.#delays.get(kind.name) ?? (await delayOf(kind));
    this.#delays.set(kind.name, delaySamples);
    const countedFrom = LEAD_SECONDS * SAMPLE_RATE_HZ;
    const trip = await roundTrip(kind, { audio, bitrateBps: targetBps, delaySamples, countedFrom });
    const { scores, noisiestSecond, leastSimilarSecond } = this.#judge.judge(trip.audio, countedFrom);
    return {
      encoder: kind.name,
      targetBps,
      bitrateBps: trip.bitrateBps,
      scores,
      noisiestSecond: LEAD_SECONDS + noisiestSecond,
      leastSimilarSecond: LEAD_SECONDS + leastSimilarSecond,
    };
  }
}
