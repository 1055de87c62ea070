// Where the audio of a site's track can be fetched for now: a worker requests it from the main thread shortly before it
// needs it, again before it expires, and again after it was refused. How it is used: docs/internals/links.md.

import type { Owner } from "../lib/owners.ts";
import type { PlainInput, SiteTrack } from "./playable-input.ts";

/**
 * Why a link is requested. `start`: the track is about to be opened. The other reasons request a new one: the last one
 * expires within seconds, or the site has refused it.
 */
export type LinkReason = "start" | "expiring" | "refused";

/** A worker's request for a link. */
export interface LinkRequest {
  readonly track: SiteTrack;
  /** Whose it is: see `PlayCommand`. */
  readonly owner: Owner;
  readonly reason: LinkReason;
  /** With `refused`: the HTTP status. */
  readonly status?: number | undefined;
  /**
   * For reasons other than `start`: the variant of the last link. Only the same variant can continue at the same byte.
   */
  readonly variant?: string | undefined;
}

/**
 * The egress of requests: the machine's own address, any of the operator's blocks, or a given address, as a link that
 * was found from there works from nowhere else; or a proxy that the operator has named for the plugin (secret: it may
 * hold credentials).
 */
export type Egress = "machine" | "blocks" | { readonly address: string } | { readonly proxyUrl: string };

/**
 * The site requires the file to be fetched in steps: with a `Range` header, or with `range=0-99` in the query instead.
 */
export interface RangeStep {
  /** A whole number, 64 KiB to 1 GiB. */
  readonly bytes: number;
  readonly by: "header" | "query";
}

const STEP_BYTES_MIN = 64 * 1024;
const STEP_BYTES_MAX = 1024 * 1024 * 1024;

/**
 * What is wrong with the step that a plugin has named; undefined: nothing. Smaller steps would cost more than they
 * gain.
 */
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
   * Sent with each request for it, and in HLS for everything the playlist names. A redirect to another host removes
   * `cookie` and `authorization`. At most 64, 16 KiB together, without connection headers.
   */
  readonly headers: Readonly<Record<string, string>>;
  /** As in a PlayableInput: a hint. */
  readonly container: string | undefined;
  /** Undefined: it does not. */
  readonly expiresAtEpochMs: number | undefined;
  /** Names the bytes: two links with the same name have the same bytes. */
  readonly variant: string | undefined;
  readonly rangeStep: RangeStep | undefined;
  /** The site gives only the first seconds of the track. Default: false. */
  readonly isPreview?: boolean | undefined;
  /** Egress of each request for it, also for what an HLS playlist names. */
  readonly egress: Egress;
  /**
   * Its host and port belong to a server that the operator has named for the plugin: this input may reach exactly that
   * one in a private network. Set by the main thread, which knows what the operator has named.
   */
  readonly isOwnServer: boolean;
}

/** The link that a worker receives. */
export type PlayableLink =
  | SiteLink
  /** The track plays what another source's track plays. This is not asked for again when it is refused. */
  | { readonly kind: "input"; readonly input: PlainInput };
