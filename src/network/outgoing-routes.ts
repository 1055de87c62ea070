// Chooses the address of the operator's blocks that a request is sent from: asks the main thread's route planner,
// reports failing addresses to it, and retries the request from another one within bounds.
// docs/reference/route-planner.md defines what counts as failing. Between a thread's HTTP client and the bridge; not
// created without blocks. Audio, probe and plugin threads.

import type { LookupAddress } from "node:dns";
import { isIP } from "node:net";
import type { AddressFamily, RouteEvent, RouteFailure } from "../bridge/events.ts";
import type { RouteRequests } from "../bridge/route-requests.ts";
import type { RoutingSettings } from "../bridge/worker-settings.ts";
import { NodeError, rootCause } from "../errors.ts";
import { BoundedMap } from "../lib/bounded-map.ts";
import type { Clock } from "../lib/clock.ts";
import { accountOf, type Owner } from "../lib/owners.ts";
import { describeUrl } from "../lib/parse-url.ts";
import { pause } from "../lib/pause.ts";
import { unlessAborted } from "../lib/unless-aborted.ts";
import type { Logger } from "../log/log.ts";
import type { OutboundGuard } from "./outbound-guard.ts";
import { BAN_STATUS, SiteRefusals } from "./site-refusals.ts";
import type { WorkRoute } from "./work-route.ts";

/** The members that are settings are described at RoutingSettings. */
export interface OutgoingRoutesOptions extends Pick<RoutingSettings, "retriesMax" | "isTriggeredBySearch"> {
  readonly guard: OutboundGuard;
  readonly clock: Clock;
  /** Logs each failing address, and once each host that is requested unbound. */
  readonly logger: Pick<Logger, "debug" | "warn">;
  /** Looking a host name up may take this long. */
  readonly resolveTimeoutMs: number;
  /** Asks the planner. */
  readonly requestRoute: RouteRequests["requestRoute"];
  /** Reports to the planner. */
  readonly send: (event: Extract<RouteEvent, { readonly type: "routeFailed" }>) => void;
}

/** The members of an answer used here. */
interface Refusable {
  readonly status: number;
  readonly body: { cancel(): void };
}

/** One request. */
export interface RoutedRequest<Answer extends Refusable> {
  /** The URL actually requested, if the operator has replaced the intended host. */
  readonly url: URL;
  /** Host and port of the site, where the operator has replaced it. Default: those of `url`. */
  readonly site?: string;
  /** Who it is for. Default: nobody. */
  readonly owner?: Owner | undefined;
  /** Sends it once, from this address. */
  readonly sendFrom: (localAddress: string | undefined) => Promise<Answer>;
  /** Ends waits and retries; `sendFrom` itself has to end a request already sent. */
  readonly signal: AbortSignal;
}

