// Where the sound of a site's track is to be had for now: what a worker asks the main thread for shortly before it
// needs it, again before it expires, and again after it was refused. How it is used: docs/internals/links.md.

import type { PlainInput, SiteTrack } from "./playable-input.ts";

/**
 * Why a link is wanted. `start`: the track is about to be opened. The others want one made anew: the last one expires
 * within seconds, or the site has refused it.
 */
export type LinkReason = "start" | "expiring" | "refused";

/** What a worker asks for. */
export interface LinkRequest {
  readonly track: SiteTrack;
  readonly reason: LinkReason;
  /** With `refused`: the HTTP status. */
  readonly status?: number | undefined;
  /** With the others than `start`: of the last link. Only what is of the same goes on at the same byte. */
  readonly variant?: string | undefined;
}

/**
 * Where requests leave from: the machine's own address, any of the operator's blocks, or one of them, as what was found
 * from there is good from nowhere else; or a proxy that the operator has named for the plugin (secret: it may hold
 * credentials).
 */
export type Egress = "machine" | "blocks" | { readonly address: string } | { readonly proxyUrl: string };

/** The site wants the file in steps: with a `Range` header, or as `range=0-99` in the query without one. */
export interface RangeStep {
  /** A whole number, 64 KiB to 1 GiB. */
  readonly bytes: number;
  readonly by: "header" | "query";
}

const STEP_BYTES_MIN = 64 * 1024;
const STEP_BYTES_MAX = 1024 * 1024 * 1024;

/** What is wrong with one that a plugin has named; undefined: nothing. Smaller steps would cost more than they bring. */
export function rangeStepTrouble({ bytes, by }: RangeStep): string | undefined {
  if (!Number.isSafeInteger(bytes) || bytes < STEP_BYTES_MIN || bytes > STEP_BYTES_MAX)
    return `its steps are not of ${STEP_BYTES_MIN} to ${STEP_BYTES_MAX} bytes`;
  return by === "header" || by === "query" ? undefined : "its steps are asked for by neither header nor query";
}

/** A link of the site itself. */
export interface SiteLink {
  readonly kind: "link";
  /** `http` or `https`: a media file, a live stream or an HLS playlist. A secret, as are the headers. */
  readonly url: string;
  /**
   * Sent with each request for it; within HLS to whatever the playlist names. A redirect to another host takes `cookie`
   * and `authorization` off. At most 64, 16 KiB together, and none of those that belong to the connection.
   */
  readonly headers: Readonly<Record<string, string>>;
  /** As in a PlayableInput: a hint. */
  readonly container: string | undefined;
  /** Undefined: it does not. */
  readonly expiresAtEpochMs: number | undefined;
  /** Names the bytes: those of two links with the same name are the same. */
  readonly variant: string | undefined;
  readonly rangeStep: RangeStep | undefined;
  /** Of each request for it, also for what an HLS playlist names. */
  readonly egress: Egress;
  /**
   * Its host and port are those of a server that the operator has named for the plugin: this input may reach exactly
   * that one in a private network. For the main thread to say, which knows what the operator has named.
   */
  readonly isOwnServer: boolean;
}

/** What a worker is given. */
export type PlayableLink =
  | SiteLink
  /** The track plays what another source's track plays. This is not asked for again when it is refused. */
  | { readonly kind: "input"; readonly input: PlainInput };
