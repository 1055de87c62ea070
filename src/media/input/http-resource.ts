// One file or station on a web server: what it is, and how its body is opened at a given byte, now and again later, as
// the same version of the same thing. Audio thread.

import { NodeError } from "../../errors.ts";
import { checkedRange, checkHasBody } from "./answer-checks.ts";
import type { HttpAnswer, HttpBody } from "./http-answer.ts";
import { IcyBody, SkippingBody } from "./http-body.ts";
import type { HttpClient } from "./http-client.ts";
import { answerError, describeUrl } from "./http-errors.ts";
import {
  contentLengthOf,
  contentRangeOf,
  type HttpHeaders,
  headerOf,
  ifRangeOf,
  isSameVersion,
  mimeTypeOf,
  type Validator,
  validatorOf,
} from "./http-headers.ts";
import { type IcyStation, metadataIntervalOf, stationOf } from "./icy-metadata.ts";
import type { RequestPace } from "./request-pace.ts";

/** Files up to here are random access even without ranges: opened again and skipped. About seven minutes of MP3. */
const SKIP_TO_SEEK_SIZE_BYTES_MAX = 16 * 1024 * 1024;
/** How far a reopened body without ranges is skipped to take up where the last one was lost. */
const SKIP_TO_RECOVER_BYTES_MAX = 256 * 1024 * 1024;
/** Statuses of a link that has expired or moved: the redirect in front of it may give a fresh one. */
const EXPIRED_STATUSES = new Set([401, 403, 404, 410]);

export interface OpenedResource {
  readonly resource: HttpResource;
  /** The body from byte 0. */
  readonly body: HttpBody;
}

/** Whom to ask, and how fast. */
export interface ResourceAccess {
  readonly client: HttpClient;
  readonly pace: RequestPace;
}

/** Facts are fixed by the first answer; only the address, the use of ranges and the end may be learnt later. */
export class HttpResource {
  readonly mimeType: string | undefined;
  readonly #access: ResourceAccess;
  readonly #originalUrl: URL;
  readonly #validator: Validator;
  readonly #metadataIntervalBytes: number | undefined;
  #url: URL;
  #station: IcyStation | undefined;
  #sizeBytes: number | undefined;
  #acceptsRanges: boolean;
  #isLive: boolean;

