// One file or station on a web server: its properties, and opening its body at a given byte, now and again later, as
// the same version of the same resource, also after its link has changed. Audio thread.

import { NodeError } from "../../errors.ts";
import { describeUrl } from "../../lib/parse-url.ts";
import { type HttpHeaders, headerOf } from "../../network/header-value.ts";
import { checkedRange, checkHasBody, isUselessPart, isWorthAskingBare } from "./answer-checks.ts";
import { type Asked, askFirst, askRenewing, getDecoded, type ResourceAccess } from "./first-request.ts";
import type { HttpAnswer, HttpBody } from "./http-answer.ts";
import { IcyBody, LimitedBody, SkippingBody } from "./http-body.ts";
import { answerError, isHangUp } from "./http-errors.ts";
import {
  contentLengthOf,
  contentRangeOf,
  ifRangeOf,
  isSameVersion,
  mimeTypeOf,
  type Validator,
  validatorOf,
} from "./http-headers.ts";
import { type IcyStation, metadataIntervalOf, stationOf } from "./icy-metadata.ts";
import type { RequestDestination } from "./link-destination.ts";
import { type PartRequest, partFrom, sizeInQuery, wholeOf, withoutRange } from "./range-steps.ts";
import { InputReplacedError, type TrackLink } from "./track-link.ts";

/** Files up to here are random access even without ranges: opened again and skipped. About seven minutes of MP3. */
const SKIP_TO_SEEK_SIZE_BYTES_MAX = 16 * 1024 * 1024;
/** How far a reopened body without ranges is skipped to take up where the last one was lost. */
const SKIP_TO_RECOVER_BYTES_MAX = 256 * 1024 * 1024;
/** Statuses of a link that has expired or moved: the redirect in front of it may give a fresh one. */
const EXPIRED_STATUSES = new Set([401, 403, 404, 410]);

interface OpenedResource {
  readonly resource: HttpResource;
  /** The body from byte 0. */
  readonly body: HttpBody;
}

/** Facts are fixed by the first answer; only the address, the use of ranges and the end may be learnt later. */
export class HttpResource {
  readonly mimeType: string | undefined;
  /** The first body was sent as a range, and bytes that make no sense may be due to that. */
  readonly isPart: boolean;
  readonly #access: ResourceAccess;
  /** Titles are not asked for. */
  #isBare: boolean;
  /** The only request for a range failed in a way that may pass; if the next one fails, it is the last. */
  #doubtsRanges: boolean;
  readonly #metadataIntervalBytes: number | undefined;
  /** The original destination, and the body's address after redirects. */
  #destination: RequestDestination;
  #url: URL;
  #validator: Validator;
  /** The destination differs from that of the last body: its bytes must be compared. */
  #isNewDestination = false;
  /** End of the range step requested last. */
  #stepEndBytes: number | undefined;
  #station: IcyStation | undefined;
  #sizeBytes: number | undefined;
  #acceptsRanges: boolean;
  /** The body that is being received came as a range. */
  #isPartOpen = false;
  #isLive: boolean;
  /** What the first answer says, unless it is a station's. */
  readonly #asFile: { readonly sizeBytes: number | undefined; readonly acceptsRanges: boolean };

