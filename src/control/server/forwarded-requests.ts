// Requests for sessions that another machine of the cluster has, which carries them out. A request that was passed on is
// not passed on to a third machine in search of its session: the answer to it is that the session has moved. Main
// thread; one for the REST server.

import { NodeError } from "../../errors.ts";
import { unlessAborted } from "../../lib/unless-aborted.ts";
import type { ForwardedAnswer } from "./forwarded-form.ts";
import { type MadeAnswer, makeFailure } from "./made-answer.ts";
import type { PlacedRequests } from "./placed-requests.ts";
import { passedText, type RequestPassing } from "./request-passing.ts";
import type { RouteCall, RouteCalls, RouteCallsOptions } from "./route-calls.ts";

interface ForwardedRequestsOptions extends Pick<RouteCallsOptions, "isClosing" | "places"> {
  readonly context: Pick<RouteCallsOptions["context"], "clock" | "logger">;
  readonly calls: Pick<RouteCalls, "machineOf">;
  readonly placed: Pick<PlacedRequests, "answer">;
  readonly passing: Pick<RequestPassing, "ask" | "receive">;
}

export class ForwardedRequests {
  readonly #options: ForwardedRequestsOptions;

  /** From now on it answers what other machines pass on. */
  constructor(options: ForwardedRequestsOptions) {
    this.#options = options;
    const { calls, placed, passing, places } = options;
    const isHere = (machine: string | undefined): boolean => machine === undefined;
    places.onCall((text) =>
      passing.receive(text, {
        isHere: (request) => calls.machineOf(request)?.then(isHere) ?? true,
        answer: (call) => placed.answer(call),
      }),
    );
  }

  /**
   * The answer of `machine`, or of the one that the session has moved to. Never rejects. Undefined: as with
   * `RouteCalls.answer`.
   */
  async answer(call: RouteCall, machine: string): Promise<MadeAnswer | undefined> {
    const { calls, placed, context, isClosing } = this.#options;
    let asked = machine;
    try {
      const text = passedText(call);
      const first = await this.#ask(machine, text, call);
      if (first.kind === "answered") return { ...first, logged: { machine } };
      const now = await calls.machineOf(call);
      if (now === undefined) return await placed.answer(call);
      asked = now;
      const second = await this.#ask(now, text, call);
      if (second.kind === "answered") return { ...second, logged: { machine: now } };
      throw new NodeError("cluster-away", "the session is moving from one machine to another: try again in a moment");
    } catch (error) {
      return isClosing() ? undefined : { ...makeFailure(error, call, context), logged: { machine: asked } };
    }
  }

  /** Rejects when the client disconnects; the other machine finishes its work all the same. */
  #ask(machine: string, text: string, call: RouteCall): Promise<ForwardedAnswer> {
    const { passing, places } = this.#options;
    const asked = passing.ask(call, text, (request) => places.call(machine, request));
    return unlessAborted(asked, call.signal);
  }
}
