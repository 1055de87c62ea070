// The way of a request from one machine of the cluster to another, at both ends: this machine has recognised the client
// and read the body, the other one carries the request out. What is passed on, and why, is in forwarded-requests.ts and
// placed-requests.ts. Main thread; one for the REST server.

import { Readable } from "node:stream";
import { NodeError } from "../../errors.ts";
import { onAbort } from "../../lib/on-abort.ts";
import { accountFor } from "../access/account.ts";
import { mayUse, NOBODY, PASSWORD_HOLDER } from "../access/identity.ts";
import type { KeyRing } from "../access/key-ring.ts";
import type { ApiContext } from "../api/api-context.ts";
import { ApiError } from "../api/api-error.ts";
import type { PluginRestRoutes } from "../api/plugin-rest-routes.ts";
import type { RestRoute } from "../api/route.ts";
import { notFor, REFUSED_STATUSES } from "./admission.ts";
import { BodyMemory } from "./body-memory.ts";
import { LIGHT_BODY_SIZE_MAX_BYTES } from "./body-reader.ts";
import {
  ANSWER_SIZE_MAX_BYTES,
  type ForwardedAnswer,
  type ForwardedRequest,
  readAnswer,
  readRequest,
  writeAnswer,
  writeRequest,
} from "./forwarded-form.ts";
import { type MadeAnswer, makeFailure } from "./made-answer.ts";
import { pathOf } from "./request-target.ts";
import type { RouteCall } from "./route-calls.ts";

const SESSION_SEGMENT = /\/:sessionId(?:\/|$)/;

export interface RequestPassingOptions {
  readonly context: Pick<ApiContext, "clock" | "logger" | "slicer">;
  readonly keys: Pick<KeyRing, "named">;
  readonly routes: readonly RestRoute[];
  readonly pluginRoutes: Pick<PluginRestRoutes, "routes">;
}

/** What becomes of a request that another machine has passed on. */
export interface Receiver {
  /** Whether the session is where the other machine takes it to be; not a promise when that is certain at once. */
  readonly isHere: (request: ForwardedRequest) => boolean | Promise<boolean>;
  /** As `RouteCalls.answer`. */
  readonly answer: (call: RouteCall) => Promise<MadeAnswer | undefined>;
}

export class RequestPassing {
  readonly #options: RequestPassingOptions;
  /** What is held of large requests and answers, as the body reader holds bodies. */
  readonly #memory: BodyMemory;

  constructor(options: RequestPassingOptions) {
    this.#options = options;
    this.#memory = new BodyMemory(options.context.clock);
  }