  /** @throws NodeError when it cannot be reached, is not there or answers nonsense */
  static async open(access: ResourceAccess, url: URL, signal: AbortSignal): Promise<OpenedResource> {
    const { client, pace } = access;
    let answer = await client.get({ url, headers: { range: "bytes=0-", "icy-metadata": "1" }, signal, pace });
    if (answer.status === 416) {
      // An empty file has no range, not even this one.
      answer.body.cancel();
      answer = await client.get({ url, headers: { "icy-metadata": "1" }, signal, pace });
    }
    try {
      const resource = new HttpResource(access, url, answer);
      return { resource, body: resource.#bodyOf(answer) };
    } catch (error) {
      answer.body.cancel();
      throw error;
    }
  }

  private constructor(access: ResourceAccess, url: URL, answer: HttpAnswer) {
    const { status, headers } = answer;
    checkHasBody(answer);
    const range = status === 206 ? checkedRange(answer, 0) : undefined;
    const lengthBytes = status === 206 ? range?.sizeBytes : contentLengthOf(headers);
    this.#access = access;
    this.#originalUrl = url;
    this.#url = answer.url;
    this.mimeType = mimeTypeOf(headers);
    this.#validator = validatorOf(headers);
    this.#station = stationOf(headers);
    this.#metadataIntervalBytes = metadataIntervalOf(headers);
    this.#isLive = this.#station !== undefined && lengthBytes === undefined;
    // With titles in between, neither the length nor any position is that of the sound.
    this.#sizeBytes = this.#metadataIntervalBytes === undefined ? lengthBytes : undefined;
    this.#acceptsRanges = this.#metadataIntervalBytes === undefined && !this.#isLive && offersRanges(status, headers);
  }

  /** Where the body comes from after redirects, with user name and password if they still apply. */
  get url(): URL {
    return this.#url;
  }

  get sizeBytes(): number | undefined {
    return this.#sizeBytes;
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

  /** True when a closed connection can be taken up again at the same byte. */
  get isReopenable(): boolean {
    return this.isLive || this.#acceptsRanges || this.#sizeBytes !== undefined;
  }

  /** Notes that what looks like a station is a file. */
  expectEnd(): void {
    this.#isLive = false;
  }

  /** Notes that the body regularly ended here. */
  setEnd(positionBytes: number): void {
    this.#sizeBytes = positionBytes;
  }

  /**
   * The body from this byte on (of a station: from now on).
   * @param head the first bytes of the body, to tell whether a server without ranges still sends the same file
   * @throws NodeError, of which "input-unreachable" and some statuses are worth another try
   */
  async openAt(positionBytes: number, head: Uint8Array, signal: AbortSignal): Promise<HttpBody> {
    const answer = await this.#request(positionBytes, signal);
    try {
      return this.#continuation(answer, positionBytes, head);
    } catch (error) {
      answer.body.cancel();
      throw error;
    }
  }

  /** Asks where the body came from last, and if that has expired, at the address it all began with. */
  async #request(positionBytes: number, signal: AbortSignal): Promise<HttpAnswer> {
    const { client, pace } = this.#access;
    const headers = this.#requestHeaders(positionBytes);
    const answer = await client.get({ url: this.#url, headers, signal, pace });
    if (!EXPIRED_STATUSES.has(answer.status) || this.#url.href === this.#originalUrl.href) return answer;
    answer.body.cancel();
    const fresh = await client.get({ url: this.#originalUrl, headers, signal, pace });
    if (fresh.status === 200 || fresh.status === 206) this.#url = fresh.url;
    return fresh;
  }

  #requestHeaders(positionBytes: number): Record<string, string> {
    const headers: Record<string, string> = { "icy-metadata": "1" };
    if (!this.#acceptsRanges) return headers;
    headers.range = `bytes=${positionBytes}-`;
    const ifRange = ifRangeOf(this.#validator);
    if (ifRange !== undefined) headers["if-range"] = ifRange;
    return headers;
  }

  #continuation(answer: HttpAnswer, positionBytes: number, head: Uint8Array): HttpBody {
    const isPastEnd = this.#sizeBytes === undefined || contentRangeOf(answer.headers)?.sizeBytes === positionBytes;
    if (answer.status === 416 && isPastEnd) {
      // What we have is all there is.
      this.setEnd(positionBytes);
      return answer.body;
    }
    checkHasBody(answer);
    if (this.isLive) return this.#bodyOf(answer);
    const range = answer.status === 206 ? checkedRange(answer, positionBytes) : undefined;
    const sizeBytes = answer.status === 206 ? range?.sizeBytes : contentLengthOf(answer.headers);
    if (!isSameVersion(this.#validator, validatorOf(answer.headers)) || !isSameSize(this.#sizeBytes, sizeBytes)) {
      throw changedError(answer.url);
    }
    if (answer.status === 206) return answer.body;
    this.#acceptsRanges = false;
    return this.#skipTo(answer, positionBytes, head);
  }

  #skipTo(answer: HttpAnswer, positionBytes: number, head: Uint8Array): HttpBody {
    if (positionBytes === 0) return answer.body;
    if (positionBytes > SKIP_TO_RECOVER_BYTES_MAX) {
      throw answerError(answer.url, "the server cannot continue in the middle, and it is too far to begin again");
    }
    return new SkippingBody(answer.body, positionBytes, (data, atBytes) => {
      const known = head.subarray(atBytes, atBytes + data.length);
      if (Buffer.compare(known, data.subarray(0, known.length)) !== 0) throw changedError(answer.url);
    });
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

function isSameSize(before: number | undefined, now: number | undefined): boolean {
  return before === undefined || now === undefined || before === now;
}

function changedError(url: URL): NodeError {
  return new NodeError("input-changed", `receiving ${describeUrl(url)}: the file has changed since it was opened`);
}
