// Requests for sessions that another machine of the cluster has: this machine has recognised the client and read the
// body, the other one carries the request out. Both sides are here. A request that was passed on is not passed on again:
// the answer to it is that the session has moved. Main thread; one for the REST server.

import { Readable } from "node:stream";
import { NodeError } from "../../errors.ts";
import { onAbort } from "../../lib/on-abort.ts";
import { unlessAborted } from "../../lib/unless-aborted.ts";
import { accountFor } from "../access/account.ts";
import { mayUse, NOBODY, PASSWORD_HOLDER } from "../access/identity.ts";
import type { KeyRing } from "../access/key-ring.ts";
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
import type { RouteCall, RouteCalls, RouteCallsOptions } from "./route-calls.ts";

const SESSION_SEGMENT = /\/:sessionId(?:\/|$)/;

interface ForwardedRequestsOptions extends Pick<RouteCallsOptions, "context" | "isClosing" | "places"> {
  readonly calls: Pick<RouteCalls, "machineOf" | "answer">;
  readonly keys: Pick<KeyRing, "named">;
  readonly routes: readonly RestRoute[];
  readonly pluginRoutes: Pick<PluginRestRoutes, "routes">;
}

export class ForwardedRequests {
  readonly #options: ForwardedRequestsOptions;
  /** What is held of large requests and answers, as the body reader holds bodies. */
  readonly #memory: BodyMemory;

  /** From now on it answers what other machines pass on. */
  constructor(options: ForwardedRequestsOptions) {
    this.#options = options;
    this.#memory = new BodyMemory(options.context.clock);
    options.places.onCall((text) => this.#receive(text));
  }

  /**
   * The answer of `machine`, or of the one that the session has moved to. Never rejects. Undefined: as with
   * `RouteCalls.answer`.
   */
  async answer(call: RouteCall, machine: string): Promise<MadeAnswer | undefined> {
    const { calls, context, isClosing } = this.#options;
    let asked = machine;
    try {
      const text = writeRequest(requestOf(call));
      const first = await this.#ask(machine, text, call);
      if (first.kind === "answered") return { ...first, logged: { machine } };
      const now = await calls.machineOf(call);
      if (now === undefined) return await calls.answer(call);
      asked = now;
      const second = await this.#ask(now, text, call);
      if (second.kind === "answered") return { ...second, logged: { machine: now } };
      throw new NodeError("cluster-away", "the session is moving from one machine to another: try again in a moment");
    } catch (error) {
      return isClosing() ? undefined : { ...makeFailure(error, call, context), logged: { machine: asked } };
    }
  }

  /** Rejects when the client disconnects; the other machine finishes its work all the same. */
  async #ask(machine: string, text: string, call: RouteCall): Promise<ForwardedAnswer> {
    const { signal } = call;
    const answer = await unlessAborted(this.#options.places.call(machine, text), signal);
    await this.#hold(call, answer.length, accountFor(call.identity, call.address));
    // Aborts as well when the answer has been sent.
    onAbort(signal, () => this.#memory.release(call));
    return readAnswer(answer);
  }

  async #receive(text: string): Promise<string> {
    const request = readRequest(text);
    try {
      await this.#hold(request, text.length, accountOf(request));
      const machine = this.#options.calls.machineOf(request);
      if (machine !== undefined && (await machine) !== undefined) return writeAnswer({ kind: "moved" });
      const made = await this.#answerHere(request);
      if (made === undefined) {
        throw new NodeError(
          "cluster-away",
          "the machine of the session has stopped, or lost it: try again in a moment",
        );
      }
      return writeAnswer({ kind: "answered", ...made });
    } finally {
      this.#memory.release(request);
    }
  }

  async #answerHere(request: ForwardedRequest): Promise<WholeAnswer | undefined> {
    const { calls, context } = this.#options;
    try {
      const route = this.#routeOf(request);
      const { access = "client" } = route;
      // The keys of this machine count, as if it had been asked directly.
      const identity = access === "open" ? NOBODY : this.#identityOf(request.key);
      if (identity === undefined) return { status: REFUSED_STATUSES.wrong, headers: {}, body: undefined };
      if (!mayUse(identity.role, access)) throw notFor(identity, access);
      // Never aborted: nobody hears here of the client. One for each request, as some work leaves listeners on it.
      const { signal } = new AbortController();
      const made = await calls.answer({ ...request, route, identity, signal, asker: undefined });
      return made === undefined ? undefined : { ...made, body: await this.#whole(made.body, request) };
    } catch (error) {
      return makeFailure(error, request, context);
    }
  }

  #identityOf(key: string | null): RouteCall["identity"] | undefined {
    return key === null ? PASSWORD_HOLDER : this.#options.keys.named(key);
  }

  #routeOf({ method, path, target }: ForwardedRequest): RestRoute {
    const { routes, pluginRoutes } = this.#options;
    const routeMethod = method === "HEAD" ? "GET" : method;
    const isIt = (route: RestRoute): boolean => route.path === path && route.method === routeMethod;
    const found = SESSION_SEGMENT.test(path) ? (routes.find(isIt) ?? pluginRoutes.routes.find(isIt)) : undefined;
    // Another plugin there.
    if (found === undefined) throw new ApiError(404, `No endpoint ${method} ${pathOf(target)}.`);
    return found;
  }

  async #whole(body: MadeAnswer["body"], request: ForwardedRequest): Promise<Buffer | undefined> {
    if (!(body instanceof Readable)) return body;
    const pieces: Buffer[] = [];
    let sizeBytes = 0;
    for await (const piece of body as AsyncIterable<Buffer>) {
      sizeBytes += piece.length;
      if (sizeBytes > ANSWER_SIZE_MAX_BYTES) throw tooLarge();
      this.#count(request, request.body.length + sizeBytes, accountOf(request));
      pieces.push(piece);
    }
    return Buffer.concat(pieces);
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

function requestOf({ route, segments, method, target, headers, body, identity, address }: RouteCall): ForwardedRequest {
  const { accept, "content-type": contentType, "user-agent": userAgent } = headers;
  return {
    path: route.path,
    ...{ segments, method, target, body, address },
    headers: { accept, "content-type": contentType, "user-agent": userAgent },
    key: identity.name ?? null,
  };
}

function accountOf({ key, address }: ForwardedRequest): string {
  return accountFor({ name: key ?? undefined }, address);
}

function tooLarge(): ApiError {
  const limit = `${ANSWER_SIZE_MAX_BYTES / 1024 / 1024} MiB`;
  const message = `the answer is larger than the ${limit} that machines of a cluster pass on: ask for single players`;
  return new ApiError(503, message);
}
