// The first request for a file or station: for a range and titles, and once more bare if the answer to that is no use,
// as from servers that know GET and little else. Also the renewal of links that are refused. Part of http-resource.ts.
// Audio and probe threads.

import { BAN_STATUS } from "../../network/site-refusals.ts";
import { isWorthAskingBare } from "./answer-checks.ts";
import { decodedAnswer } from "./content-coding.ts";
import type { HttpAnswer } from "./http-answer.ts";
import type { HttpClient, HttpRequest } from "./http-client.ts";
import {
  isHangUp,
  isRefusal,
  isWorthRetrying,
  refusalStatusOf,
  refusedAgainError,
  statusError,
} from "./http-errors.ts";
import { looseContentRangeOf } from "./http-headers.ts";
import type { RequestDestination } from "./link-destination.ts";
import { type PartRequest, partFrom, wholeOf } from "./range-steps.ts";
import type { RequestPace } from "./request-pace.ts";
import type { TrackLink } from "./track-link.ts";

/** Whom to ask, and how fast. */
export interface ResourceAccess {
  readonly client: HttpClient;
  readonly pace: RequestPace;
  /** Link of a site's track: gives the address of every request. */
  readonly link?: TrackLink | undefined;
}

/** An answer, and the destination of its request. */
export interface Asked {
  readonly destination: RequestDestination;
  readonly part: PartRequest;
  readonly answer: HttpAnswer;
  /** It was asked without a range and without titles. */
  readonly isBare: boolean;
  /** It was, because the request before failed in a way that may pass. */
  readonly isDoubtful: boolean;
}

interface AskOptions {
  readonly signal: AbortSignal;
  /** Do not try with a range. */
  readonly isBare: boolean;
}

/** Asks for the beginning, at the link if there is one. */
export async function askFirst(access: ResourceAccess, url: URL, options: AskOptions): Promise<Asked> {
  const { link } = access;
  if (link === undefined) return askAt(access, { url, headers: {} }, options);
  await link.keepFresh(options.signal);
  return askRenewing(link, { ask: () => askAt(access, link.destination, options), signal: options.signal });
}

/** GET with its body decompressed. */
export async function getDecoded({ client, pace }: ResourceAccess, request: Omit<HttpRequest, "pace">) {
  const answer = await client.get({ ...request, pace });
  try {
    return await decodedAnswer(answer, { memory: pace.budget.memory, signal: request.signal });
  } catch (error) {
    answer.body.cancel();
    throw error;
  }
}

async function askAt(access: ResourceAccess, destination: RequestDestination, options: AskOptions): Promise<Asked> {
  const { signal, isBare } = options;
  let isDoubtful = false;
  const { ownServer, egress, rangeStep } = destination;
  const ask = async (part: PartRequest, extras: Record<string, string>): Promise<HttpAnswer> => {
    const headers = { ...destination.headers, ...extras, ...part.headers };
    return getDecoded(access, { url: part.url, headers, signal, ownServer, egress });
  };
  if (!isBare) {
    const part = partFrom(destination, destination.url, 0);
    const answer = await ask(part, { "icy-metadata": "1" }).catch((error) => {
      signal.throwIfAborted();
      if (!isHangUp(error) || rangeStep !== undefined) throw error;
      return undefined;
    });
    // An empty file has no range, not even this one. Steps are needed for other reasons.
    const isKept = rangeStep !== undefined && answer?.status !== 416;
    if (answer !== undefined && (isKept || !isWorthAskingBare(answer, 0))) {
      return { destination, part, answer, isBare: false, isDoubtful };
    }
    isDoubtful = answer === undefined || isWorthRetrying(statusError(answer.url, answer.status));
    answer?.body.cancel();
  }
  const part = wholeOf(destination.url);
  return { destination, part, answer: asWhole(await ask(part, {})), isBare: true, isDoubtful };
}

/** A part that nobody asked for, and that does not say which, is the whole. */
function asWhole(answer: HttpAnswer): HttpAnswer {
  const isWhole = answer.status === 206 && looseContentRangeOf(answer.headers) === undefined;
  return isWhole ? { ...answer, status: 200 } : answer;
}

/**
 * Requests a link; if it is refused, once more with a renewed one. If the address that the link is valid from is
 * barred, renews as often as the link allows: that says nothing about the link.
 */
export async function askRenewing<Answered extends Pick<Asked, "answer">>(
  link: TrackLink,
  options: {
    readonly ask: () => Promise<Answered>;
    readonly signal: AbortSignal;
    /** Recognises an expired link by an answer other than a refusal. */
    readonly isExpired?: (answer: HttpAnswer) => boolean;
  },
): Promise<Answered> {
  const { ask, signal, isExpired = () => false } = options;
  for (let isRenewed = false; ; ) {
    const asked = await ask().catch(orBarred);
    if (asked !== "barred") {
      const { status, url, body } = asked.answer;
      if (!isRefusal(status) && (isRenewed || !isExpired(asked.answer))) return asked;
      body.cancel();
      if (isRenewed) throw refusedAgainError(url, status);
      isRenewed = true;
    }
    await link.renewRefused(asked === "barred" ? BAN_STATUS : asked.answer.status, signal);
  }
}

function orBarred(error: unknown): "barred" {
  if (refusalStatusOf(error) !== BAN_STATUS) throw error;
  return "barred";
}
