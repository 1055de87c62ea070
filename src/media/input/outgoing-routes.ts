// Which address of the operator's blocks a request is sent from: asks the main thread's route planner, tells it of
// addresses that fail, and sends the request again from another one within bounds. docs/reference/route-planner.md says
// what counts as failing. Between HttpClient and the bridge; not there at all without blocks. Audio thread.

import type { LookupAddress } from "node:dns";
import { isIP } from "node:net";
import type { AddressFamily, RouteFailure, WorkerEvent } from "../../bridge/events.ts";
import type { RoutingSettings } from "../../bridge/worker-settings.ts";
import { NodeError, rootCause } from "../../errors.ts";
import type { Clock } from "../../lib/clock.ts";
import { pause } from "../../lib/pause.ts";
import { unlessAborted } from "../../lib/unless-aborted.ts";
import type { Logger } from "../../log.ts";
import type { OutboundGuard } from "../../network/outbound-guard.ts";
import type { HttpAnswer } from "./http-answer.ts";
import { connectionError, describeUrl } from "./http-errors.ts";
import { SiteRefusals } from "./site-refusals.ts";

export interface OutgoingRoutesOptions {
  readonly guard: OutboundGuard;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly retriesMax: RoutingSettings["retriesMax"];
  /** Looking a host name up may take this long. */
  readonly lookupTimeoutMs: number;
  /** Asks the planner; see `EventChannel.wantRoute`. */
  readonly wantRoute: (families: readonly AddressFamily[]) => Promise<string | undefined>;
  readonly send: (event: Extract<WorkerEvent, { readonly type: "routeFailed" }>) => void;
}

/** Sends the request once, from this address. */
type SendFrom = (localAddress: string | undefined) => Promise<HttpAnswer>;

/** A request is repeated no longer than this, however many retries are allowed. */
const RETRYING_MS_MAX = 60_000;
/** So many retries follow at once, then one at a time: a site that refuses everyone must not be hammered. */
const RETRIES_AT_ONCE = 10;
const LATER_RETRY_DELAY_MS = 500;
/** In place of a host that refuses addresses: an interface that is down refuses all of them. */
const THIS_MACHINE = "";
/** Hosts remembered so that each is warned of once. */
const WARNED_HOSTS_MAX = 256;

/** Why an address failed, for the planner and for people. */
interface Failure {
  readonly reason: RouteFailure;
  readonly text: string;
}

/** One per thread, so that each host is warned of once. */
export class OutgoingRoutes {
  readonly #options: OutgoingRoutesOptions;
  readonly #warnedHosts = new Set<string>();
  readonly #refusals: SiteRefusals;

  constructor(options: OutgoingRoutesOptions) {
    this.#options = options;
    this.#refusals = new SiteRefusals(options);
  }

  /**
   * Sends the request from an address of the blocks, and again from others while the site or the system refuses the
   * address.
   * @throws NodeError "routes-exhausted" when there is none left to try, "worker-timeout" when the main thread names
   * none, "address-refused", "input-unreachable" and what `sendFrom` rejects with
   */
  async request(url: URL, sendFrom: SendFrom, signal: AbortSignal): Promise<HttpAnswer> {
    const { clock, retriesMax = Number.POSITIVE_INFINITY } = this.#options;
    const families = await this.#familiesOf(url, signal);
    const startedMs = clock.now();
    let failure: Failure | undefined;
    for (let retries = 0; ; retries++) {
      const address = await this.#wantRoute(url, { families, failure, signal });
      if (address === undefined) {
        this.#warnOfUnbound(url, families);
        return sendFrom(undefined);
      }
      const outcome = await sendFrom(address).then(failureOfAnswer, failureOfError);
      if (outcome.answer !== undefined) {
        this.#refusals.forget(url.host);
        this.#refusals.forget(THIS_MACHINE);
        return outcome.answer;
      }
      failure = outcome.failure;
      const refuser = failure.reason === "banned" ? url.host : THIS_MACHINE;
      if (!this.#refusals.note(refuser, address)) throw exhaustedError(url, retries + 1, failure);
      this.#report(url, address, failure);
      const delayMs = retries < RETRIES_AT_ONCE ? 0 : LATER_RETRY_DELAY_MS;
      const isOverdue = clock.now() + delayMs - startedMs > RETRYING_MS_MAX;
      if (retries >= retriesMax || isOverdue) throw exhaustedError(url, retries + 1, failure);
      if (delayMs > 0) await pause(clock, delayMs, signal);
      signal.throwIfAborted();
    }
  }

  #report(url: URL, address: string, { reason, text }: Failure): void {
    // The http source knows no searches; a source that does will have to say so with its request.
    this.#options.send({ type: "routeFailed", address, isSearch: false, reason });
    this.#options.logger.debug("an address to send from fails", { address, url: describeUrl(url), why: text });
  }

