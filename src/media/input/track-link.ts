// The link that a site's track is played from: requested when the track is opened, and renewed shortly before it
// expires and when the site refuses it, a bounded number of times. If its bytes change, the next opening of the track
// reuses it. Audio and probe threads; in full: docs/internals/links.md.

import type { PlainInput, SiteTrack } from "../../bridge/playable-input.ts";
import type { LinkReason, LinkRequest, PlayableLink } from "../../bridge/playable-link.ts";
import { NodeError } from "../../errors.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Owner } from "../../lib/owners.ts";
import { unlessAborted } from "../../lib/unless-aborted.ts";
import type { Logger } from "../../log/log.ts";
import { destinationOfLink, type RequestDestination } from "./link-destination.ts";
import { RetryBudget } from "./retry-budget.ts";

/** A link that expires this soon is renewed before it is used; of one that lives shorter, half its life. */
const EXPIRY_MARGIN_MS = 10_000;
/** When asking for a fresh one failed, the old one is used on, and so much later it is tried again. */
const FRESH_RETRY_MS = 5_000;
/** Renewals in a row without progress, so that a site that refuses all its links is not retried forever. */
const RENEWALS_MAX = 3;
/** Received bytes that show that a link is good. An HLS segment does as well. */
const PROGRESS_BYTES = 64 * 1024;

/** The target of a link. */
type LinkTarget =
  | { readonly kind: "destination"; readonly destination: RequestDestination; readonly container: string | undefined }
  | { readonly kind: "input"; readonly input: PlainInput };

interface TrackLinkOptions {
  readonly track: SiteTrack;
  readonly owner: Owner;
  /** See `EventChannel.requestLink`. */
  readonly requestLink: (request: LinkRequest) => Promise<PlayableLink>;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** The link leads to other bytes than before: the reader has to open the track again and continue by time. */
export class InputReplacedError extends NodeError {
  readonly link: TrackLink;

  constructor(link: TrackLink) {
    super("input-changed", "receiving the track: its renewed link leads to a different file");
    this.link = link;
  }
}

/** One for each opening of a site's track, or for several that follow from one another. One caller at a time. */
export class TrackLink {
  readonly #options: TrackLinkOptions;
  readonly #renewals: RetryBudget;
  #target: LinkTarget;
  /** Clock time, epoch milliseconds, from which on a fresh one is asked for. */
  #freshFromMs: number;

  /** Requests the first link. Rejects with the reason why there is none, "link-invalid", or the signal's reason. */
  static async obtain(options: TrackLinkOptions, signal: AbortSignal): Promise<TrackLink> {
    const { track, owner, requestLink } = options;
    return new TrackLink(await unlessAborted(requestLink({ track, owner, reason: "start" }), signal), options);
  }

  private constructor(link: PlayableLink, options: TrackLinkOptions) {
    this.#options = options;
    this.#renewals = new RetryBudget(options.clock, { triesMax: RENEWALS_MAX, progressBytes: PROGRESS_BYTES });
    this.#target = targetOf(link);
    this.#freshFromMs = this.#freshFromOf(link, "start");
  }

  get target(): LinkTarget {
    return this.#target;
  }

  /**
   * The link's destination.
   * @throws InputReplacedError when the track now plays what another source's track plays
   */
  get destination(): RequestDestination {
    if (this.#target.kind === "input") throw new InputReplacedError(this);
    return this.#target.destination;
  }

  /** It is to be renewed before it is used again. */
  get isExpiring(): boolean {
    return this.#options.clock.epochMs() >= this.#freshFromMs;
  }

  /** Renews it if it is expiring. Where that fails, the old one is used on: it may be good for a while. */
  async keepFresh(signal: AbortSignal): Promise<void> {
    if (!this.isExpiring) return;
    try {
      await this.#renew("expiring", undefined, signal);
    } catch (error) {
      signal.throwIfAborted();
      const { clock, logger } = this.#options;
      this.#freshFromMs = clock.epochMs() + FRESH_RETRY_MS;
      logger.debug("link renewal failed: the expiring link stays in use", { error });
    }
  }

  /**
   * Asks for another one, as the site has refused this one with a status: at once, after half a second, after one and a
   * half, and no more until something was received.
   * @throws NodeError "link-refused" when that was the last time, or what the source says
   */
  renewRefused(status: number, signal: AbortSignal): Promise<void> {
    return this.#renew("refused", status, signal);
  }

  /** Bytes were received from it. */
  noteProgress(sizeBytes: number): void {
    this.#renewals.addProgress(sizeBytes);
  }

  /** As much was received from it as shows that it is good. */
  noteGood(): void {
    this.#renewals.reset();
  }

  async #renew(reason: Exclude<LinkReason, "start">, status: number | undefined, signal: AbortSignal): Promise<void> {
    const { track, owner, requestLink, logger } = this.#options;
    const variant = this.#target.kind === "destination" ? this.#target.destination.variant : undefined;
    let failure: unknown;
    for (;;) {
      const hasTry = await this.#renewals.waitForTry(signal);
      signal.throwIfAborted();
      if (!hasTry) throw failure ?? usedUpError(track, status);
      try {
        const tries = this.#renewals.triesUsed;
        logger.debug("requesting a link", { source: track.sourceName, reason, status, tries });
        return this.#take(await unlessAborted(requestLink({ track, owner, reason, status, variant }), signal), reason);
      } catch (error) {
        signal.throwIfAborted();
        // Where the old one is good for a while, there is time.
        if (reason === "expiring" || !mayPass(error)) throw error;
        failure = error;
      }
    }
  }

  #take(link: PlayableLink, reason: LinkReason): void {
    this.#target = targetOf(link);
    this.#freshFromMs = this.#freshFromOf(link, reason);
  }

  #freshFromOf(link: PlayableLink, reason: LinkReason): number {
    const expiresMs = link.kind === "link" ? link.expiresAtEpochMs : undefined;
    if (expiresMs === undefined || !Number.isFinite(expiresMs)) return Number.POSITIVE_INFINITY;
    // The first link may have waited to be used.
    if (reason === "start") return expiresMs - EXPIRY_MARGIN_MS;
    const lifeMs = expiresMs - this.#options.clock.epochMs();
    // A link that expired before it arrived means that the site's clock differs: the site will refuse it if needed.
    return lifeMs <= 0 ? Number.POSITIVE_INFINITY : expiresMs - Math.min(EXPIRY_MARGIN_MS, lifeMs / 2);
  }
}

function targetOf(link: PlayableLink): LinkTarget {
  return link.kind === "input"
    ? { kind: "input", input: link.input }
    : { kind: "destination", destination: destinationOfLink(link), container: link.container };
}

/** Failures that are the fault of neither the track nor the source may pass soon. */
function mayPass(error: unknown): boolean {
  if (!(error instanceof NodeError)) return false;
  return error.fault === "remote" || error.fault === "environment" || error.code === "worker-timeout";
}

function usedUpError({ sourceName }: SiteTrack, status: number | undefined): NodeError {
  const last = status === undefined ? "" : ` (HTTP ${status})`;
  const message = `playing a track of ${sourceName}: the site refused ${RENEWALS_MAX} links in a row${last}`;
  return new NodeError("link-refused", `${message}, or gave next to nothing for them`);
}
