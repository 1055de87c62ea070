// Unlocks the links of clients whose links are locked: the player script in a sandbox, or the operator's server. Plugin
// thread.

import { SourceError } from "../../src/plugin-api/plugin.ts";
import { webAddressIn } from "../reading/address.ts";
import type { FormatLink } from "./formats.ts";

export interface Unlocker {
  /** False while links would have to wait, or fail: the script is still being prepared, or the server is down. */
  readonly isReady: boolean;
  /** Prepares what links need, in the background. Never rejects: what fails is tried again with the next link. */
  prepare(): Promise<void>;
  /** For the player request, so that the links fit the script. */
  signatureTimestamp(signal: AbortSignal): Promise<number | undefined>;
  /** The link as it is to be fetched. Rejects with a SourceError. */
  open(link: FormatLink, signal: AbortSignal): Promise<string>;
}

/** Only challenges of this form are passed to a script. */
export const CHALLENGE = /^[\w-]{5,64}$/;
export const SIGNATURE = /^[\w=.~%+/-]{8,1024}$/;

/** The two riddles of a link. */
export interface Riddles {
  readonly url: URL;
  /** Slows the link down, or bars it, unless it is replaced by its solution. */
  readonly challenge: string | undefined;
  readonly signature: string | undefined;
  /** Under which the solved signature is sent. */
  readonly parameter: string;
}

/** Rejects what does not look like YouTube's. */
export function riddlesOf(link: FormatLink): Riddles {
  const url = webAddressIn(link.url);
  if (url === undefined) throw new SourceError("changed", "YouTube gave an invalid media link");
  const challenge = url.searchParams.get("n") ?? undefined;
  if (challenge !== undefined && !CHALLENGE.test(challenge)) {
    throw new SourceError("changed", "a media link has an n that looks like none");
  }
  if (link.kind === "open") return { url, challenge, signature: undefined, parameter: "sig" };
  const { signature, parameter } = link;
  if (!SIGNATURE.test(signature) || !/^\w{1,40}$/.test(parameter)) {
    throw new SourceError("changed", "a media link has a signature that looks like none");
  }
  return { url, challenge, signature, parameter };
}

/** Other SourceErrors than `unavailable` would count as failures of the client for which the work is done. */
export async function asUnavailable<Value>(work: Promise<Value>, signal: AbortSignal): Promise<Value> {
  try {
    return await work;
  } catch (error) {
    signal.throwIfAborted();
    throw error instanceof SourceError ? new SourceError("unavailable", error.message, { cause: error }) : error;
  }
}