/** A request is repeated no longer than this, however many retries are allowed. */
const RETRYING_MS_MAX = 60_000;
/** So many retries follow at once, then one at a time: a site that refuses everyone must not be hammered. */
const RETRIES_AT_ONCE = 10;
const LATER_RETRY_DELAY_MS = 500;
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
  readonly #warnedHosts = new BoundedMap<string, true>(WARNED_HOSTS_MAX);
  readonly #refusals: SiteRefusals;

  constructor(options: OutgoingRoutesOptions) {
    this.#options = options;
    this.#refusals = new SiteRefusals(options);
  }

  /**
   * Sends the request from an address of the blocks, and again from others while the site or the system refuses the
   * address.
   * @param work the work it belongs to, all of whose requests use one address. Undefined: a separate request
   * @throws NodeError "routes-exhausted" when there is no address left to try, "worker-timeout" when the main thread
   * names none, "address-refused", the error of resolving the target, and the errors of `sendFrom`
   */
  async request<Answer extends Refusable>(request: RoutedRequest<Answer>, work?: WorkRoute): Promise<Answer> {
    try {
      const answer = await this.#tryAddresses(request, work);
      if (work !== undefined) work.exhaustion = undefined;
      return answer;
    } catch (error) {
      if (work !== undefined && isExhaustion(error)) work.exhaustion = error;
      throw error;
    }
  }

  /**
   * The address that this work leaves from, chosen if it has none yet. Undefined: none of the blocks.
   * @throws NodeError as `request`
   */
  async addressOf(work: WorkRoute, signal: AbortSignal): Promise<string | undefined> {
    try {
      return await unlessAborted(
        work.choose((preferred) => this.#options.requestRoute([4, 6], preferred, { site: work.site })),
        signal,
      );
    } catch (error) {
      if (isExhaustion(error)) work.exhaustion = error;
      throw error;
    }
  }

  /**
   * Sends the request from this address and from no other. Undefined: it is barred, or refused this time.
   * @throws NodeError as `request`
   */
  async requestFrom<Answer extends Refusable>(
    address: string,
    request: RoutedRequest<Answer>,
  ): Promise<Answer | undefined> {
    const { url, owner, sendFrom, signal } = request;
    const families = await this.#familiesOf(url, signal);
    const purpose = { site: siteOf(request), owner };
    const named = await unlessAborted(this.#options.requestRoute(families, address, purpose), signal);
    if (named === undefined) {
      this.#warnOfUnbound(url, families);
      return sendFrom(undefined);
    }
    if (named !== address) return undefined;
    const outcome = await this.#send(request, { address, isBanTrusted: true });
    if (outcome.failure === undefined) return outcome.answer;
    this.#report(request, address, outcome.failure);
    return undefined;
  }

  async #tryAddresses<Answer extends Refusable>(
    request: RoutedRequest<Answer>,
    work: WorkRoute | undefined,
  ): Promise<Answer> {
    const { url, sendFrom, signal } = request;
    const { clock, retriesMax = Number.POSITIVE_INFINITY, isTriggeredBySearch } = this.#options;
    const isBanTrusted = work?.isSearch !== true || isTriggeredBySearch;
    const families = await this.#familiesOf(url, signal);
    const startedMs = clock.now();
    let failure: Failure | undefined;
    for (let retries = 0; ; retries++) {
      const address = await this.#requestRoute(request, { families, failure, work });
      if (address === undefined) {
        this.#warnOfUnbound(url, families);
        return sendFrom(undefined);
      }
      const outcome = await this.#send(request, { address, isBanTrusted });
      if (outcome.failure === undefined) return outcome.answer;
      failure = outcome.failure;
      if (!this.#report(request, address, failure)) throw exhaustedError(url, retries + 1, failure);
      const delayMs = retries < RETRIES_AT_ONCE ? 0 : LATER_RETRY_DELAY_MS;
      const isOverdue = clock.now() + delayMs - startedMs > RETRYING_MS_MAX;
      if (retries >= retriesMax || isOverdue) throw exhaustedError(url, retries + 1, failure);
      if (delayMs > 0) await pause(clock, delayMs, signal);
      signal.throwIfAborted();
    }
  }

  async #send<Answer extends Refusable>(
    request: RoutedRequest<Answer>,
    { address, isBanTrusted }: { readonly address: string; readonly isBanTrusted: boolean },
  ): Promise<Outcome<Answer>> {
    const outcome = await request
      .sendFrom(address)
      .then((answer) => (isBanTrusted ? outcomeOfAnswer(answer) : { answer }), failureOfError);
    if (outcome.failure === undefined && outcome.answer.status !== BAN_STATUS) {
      this.#refusals.forget(siteOf(request));
    }
    return outcome;
  }

  /** False: a site that refuses everybody says nothing about the address. */
  #report(request: Requested, address: string, { reason, text }: Failure): boolean {
    const site = siteOf(request);
    const account = accountOf(request.owner ?? []);
    const isTrusted =
      reason === "banned" ? this.#refusals.note(site, address, account) : this.#refusals.noteUnusable(address);
    if (!isTrusted) return false;
    this.#options.send({ type: "routeFailed", address, reason, site, account });
    this.#options.logger.debug("route planner: address marked as failing", {
      address,
      url: describeUrl(request.url),
      why: text,
    });
    return true;
  }

  async #requestRoute(
    request: Requested & { readonly signal: AbortSignal },
    context: {
      readonly families: readonly AddressFamily[];
      readonly failure: Failure | undefined;
      readonly work: WorkRoute | undefined;
    },
  ): Promise<string | undefined> {
    const { url, owner, signal } = request;
    const { families, failure, work } = context;
    const purpose = { site: siteOf(request), owner };
    const requestRoute = (preferred?: string) => this.#options.requestRoute(families, preferred, purpose);
    try {
      return await unlessAborted(work === undefined ? requestRoute() : work.choose(requestRoute), signal);
    } catch (error) {
      if (failure === undefined || !isExhaustion(error)) throw error;
      const message = `${error.message}; the last one tried for ${describeUrl(url)}: ${failure.text}`;
      throw new NodeError("routes-exhausted", message, { cause: error });
    }
  }

  /** The address families of the target. The connection resolves the name again and the guard checks the answer. */
  async #familiesOf(url: URL, signal: AbortSignal): Promise<readonly AddressFamily[]> {
    const { guard, clock, resolveTimeoutMs } = this.#options;
    const host = url.hostname.replace(/^\[|\]$/g, "");
    guard.checkHost(host);
    if (isIP(host) !== 0) return [familyOf(host)];
    const tooLong = new AbortController();
    const timer = clock.after(resolveTimeoutMs, () => {
      tooLong.abort(new Error(`looking the name up took more than ${resolveTimeoutMs} ms`));
    });
    try {
      const addresses = await unlessAborted(resolveHost(guard, host), AbortSignal.any([signal, tooLong.signal]));
      return [...new Set(addresses.map(({ address }) => familyOf(address)))];
    } finally {
      timer.cancel();
    }
  }

  #warnOfUnbound(url: URL, families: readonly AddressFamily[]): void {
    if (this.#warnedHosts.get(url.host) === true) return;
    this.#warnedHosts.set(url.host, true);
    this.#options.logger.warn(
      "route planner: host has no address of the blocks' IP version, using the machine's own address",
      {
        host: url.host,
        families,
      },
    );
  }
}

type Requested = Pick<RoutedRequest<Refusable>, "url" | "site" | "owner">;

function siteOf({ url, site = url.host }: Requested): string {
  return site;
}

type Outcome<Answer> = { readonly answer: Answer; readonly failure?: undefined } | { readonly failure: Failure };

function isExhaustion(error: unknown): error is NodeError {
  return error instanceof NodeError && error.code === "routes-exhausted";
}

function outcomeOfAnswer<Answer extends Refusable>(answer: Answer): Outcome<Answer> {
  if (answer.status !== BAN_STATUS) return { answer };
  answer.body.cancel();
  return { failure: { reason: "banned", text: "HTTP 429" } };
}

/** Only a failed bind is about the address: later failures may be the target's fault. */
function failureOfError(error: unknown): { readonly failure: Failure } {
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

function resolveHost(guard: OutboundGuard, host: string): Promise<LookupAddress[]> {
  return new Promise((resolve, reject) => {
    guard.lookup(host, { all: true }, (error, addresses) => {
      if (error !== null) reject(error);
      else resolve(Array.isArray(addresses) ? addresses : []);
    });
  });
}