  /**
   * Sends a request, as `passedText` has written it. Settles when the other machine has answered or failed, whether the
   * client is still there or not. A large answer counts until the signal of the call aborts, which it also does when
   * the client has its answer.
   */
  async ask(call: RouteCall, request: string, send: (request: string) => Promise<string>): Promise<ForwardedAnswer> {
    const answer = await send(request);
    const held = {};
    await this.#hold(held, answer.length, accountFor(call.identity, call.address));
    onAbort(call.signal, () => this.#memory.release(held));
    return readAnswer(answer);
  }

  /** The answer to a request of another machine; rejects where there is none, and the client is to try again. */
  async receive(text: string, { isHere, answer }: Receiver): Promise<string> {
    const request = readRequest(text);
    // Nobody hears here of the client. One for each request, as some work leaves listeners on it.
    const answered = new AbortController();
    try {
      await this.#hold(request, text.length, accountOf(request));
      const here = isHere(request);
      if (!(typeof here === "boolean" ? here : await here)) return writeAnswer({ kind: "moved" });
      const made = await this.#answer(request, answer, answered.signal);
      if (made === undefined) {
        const message = "the machine that was asked has stopped, or lost its sessions: try again in a moment";
        throw new NodeError("cluster-away", message);
      }
      return writeAnswer({ kind: "answered", ...made });
    } finally {
      this.#memory.release(request);
      answered.abort();
    }
  }

  /**
   * All of a body, which counts as the answer of `ask` does.
   * @throws ApiError 503 for more than machines pass on; NodeError "requests-busy"
   */
  async whole(body: MadeAnswer["body"], call: RouteCall): Promise<Buffer | undefined> {
    if (!(body instanceof Readable)) return body;
    const held = {};
    const account = accountFor(call.identity, call.address);
    const pieces: Buffer[] = [];
    let sizeBytes = 0;
    try {
      for await (const piece of body as AsyncIterable<Buffer>) {
        sizeBytes += piece.length;
        if (sizeBytes > ANSWER_SIZE_MAX_BYTES) throw answerTooLarge();
        this.#count(held, sizeBytes, account);
        pieces.push(piece);
      }
    } finally {
      onAbort(call.signal, () => this.#memory.release(held));
    }
    return Buffer.concat(pieces);
  }

  async #answer(
    request: ForwardedRequest,
    answer: Receiver["answer"],
    signal: AbortSignal,
  ): Promise<WholeAnswer | undefined> {
    try {
      const route = this.#routeOf(request);
      const { access = "client" } = route;
      // The keys of this machine count, as if it had been asked directly.
      const identity = access === "open" ? NOBODY : this.#identityOf(request.key);
      if (identity === undefined) return { status: REFUSED_STATUSES.wrong, headers: {}, body: undefined };
      if (!mayUse(identity.role, access)) throw notFor(identity, access);
      const call: RouteCall = { ...request, route, identity, signal, asker: undefined };
      const made = await answer(call);
      return made === undefined ? undefined : { ...made, body: await this.whole(made.body, call) };
    } catch (error) {
      return makeFailure(error, request, this.#options.context);
    }
  }

  #identityOf(key: string | null): RouteCall["identity"] | undefined {
    return key === null ? PASSWORD_HOLDER : this.#options.keys.named(key);
  }

  #routeOf({ method, path, target }: ForwardedRequest): RestRoute {
    const { routes, pluginRoutes } = this.#options;
    const routeMethod = method === "HEAD" ? "GET" : method;
    const isIt = (route: RestRoute): boolean => route.path === path && route.method === routeMethod;
    const isPlugins = SESSION_SEGMENT.test(path);
    const found = routes.find(isIt) ?? (isPlugins ? pluginRoutes.routes.find(isIt) : undefined);
    // Another plugin there, or nothing that machines pass on.
    if (found === undefined || !(isPlugins || found.ofMachines !== undefined))
      throw new ApiError(404, `No endpoint ${method} ${pathOf(target)}.`);
    return found;
  }

  /** What is large counts until it is released, and waits for a time slice in which it is read. */
  async #hold(key: object, sizeBytes: number, account: string): Promise<void> {
    if (sizeBytes <= LIGHT_BODY_SIZE_MAX_BYTES) return;
    this.#count(key, sizeBytes, account);
    await this.#options.context.slicer.next(account);
  }

  #count(key: object, sizeBytes: number, account: string): void {
    if (this.#memory.hold(key, sizeBytes, { account, onDropped: undefined })) return;
    const message = "the node holds as much as it can of large requests between machines: try again in a moment";
    throw new NodeError("requests-busy", message);
  }
}

type WholeAnswer = Pick<MadeAnswer, "status" | "headers"> & { readonly body: Buffer | undefined };

/** The text of a request for another machine, without the client's credentials. */
export function passedText({ route, segments, method, target, headers, body, identity, address }: RouteCall): string {
  const { accept, "content-type": contentType, "user-agent": userAgent } = headers;
  return writeRequest({
    path: route.path,
    ...{ segments, method, target, body, address },
    headers: { accept, "content-type": contentType, "user-agent": userAgent },
    key: identity.name ?? null,
  });
}

/** The refusal of an answer that is longer than machines pass on. */
export function answerTooLarge(): ApiError {
  const limit = `${ANSWER_SIZE_MAX_BYTES / 1024 / 1024} MiB`;
  const message = `the answer is larger than the ${limit} that machines of a cluster pass on: ask for single players`;
  return new ApiError(503, message);
}

function accountOf({ key, address }: ForwardedRequest): string {
  return accountFor({ name: key ?? undefined }, address);
}
