// Requests about players of a session that is on this machine, while the player may be on another one: that machine
// carries the request out, and this one answers. A list of all players is put together of the lists of all machines that
// have some. Both sides are here. Main thread; one for the REST server.

import { setMaxListeners } from "node:events";
import { NodeError } from "../../errors.ts";
import { unlessAborted } from "../../lib/unless-aborted.ts";
import { accountFor } from "../access/account.ts";
import type { ApiContext } from "../api/api-context.ts";
import { readGuildId, visibleSession } from "../api/session-routes.ts";
import type { AskedPlayer, PlayerHold } from "../cluster/session-places.ts";
import { askedRegion } from "./asked-region.ts";
import { LIGHT_BODY_SIZE_MAX_BYTES } from "./body-reader.ts";
import { ANSWER_SIZE_MAX_BYTES } from "./forwarded-form.ts";
import { type MadeAnswer, makeFailure } from "./made-answer.ts";
import { answerTooLarge, passedText, type RequestPassing } from "./request-passing.ts";
import type { RouteCall, RouteCalls, RouteCallsOptions } from "./route-calls.ts";

const READING_METHODS: ReadonlySet<string> = new Set(["GET", "HEAD"]);
const [OPEN, COMMA, CLOSE] = ["[", ",", "]"].map((text) => Buffer.from(text)) as [Buffer, Buffer, Buffer]; // one of each

interface PlacedRequestsOptions extends Pick<RouteCallsOptions, "places"> {
  readonly context: Pick<ApiContext, "clock" | "logger" | "sessions" | "slicer">;
  readonly calls: Pick<RouteCalls, "answer" | "carryOut">;
  readonly passing: Pick<RequestPassing, "ask" | "receive" | "whole">;
}

/** A request on its way to another machine. */
interface Passed {
  readonly call: RouteCall;
  /** As it is sent. */
  readonly text: string;
  readonly about: AskedPlayer;
}

export class PlacedRequests {
  readonly #options: PlacedRequestsOptions;

  /** From now on it answers what the machines of sessions pass on about players that are here. */
  constructor(options: PlacedRequestsOptions) {
    this.#options = options;
    const { calls, context, passing, places } = options;
    places.onPlayerCall((text) =>
      passing.receive(text, {
        isHere: ({ segments }) => context.sessions.connected(segments.sessionId ?? "") !== undefined,
        // Its session is elsewhere: it is not placed again.
        answer: (call) => calls.answer(call),
      }),
    );
  }

  /** As `RouteCalls.answer`, for a request whose session is on this machine, or nowhere: where its player is. */
  answer(call: RouteCall): Promise<MadeAnswer | undefined> {
    return this.#options.calls.answer(call, () => this.#make(call));
  }

  /** Begins to carry out at once what is certain to be here. */
  #make(call: RouteCall): Promise<MadeAnswer> {
    const { calls, context, places } = this.#options;
    const { sessionId, guildId: guildText } = call.segments;
    const isPlayerList = call.route.isPlayerList === true;
    if (sessionId === undefined || (guildText === undefined && !isPlayerList)) return calls.carryOut(call);
    // Nobody places a player in the session of somebody else.
    if (visibleSession(context, call) === undefined) return calls.carryOut(call);
    if (isPlayerList) {
      const machines = places.playerMachines(sessionId);
      return machines.length === 0 ? calls.carryOut(call) : this.#list(call, sessionId, machines);
    }
    const guildId = guildIdOf(call);
    if (guildId === undefined) return calls.carryOut(call);
    const holding = places.holdPlayer(sessionId, guildId, {
      isMaking: !READING_METHODS.has(call.method) && call.method !== "DELETE",
      // Most players are here already.
      get region() {
        return askedRegion(call.body);
      },
    });
    return holding === undefined ? calls.carryOut(call) : this.#answerHeld(call, { sessionId, guildId }, holding);
  }

  async #answerHeld(call: RouteCall, about: AskedPlayer, holding: Promise<PlayerHold>): Promise<MadeAnswer> {
    const hold = await holding;
    const { machineId } = hold;
    const work =
      machineId === undefined
        ? this.#options.calls.carryOut(call)
        : this.#ask(machineId, { call, text: passedText(call), about });
    // Not before the work is over, even where the client has gone.
    void work.then(
      ({ status }) => hold.release({ mayBeGone: call.method === "DELETE" || status >= 400 }),
      () => hold.release({ mayBeGone: true }),
    );
    return machineId === undefined ? work : this.#answerOf(machineId, work, call);
  }

  /** All of the list, or none of it. */
  async #list(call: RouteCall, sessionId: string, machines: readonly string[]): Promise<MadeAnswer> {
    const { calls, context, passing } = this.#options;
    // Each machine listens: Node.js would take more than ten for a leak.
    setMaxListeners(0, call.signal);
    const passed: Passed = { call, text: passedText(call), about: { sessionId, guildId: undefined } };
    const answers = await Promise.all([
      calls.carryOut(call),
      ...machines.map((machineId) => this.#answerOf(machineId, this.#ask(machineId, passed), call)),
    ]);
    const refused = answers.find(({ status }) => status !== 200);
    if (refused !== undefined) return refused;
    const lists: Buffer[] = [];
    for (const { body } of answers) lists.push(itemsOf(await passing.whole(body, call)));
    const sizeBytes = lists.reduce((sum, { length }) => sum + length, 0);
    if (sizeBytes > ANSWER_SIZE_MAX_BYTES) throw answerTooLarge();
    if (sizeBytes > LIGHT_BODY_SIZE_MAX_BYTES) await context.slicer.next(accountFor(call.identity, call.address));
    return { status: 200, headers: answers[0].headers, body: joined(lists) };
  }

  /** Settles when the machine has answered or failed, whether the client is still there or not. */
  async #ask(machineId: string, { call, text, about }: Passed): Promise<MadeAnswer> {
    const { passing, places } = this.#options;
    const answer = await passing.ask(call, text, (request) => places.callPlayer(machineId, about, request));
    if (answer.kind === "answered") return answer;
    throw new NodeError("cluster-away", "the player is moving from one machine to another: try again in a moment");
  }

  /** Never rejects: what the machine has answered, or why there is no answer, also where the client has gone. */
  async #answerOf(machine: string, work: Promise<MadeAnswer>, call: RouteCall): Promise<MadeAnswer> {
    try {
      return { ...(await unlessAborted(work, call.signal)), logged: { machine } };
    } catch (error) {
      return { ...makeFailure(error, call, this.#options.context), logged: { machine } };
    }
  }
}

/** Undefined: there is none, or it is none, which the route answers. */
function guildIdOf(call: RouteCall): string | undefined {
  try {
    return readGuildId(call);
  } catch {
    return undefined; // as documented
  }
}

/** What is between the brackets of a list. */
function itemsOf(list: Buffer | undefined): Buffer {
  if (list === undefined || list.at(0) !== OPEN[0] || list.at(-1) !== CLOSE[0]) {
    throw new NodeError("internal", "a list of players that another machine of the cluster has sent is no list");
  }
  return list.subarray(1, -1);
}

function joined(lists: readonly Buffer[]): Buffer {
  const filled = lists.filter(({ length }) => length > 0);
  return Buffer.concat([OPEN, ...filled.flatMap((items, index) => (index === 0 ? [items] : [COMMA, items])), CLOSE]);
}