  /**
   * @param url where `access` has no link
   * @param options `isBare`: ask without a range, for a server whose answer to one was no use
   * @throws NodeError when it cannot be reached, is not there or answers nonsense
   */
  static async open(
    access: ResourceAccess,
    url: URL,
    { signal, isBare = false }: { readonly signal: AbortSignal; readonly isBare?: boolean | undefined },
  ): Promise<OpenedResource> {
    const asked = await askFirst(access, url, { signal, isBare });
    try {
      const resource = new HttpResource(access, asked);
      await resource.#settleDoubt(signal);
      return { resource, body: resource.#firstBodyOf(asked) };
    } catch (error) {
      asked.answer.body.cancel();
      throw error;
    }
  }

  private constructor(access: ResourceAccess, { destination, part, answer, isBare, isDoubtful }: Asked) {
    const { status, headers } = answer;
    checkHasBody(answer);
    const range = status === 206 ? checkedRange(answer, 0) : undefined;
    const stepBytes = status === 206 || isStep(answer, part, 0) ? part.endBytes : undefined;
    this.#access = access;
    this.#isBare = isBare;
    this.#doubtsRanges = isDoubtful;
    this.isPart = status === 206 && !isBare;
    this.#destination = destination;
    this.#url = part.isByQuery ? withoutRange(answer.url) : answer.url;
    this.#stepEndBytes = stepBytes;
    this.mimeType = mimeTypeOf(headers);
    this.#validator = validatorOf(headers);
    this.#station = stationOf(headers);
    this.#metadataIntervalBytes = metadataIntervalOf(headers);
    const lengthBytes = status === 206 ? range?.sizeBytes : lengthOf(answer, stepBytes);
    const wholeBytes = (part.isByQuery ? sizeInQuery(destination.url) : undefined) ?? lengthBytes;
    // With titles in between, length and positions are not those of the audio.
    const hasTitles = this.#metadataIntervalBytes !== undefined;
    const offersParts = offersRanges(status, headers) || (part.isByQuery && stepBytes !== undefined);
    this.#asFile = hasTitles
      ? { sizeBytes: undefined, acceptsRanges: false }
      : { sizeBytes: wholeBytes, acceptsRanges: offersParts && (!isBare || isDoubtful) };
    // Stations state lengths and ranges for players that need them: 2^30 - 1, say.
    this.#isLive = this.#station !== undefined;
    this.#sizeBytes = this.#isLive ? undefined : this.#asFile.sizeBytes;
    this.#acceptsRanges = !this.#isLive && this.#asFile.acceptsRanges;
  }

  /**
   * Whether large files can be read anywhere must be known in advance. Where a request without a range was answered and
   * offers them, the last byte is asked for.
   */
  async #settleDoubt(signal: AbortSignal): Promise<void> {
    const sizeBytes = this.#sizeBytes ?? 0;
    if (!this.#doubtsRanges || !this.#acceptsRanges || sizeBytes <= SKIP_TO_SEEK_SIZE_BYTES_MAX) return;
    const part = partFrom(this.#destination, this.#url, sizeBytes - 1);
    const answer = await this.#send(part, signal).catch(() => undefined);
    answer?.body.cancel();
    signal.throwIfAborted();
    this.#acceptsRanges = answer?.status === 206 && !isUselessPart(answer, sizeBytes - 1);
    this.#doubtsRanges = false;
  }

  /** Address of the body after redirects, with user name and password if they still apply. */
  get url(): URL {
    return this.#url;
  }

  get sizeBytes(): number | undefined {
    return this.#sizeBytes;
  }

  /** See ByteSource. */
  get version(): string | undefined {
    return ifRangeOf(this.#validator);
  }

  get station(): IcyStation | undefined {
    return this.#station;
  }

  /** True for a station: no end, no positions; a lost connection is simply opened again. */
  get isLive(): boolean {
    return this.#isLive;
  }

  /** True when a body can begin in the middle; otherwise getting there means receiving all that lies before. */
  get acceptsRanges(): boolean {
    return this.#acceptsRanges;
  }

  get isRandomAccess(): boolean {
    return this.#acceptsRanges || (this.#sizeBytes ?? Number.POSITIVE_INFINITY) <= SKIP_TO_SEEK_SIZE_BYTES_MAX;
  }

  /** True when a closed connection can be reopened at the same byte. */
  get isReopenable(): boolean {
    return this.isLive || this.#acceptsRanges || this.#sizeBytes !== undefined;
  }

  /** True when the body was requested up to here, and the next one continues: no connection was lost. */
  isStepEnd(positionBytes: number): boolean {
    return this.#stepEndBytes !== undefined && positionBytes >= this.#stepEndBytes;
  }

  /** Reports received bytes: the link of a site's track works. */
  noteProgress(sizeBytes: number): void {
    this.#doubtsRanges &&= !this.#isPartOpen;
    this.#access.link?.noteProgress(sizeBytes);
  }

  /** Notes that what looks like a station is a file: its length and ranges count. */
  expectEnd(): void {
    if (!this.#isLive) return;
    this.#isLive = false;
    this.#sizeBytes = this.#asFile.sizeBytes;
    this.#acceptsRanges = this.#asFile.acceptsRanges;
  }

  /** Notes that the answer to the first request brought nothing: the beginning is asked for bare. */
  askBare(): void {
    if (this.#destination.rangeStep !== undefined) return;
    this.#isBare = true;
    this.#doubtsRanges = true;
  }

  /** Notes that a body ended before its first byte: of a range that was in doubt, it shows what they are worth. */
  noteEmptyBody(): void {
    if (this.#doubtsRanges && this.#isPartOpen) this.#refuseRanges();
  }

  /** Notes that the body regularly ended here. */
  setEnd(positionBytes: number): void {
    this.#sizeBytes = positionBytes;
  }

  /**
   * The body from this byte on (of a station: from now on).
   * @param head the first bytes of the body, to check that a server without ranges still sends the same file
   * @throws NodeError; "input-unreachable" and some statuses may be retried; InputReplacedError when a new link leads
   *   to something else
   */
  async openAt(positionBytes: number, head: Uint8Array, signal: AbortSignal): Promise<HttpBody> {
    const asked = await this.#requestLinked(positionBytes, signal);
    const { answer } = asked;
    try {
      return this.#continuation(asked, positionBytes, head);
    } catch (error) {
      answer.body.cancel();
      throw error;
    }
  }

  /** Asks at the link, renewed where it is expiring or refused. */
  async #requestLinked(positionBytes: number, signal: AbortSignal): Promise<Pick<Asked, "part" | "answer">> {
    const { link } = this.#access;
    if (link === undefined) return this.#request(positionBytes, signal);
    await link.keepFresh(signal);
    return askRenewing(link, {
      signal,
      ask: () => {
        this.#adopt(link);
        return this.#request(positionBytes, signal);
      },
      // As a redirect's target, it was there before.
      isExpired: ({ status }) => status === 404 && this.#url.href !== this.#destination.url.href,
    });
  }

  #adopt(link: TrackLink): void {
    const { destination } = link;
    if (destination === this.#destination) return;
    if (destination.variant !== this.#destination.variant) throw new InputReplacedError(link);
    this.#destination = destination;
    this.#url = destination.url;
    this.#isNewDestination = true;
  }

  /** Requests the body's last address, and if that has expired, the original one. */
  async #request(positionBytes: number, signal: AbortSignal): Promise<Pick<Asked, "part" | "answer">> {
    const asked = await this.#get(this.#url, positionBytes, signal);
    if (!EXPIRED_STATUSES.has(asked.answer.status) || this.#url.href === this.#destination.url.href) return asked;
    asked.answer.body.cancel();
    const fresh = await this.#get(this.#destination.url, positionBytes, signal);
    const { status, url } = fresh.answer;
    if (status === 200 || status === 206) this.#url = fresh.part.isByQuery ? withoutRange(url) : url;
    return fresh;
  }

  async #get(url: URL, positionBytes: number, signal: AbortSignal): Promise<Pick<Asked, "part" | "answer">> {
    if (this.#acceptsRanges && !(this.#doubtsRanges && positionBytes === 0)) {
      const part = partFrom(this.#destination, url, positionBytes);
      const answer = await this.#sendForPart(part, signal);
      if (answer !== undefined) {
        // Steps are needed for other reasons, and 416 may mean the end.
        const isKept = this.#destination.rangeStep !== undefined || answer.status === 416;
        const isUseless = this.#doubtsRanges ? isWorthAskingBare : isUselessPart;
        if (isKept || !isUseless(answer, positionBytes)) {
          this.#isPartOpen = answer.status === 206;
          return { part, answer };
        }
        answer.body.cancel();
      }
      this.#refuseRanges();
    }
    this.#isPartOpen = false;
    const part = wholeOf(url);
    return { part, answer: await this.#send(part, signal) };
  }

  #refuseRanges(): void {
    this.#doubtsRanges = false;
    this.#acceptsRanges = false;
  }

  /** Undefined: the server closed the connection, as it did before. */
  #sendForPart(part: PartRequest, signal: AbortSignal): Promise<HttpAnswer | undefined> {
    return this.#send(part, signal).catch((error) => {
      signal.throwIfAborted();
      if (this.#doubtsRanges && isHangUp(error)) return undefined;
      throw error;
    });
  }

  async #send(part: PartRequest, signal: AbortSignal): Promise<HttpAnswer> {
    const extras = this.#isBare ? {} : { "icy-metadata": "1" };
    const headers: Record<string, string> = { ...this.#destination.headers, ...extras, ...part.headers };
    const ifRange = this.#isNewDestination ? undefined : ifRangeOf(this.#validator);
    if (headers.range !== undefined && ifRange !== undefined) headers["if-range"] = ifRange;
    const { url: headersOf, ownServer, egress } = this.#destination;
    return getDecoded(this.#access, { url: part.url, headers, headersOf, signal, ownServer, egress });
  }

  #continuation({ part, answer }: Pick<Asked, "part" | "answer">, positionBytes: number, head: Uint8Array): HttpBody {
    const isPastEnd = this.#sizeBytes === undefined || contentRangeOf(answer.headers)?.sizeBytes === positionBytes;
    if (answer.status === 416 && isPastEnd) {
      // The received bytes are complete.
      this.setEnd(positionBytes);
      return answer.body;
    }
    if (answer.status === 416 && this.#isNewDestination) throw this.#changedError(answer.url);
    checkHasBody(answer);
    if (this.isLive) return this.#bodyOf(answer);
    const range = answer.status === 206 ? checkedRange(answer, positionBytes) : undefined;
    const hasStep = answer.status === 206 || isStep(answer, part, positionBytes);
    this.#stepEndBytes = hasStep ? part.endBytes : undefined;
    const wholeBytes = hasStep ? sizeInQuery(this.#destination.url) : contentLengthOf(answer.headers);
    const changed = this.#changedError(answer.url);
    this.#checkSame(answer, answer.status === 206 ? range?.sizeBytes : wholeBytes);
    if (answer.status === 206) return answer.body;
    if (hasStep && part.endBytes !== undefined) return this.#step(answer, positionBytes, part.endBytes);
    const isAsked = part.headers.range !== undefined;
    this.#doubtsRanges &&= !isAsked;
    this.#acceptsRanges = !isAsked && this.#doubtsRanges && offersRanges(answer.status, answer.headers);
    return this.#skipTo(answer, positionBytes, { head, changed });
  }

  /** Throws unless it is the file that was opened. */
  #checkSame(answer: HttpAnswer, sizeBytes: number | undefined): void {
    const validator = validatorOf(answer.headers);
    // Hosts that share a file agree on its bytes and not on how they name its version.
    const isNamed = this.#isNewDestination && this.#destination.variant !== undefined;
    // A server that states a wrong size, behind which nothing is, states it again.
    const hasSize = isSameSize(this.#sizeBytes, sizeBytes) || sizeBytes === this.#asFile.sizeBytes;
    const isSame = hasSize && (isNamed || isSameVersion(this.#validator, validator));
    if (!isSame) throw this.#changedError(answer.url);
    if (this.#isNewDestination) this.#validator = validator;
    this.#isNewDestination = false;
  }

  #changedError(url: URL): NodeError {
    const { link } = this.#access;
    return link !== undefined && this.#isNewDestination ? new InputReplacedError(link) : changedError(url);
  }

  /** A step that was asked for in the query. A shorter one is the last. */
  #step(answer: HttpAnswer, positionBytes: number, endBytes: number): HttpBody {
    const lengthBytes = contentLengthOf(answer.headers);
    const isLast = lengthBytes !== undefined && positionBytes + lengthBytes < endBytes;
    if (isLast && this.#sizeBytes === undefined) this.setEnd(positionBytes + lengthBytes);
    return new LimitedBody(answer.body, endBytes - positionBytes);
  }

  #skipTo(
    answer: HttpAnswer,
    positionBytes: number,
    { head, changed }: { readonly head: Uint8Array; readonly changed: NodeError },
  ): HttpBody {
    if (positionBytes === 0) return answer.body;
    if (positionBytes > SKIP_TO_RECOVER_BYTES_MAX) {
      throw answerError(answer.url, "the server cannot continue in the middle, and it is too far to begin again");
    }
    return new SkippingBody(answer.body, positionBytes, (data, atBytes) => {
      const known = head.subarray(atBytes, atBytes + data.length);
      if (Buffer.compare(known, data.subarray(0, known.length)) !== 0) throw changed;
    });
  }

  #firstBodyOf({ part, answer }: Asked): HttpBody {
    const endBytes = part.isByQuery && answer.status !== 206 ? this.#stepEndBytes : undefined;
    return endBytes === undefined ? this.#bodyOf(answer) : new LimitedBody(answer.body, endBytes);
  }

  #bodyOf(answer: HttpAnswer): HttpBody {
    const intervalBytes = metadataIntervalOf(answer.headers);
    if (intervalBytes === undefined) return answer.body;
    return new IcyBody(answer.body, intervalBytes, (streamTitle) => {
      if (this.#station !== undefined) this.#station = { ...this.#station, streamTitle };
    });
  }
}

/** A 200 with `Accept-Ranges: bytes` counts: some servers send the whole when asked for all of it. */
function offersRanges(status: number, headers: HttpHeaders): boolean {
  if (status === 206) return true;
  return headerOf(headers, "accept-ranges")?.toLowerCase() === "bytes" && contentLengthOf(headers) !== undefined;
}

/** A 200 that is the step that was asked for in the query, and not the whole. */
function isStep({ status, headers }: HttpAnswer, { isByQuery, endBytes }: PartRequest, positionBytes: number): boolean {
  if (status === 206 || !isByQuery || endBytes === undefined) return false;
  return (contentLengthOf(headers) ?? 0) <= endBytes - positionBytes;
}

/** Total length from an answer with 200; of a range step only when it is shorter than requested. */
function lengthOf({ headers }: HttpAnswer, stepBytes: number | undefined): number | undefined {
  const lengthBytes = contentLengthOf(headers);
  return stepBytes === undefined || (lengthBytes ?? stepBytes) < stepBytes ? lengthBytes : undefined;
}

function isSameSize(before: number | undefined, now: number | undefined): boolean {
  return before === undefined || now === undefined || before === now;
}

function changedError(url: URL): NodeError {
  return new NodeError("input-changed", `receiving ${describeUrl(url)}: the file has changed since it was opened`);
}