  async #wantRoute(
    url: URL,
    context: {
      readonly families: readonly AddressFamily[];
      readonly failure: Failure | undefined;
      readonly signal: AbortSignal;
    },
  ): Promise<string | undefined> {
    try {
      return await unlessAborted(this.#options.wantRoute(context.families), context.signal);
    } catch (error) {
      const { failure } = context;
      if (failure === undefined || !(error instanceof NodeError) || error.code !== "routes-exhausted") throw error;
      const message = `${error.message}; the last one tried for ${describeUrl(url)}: ${failure.text}`;
      throw new NodeError("routes-exhausted", message, { cause: error });
    }
  }

  /** The families the target can be reached by. Whoever dials looks the name up again and has the answer judged. */
  async #familiesOf(url: URL, signal: AbortSignal): Promise<readonly AddressFamily[]> {
    const { guard, clock, lookupTimeoutMs } = this.#options;
    const host = url.hostname.replace(/^\[|\]$/g, "");
    guard.checkHost(host);
    if (isIP(host) !== 0) return [familyOf(host)];
    const tooLong = new AbortController();
    const timer = clock.after(lookupTimeoutMs, () => {
      tooLong.abort(new Error(`looking the name up took more than ${lookupTimeoutMs} ms`));
    });
    try {
      const addresses = await unlessAborted(lookUp(guard, host), AbortSignal.any([signal, tooLong.signal]));
      return [...new Set(addresses.map(({ address }) => familyOf(address)))];
    } catch (error) {
      signal.throwIfAborted();
      throw connectionError(url, error);
    } finally {
      timer.cancel();
    }
  }

  #warnOfUnbound(url: URL, families: readonly AddressFamily[]): void {
    if (this.#warnedHosts.has(url.host)) return;
    if (this.#warnedHosts.size >= WARNED_HOSTS_MAX) this.#warnedHosts.clear();
    this.#warnedHosts.add(url.host);
    this.#options.logger.warn("no address block of the family of this host, sending from the machine's own address", {
      host: url.host,
      families,
    });
  }
}

type Outcome =
  | { readonly answer: HttpAnswer; readonly failure?: never }
  | { readonly answer?: never; readonly failure: Failure };

/** Too Many Requests is the one status that speaks of the address; 403 is mostly about the link. */
function failureOfAnswer(answer: HttpAnswer): Outcome {
  if (answer.status !== 429) return { answer };
  answer.body.cancel();
  return { failure: { reason: "banned", text: "HTTP 429" } };
}

/** Only binding says something about the address: whatever happens later on the way may be the target's fault. */
function failureOfError(error: unknown): Outcome {
  const root = rootCause(error);
  const isUnbindable =
    root instanceof Error &&
    "code" in root &&
    root.code === "EADDRNOTAVAIL" &&
    "syscall" in root &&
    root.syscall === "bind";
  if (!isUnbindable) throw error;
  return { failure: { reason: "unusable", text: "this machine cannot send from it (EADDRNOTAVAIL)" } };
}

function exhaustedError(url: URL, triedCount: number, { text }: Failure): NodeError {
  const tried = triedCount === 1 ? "an address" : `${triedCount} addresses`;
  return new NodeError(
    "routes-exhausted",
    `loading ${describeUrl(url)}: tried from ${tried}; the last answer: ${text}`,
  );
}

function familyOf(address: string): AddressFamily {
  return isIP(address) === 6 ? 6 : 4;
}

function lookUp(guard: OutboundGuard, host: string): Promise<LookupAddress[]> {
  return new Promise((resolve, reject) => {
    guard.lookup(host, { all: true }, (error, addresses) => {
      if (error !== null) reject(error);
      else resolve(Array.isArray(addresses) ? addresses : []);
    });
  });
}
