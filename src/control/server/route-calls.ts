// Carries out requests whose route and client are known and whose body is there: those that came over HTTP, and those
// that another machine has passed on. Main thread; one for the REST server.

import type { IncomingHttpHeaders } from "node:http";
import { accountFor, ownerOf } from "../access/account.ts";
import type { Identity } from "../access/identity.ts";
import type { ApiContext } from "../api/api-context.ts";
import { readBody } from "../api/request-bodies.ts";
import type { Asker, RestRequest, RestRoute } from "../api/route.ts";
import type { SessionPlaces } from "../cluster/session-places.ts";
import { type MadeAnswer, makeAnswer, makeFailure } from "./made-answer.ts";
import { checkedQueryOf } from "./request-target.ts";

/** A request, whichever way it came. */
export interface RouteCall {
  readonly route: RestRoute;
  /** The `:name` segments of the route's path, decoded. */
  readonly segments: Readonly<Record<string, string>>;
  readonly method: string;
  /** Path and query, as the client has sent them. */
  readonly target: string;
  readonly headers: IncomingHttpHeaders;
  /** Empty where there is none. */
  readonly body: string;
  readonly identity: Identity;
  /** The client's, where it is known. */
  readonly address?: string | undefined;
  /** Aborted when the client disconnects before it has its answer. */
  readonly signal: AbortSignal;
  /** Undefined: another machine has recognised the client. */
  readonly asker: Asker | undefined;
}

export interface RouteCallsOptions {
  readonly context: Pick<ApiContext, "clock" | "logger" | "slicer" | "written">;
  /** Resolves when the client, or that session, has been sent its first message; undefined: nothing to wait for. */
  readonly untilReady: (address: string | undefined, sessionId: string | undefined) => Promise<unknown> | undefined;
  /** The node stops: what it would answer now is not true of the next process. */
  readonly isClosing: () => boolean;
  readonly places: SessionPlaces;
}

export class RouteCalls {
  readonly #options: RouteCallsOptions;

  constructor(options: RouteCallsOptions) {
    this.#options = options;
  }

  /**
   * The machine that has the session of a request, once the client has been sent its first message. Undefined: this one,
   * or none; not a promise when that is certain at once.
   * @throws NodeError "cluster-away" when it cannot be known now
   */
  machineOf({
    address,
    segments: { sessionId },
  }: Pick<RouteCall, "address" | "segments">): Promise<string | undefined> | undefined {
    const { untilReady, places } = this.#options;
    const find = () => (sessionId === undefined ? undefined : places.elsewhere(sessionId));
    const ready = untilReady(address, sessionId);
    return ready === undefined ? find() : ready.then(find);
  }

  /**
   * What `make` makes, by default `carryOut`, or the answer for what it throws. Never rejects. Undefined: what could be
   * answered is not true any more, and the client is to try again.
   */
  async answer(call: RouteCall, make = () => this.carryOut(call)): Promise<MadeAnswer | undefined> {
    const { context, places, isClosing } = this.#options;
    const { lives } = places;
    let made: MadeAnswer;
    try {
      made = await make();
    } catch (error) {
      made = makeFailure(error, call, context);
    }
    return isClosing() || places.lives !== lives ? undefined : made;
  }

  /** Begins at once, with the handler of the route. Rejects with what it throws. */
  async carryOut(call: RouteCall): Promise<MadeAnswer> {
    const { context } = this.#options;
    const account = accountFor(call.identity, call.address);
    const answer = await call.route.handle(restRequest(call, account));
    // What is answered outlives the process.
    const written = call.method === "GET" ? undefined : context.written();
    if (written !== undefined) await written;
    const slicer = { next: () => context.slicer.next(account) };
    return makeAnswer(answer, { accept: call.headers.accept, slicer });
  }
}

function restRequest(call: RouteCall, account: string): RestRequest {
  const { segments, method, headers, identity, asker } = call;
  return {
    segments,
    query: checkedQueryOf(call.target),
    method,
    headers,
    owner: ownerOf(account, headers["user-agent"] ?? ""),
    identity,
    // Listening for it costs something, and most routes do not ask.
    get signal() {
      return call.signal;
    },
    get asker() {
      if (asker === undefined) throw new Error("a route about a session asked for the client's connection");
      return asker;
    },
    body: (schema) => readBody(schema, { contentType: headers["content-type"], text: call.body }),
  };
}
