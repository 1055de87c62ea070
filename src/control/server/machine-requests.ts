// Requests about all machines of the cluster (`?machines=all`): each carries the request out as if it had been asked
// itself, and the answers come as one. A machine that does not answer does not fail the whole. Main thread; one for the
// REST server.

import type { MachineLoad } from "../../cluster/machine.ts";
import { messageOf } from "../../lib/message-of.ts";
import { unlessAborted } from "../../lib/unless-aborted.ts";
import { accountFor } from "../access/account.ts";
import type { ApiContext } from "../api/api-context.ts";
import { isOfMachines, MACHINES_PARAMETER } from "../api/route.ts";
import type { MachineReport, ReportedMachine } from "../cluster/machine-reports.ts";
import { readJson } from "../cluster/read-json.ts";
import type { MachineAnswerJson } from "../protocol/machine-answers-json.ts";
import { readAnswer } from "./forwarded-form.ts";
import { type MadeAnswer, makeAnswer, makeFailure } from "./made-answer.ts";
import { passedText, type RequestPassing } from "./request-passing.ts";
import { checkedQueryOf, pathOf } from "./request-target.ts";
import type { RouteCall, RouteCalls } from "./route-calls.ts";

interface MachineRequestsOptions {
  readonly context: Pick<ApiContext, "clock" | "logger" | "slicer" | "reports">;
  readonly calls: Pick<RouteCalls, "answer" | "carryOut">;
  readonly passing: Pick<RequestPassing, "receive" | "whole">;
}

export class MachineRequests {
  readonly #options: MachineRequestsOptions;

  /** From now on it answers what other machines ask about this one. */
  constructor(options: MachineRequestsOptions) {
    this.#options = options;
    const { calls, context, passing } = options;
    context.reports.serve("rest", (text) =>
      passing.receive(text, { isHere: () => true, answer: (call) => calls.answer(call) }),
    );
  }

  /**
   * Whether a request is about all machines.
   * @throws ApiError 400 for a value that is not known
   */
  isMeant({ route, target }: Pick<RouteCall, "route" | "target">): boolean {
    return route.ofMachines !== undefined && isOfMachines(checkedQueryOf(target));
  }

  /** As `RouteCalls.answer`. */
  answer(call: RouteCall): Promise<MadeAnswer | undefined> {
    return this.#options.calls.answer(call, () => this.#make(call));
  }

  async #make(call: RouteCall): Promise<MadeAnswer> {
    const { context, passing } = this.#options;
    const { signal } = call;
    // Whatever else the client takes, what machines say to each other is JSON.
    const alone = { ...call, signal, headers: { ...call.headers, accept: undefined }, target: pathOfOne(call.target) };
    const asking = unlessAborted(context.reports.askOthers("rest", passedText(alone)), signal);
    const [own, others] = await Promise.all([this.#own(alone), asking]);
    // What is wrong with the request is so on every machine.
    if (own.status >= 400 && own.status !== 404) return own;
    const body = await passing.whole(own.body, call);
    const all: Said[] = [
      { machine: context.reports.self, outcome: answered(own.status, body) },
      ...others.map(({ machine, answer }) => ({ machine, outcome: outcomeOf(answer) })),
    ];
    const said = all.filter(({ outcome }) => outcome.kind !== "empty");
    if (said.length === 0) return own;
    const machines = said.map((one) => toJson(one, { isNamed: call.identity.role !== "client" }));
    const answers = machines.flatMap(({ answer }) => (answer === null ? [] : [answer]));
    const value = { ...call.route.ofMachines?.(answers, { isComplete: answers.length === said.length }), machines };
    const slicer = { next: () => context.slicer.next(accountFor(call.identity, call.address)) };
    return makeAnswer({ kind: "json", value }, { accept: call.headers.accept, slicer });
  }

  async #own(call: RouteCall): Promise<MadeAnswer> {
    try {
      return await this.#options.calls.carryOut(call);
    } catch (error) {
      return makeFailure(error, call, this.#options.context);
    }
  }
}

/** What a machine has said: `empty`: it has nothing of what is asked for. */
interface Said {
  readonly machine: ReportedMachine | undefined;
  readonly outcome:
    | { readonly kind: "answered"; readonly answer: unknown }
    | { readonly kind: "empty" }
    | { readonly kind: "silent"; readonly reason: string };
}

function outcomeOf(answer: MachineReport["answer"]): Said["outcome"] {
  if (answer.kind === "silent") return answer;
  try {
    const read = readAnswer(answer.text);
    return read.kind === "moved" ? { kind: "empty" } : answered(read.status, read.body);
  } catch (error) {
    return { kind: "silent", reason: messageOf(error) };
  }
}

function answered(status: number, body: Buffer | undefined): Said["outcome"] {
  if (status === 404) return { kind: "empty" };
  if (status !== 200) return { kind: "silent", reason: `it has answered with status ${status}` };
  const answer = readJson(body?.toString() ?? "");
  return answer === undefined ? { kind: "silent", reason: "its answer is no JSON" } : { kind: "answered", answer };
}

/** Reasons may name machines and servers of NATS, which clients do not learn. */
function toJson({ machine, outcome }: Said, { isNamed }: { readonly isNamed: boolean }): MachineAnswerJson<unknown> {
  const reason = outcome.kind === "silent" ? outcome.reason : null;
  return {
    id: (isNamed && machine?.id) || null,
    name: (isNamed && machine?.name) || null,
    reason: reason === null || isNamed ? reason : "it does not answer",
    load: machine?.load === undefined ? null : shownLoad(machine.load),
    answer: outcome.kind === "answered" ? outcome.answer : null,
  };
}

function shownLoad({ players, load, hasCapacity, isDraining }: MachineLoad) {
  return { players, load: Math.round(load * 1000) / 1000, hasCapacity, isDraining };
}

/** The target of a request, without what makes it one about all machines. */
function pathOfOne(target: string): string {
  const query = new URLSearchParams(target.slice(pathOf(target).length + 1));
  query.delete(MACHINES_PARAMETER.name);
  return query.size === 0 ? pathOf(target) : `${pathOf(target)}?${query}`;
}
