// Calls between the machines of a cluster, over core NATS: a subject for each machine and kind of call, an inbox for the
// answers. Requests and answers are sealed for their subject and call, so a NATS server can neither read, move nor repeat
// them. Main thread.

import type { Msg, Subscription } from "@nats-io/transport-node";
import { RemoteError, toWireError, type WireError } from "../bridge/wire-error.ts";
import { NodeError } from "../errors.ts";
import type { Clock, Timer } from "../lib/clock.ts";
import type { Random } from "../lib/random.ts";
import type { Logger } from "../log/log.ts";
import { SEAL_BYTES, type Sealing } from "../state/sealing.ts";
import { CALL_ID_BYTES, cutIntoParts, PartCollector, TEXT_SIZE_MAX_BYTES } from "./call-parts.ts";
import { awayError, type LiveBucket } from "./live-nats.ts";
import { type CallHandler, type LinkStatus, lateError, type MachineLink } from "./machine-link.ts";
import type { ConnectionLoop } from "./nats-connection.ts";
import type { NatsServers } from "./nats-servers.ts";
import type { NatsTime } from "./nats-time.ts";
import { isQuorumRefused } from "./quorum-evidence.ts";
import { ReplayWindow } from "./replay-window.ts";

/** Of other machines, answered at a time. */
const HANDLED_MAX = 1024;
/** A machine that changes its connection is not heard of for a while; one that is silent for longer is gone. */
const GONE_MS = 600;
const GONE_RETRY_MS = 100;
const PAYLOAD_MAX_DEFAULT = 1024 * 1024;

export interface NatsLinkOptions {
  readonly connection: ConnectionLoop;
  readonly servers: NatsServers;
  /** Of the cluster. */
  readonly name: string;
  readonly sealing: Sealing;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

interface Served {
  readonly machineId: string;
  readonly subject: string;
  readonly handler: CallHandler;
  readonly requests: PartCollector;
  subscription: Subscription | undefined;
}

interface Pending {
  readonly subject: string;
  readonly settle: (outcome: () => void) => void;
  readonly resolve: (text: string) => void;
  readonly reject: (error: unknown) => void;
  /** A server has found nobody who listens. */
  readonly onNobody: () => void;
}

/** What an answer says, sealed. */
type Answer = { readonly text: string } | { readonly error: WireError };

export class NatsLink implements MachineLink {
  readonly #options: NatsLinkOptions;
  readonly #served = new Set<Served>();
  readonly #pending = new Map<string, Pending>();
  readonly #answers: PartCollector;
  readonly #replays = new ReplayWindow();
  /** Under which others know the calls of this process, and how many there were. */
  readonly #sender: string;
  #number = 0;
  #time: Pick<NatsTime, "epochMs" | "isLate"> | undefined;
  #live: LiveBucket | undefined;
  #inbox = "";
  #handledCount = 0;

  constructor(options: NatsLinkOptions) {
    this.#options = options;
    this.#answers = new PartCollector(options.clock);
    this.#sender = Buffer.from(options.random.bytes(CALL_ID_BYTES)).toString("hex");
    options.connection.onLive((live) => this.#setLive(live));
  }

  get status(): LinkStatus {
    return this.#options.connection.status;
  }

  onStatus(listener: (status: LinkStatus) => void): () => void {
    return this.#options.connection.onStatus(listener);
  }

  call(
    machineId: string,
    kind: string,
    request: string,
    { timeoutMs }: { readonly timeoutMs: number },
  ): Promise<string> {
    const { sealing, random, clock, connection } = this.#options;
    const live = this.#live;
    if (live === undefined) {
      const { status } = connection;
      const reason = status.kind === "disconnected" ? status.reason : "no connection";
      return Promise.reject(awayError(new Error(reason)));
    }
    const subject = this.#subjectOf(machineId, kind);
    const callId = random.bytes(CALL_ID_BYTES);
    const id = Buffer.from(callId).toString("hex");
    // The newest: a machine has one id at a time.
    const from = [...this.#served].at(-1)?.machineId ?? "";
    return new Promise((resolve, reject) => {
      const startedAt = clock.now();
      let timer: Timer | undefined;
      let retry: Timer | undefined;
      const settle = (outcome: () => void): void => {
        timer?.cancel();
        retry?.cancel();
        this.#pending.delete(id);
        outcome();
      };
      const send = (): void => {
        retry = undefined;
        try {
          const sealed = sealing.seal(
            requestContext(subject, id),
            JSON.stringify([this.#sender, ++this.#number, from, request, this.#time?.epochMs]),
          );
          this.#send(live, subject, callId, sealed, `${this.#inbox}.${id}`);
        } catch (error) {
          settle(() => reject(error));
        }
      };
      const onNobody = (): void => {
        if (retry !== undefined) return;
        if (clock.now() - startedAt < GONE_MS) retry = clock.after(GONE_RETRY_MS, send);
        else settle(() => reject(new NodeError("machine-gone", "the machine no longer takes calls")));
      };
      timer = clock.after(timeoutMs, () =>
        settle(() => reject(awayError(new Error(`the machine has not answered in ${timeoutMs} ms`)))),
      );
      this.#pending.set(id, { subject, settle, resolve, reject, onNobody });
      send();
    });
  }

  serve(machineId: string, kind: string, handler: CallHandler): () => void {
    const served: Served = {
      machineId,
      subject: this.#subjectOf(machineId, kind),
      handler,
      requests: new PartCollector(this.#options.clock),
      subscription: undefined,
    };
    this.#served.add(served);
    if (this.#live !== undefined) this.#subscribe(this.#live, served);
    return () => {
      this.#served.delete(served);
      served.requests.clear();
      served.subscription?.unsubscribe();
      served.subscription = undefined;
    };
  }

  timeCalls(time: Pick<NatsTime, "epochMs" | "isLate">): void {
    this.#time = time;
  }

  async isQuorumRefused(): Promise<boolean> {
    const { connection, servers } = this.#options;
    const { replicaCount } = connection;
    return replicaCount !== undefined && (await isQuorumRefused(servers.known, replicaCount));
  }

  async close(): Promise<void> {
    await this.#options.connection.close();
  }

  #setLive(live: LiveBucket | undefined): void {
    const isSame = live !== undefined && live.nats === this.#live?.nats;
    this.#live = live;
    // Only the bucket is another one.
    if (isSame) return;
    this.#answers.clear();
    const { status } = this.#options.connection;
    for (const { settle, reject } of [...this.#pending.values()]) {
      const reason = status.kind === "disconnected" ? status.reason : "connection to NATS lost";
      settle(() => reject(awayError(new Error(reason))));
    }
    for (const served of this.#served) {
      served.requests.clear();
      served.subscription = undefined;
      if (live !== undefined) this.#subscribe(live, served);
    }
    if (live === undefined) return;
    this.#inbox = live.module.createInbox();
    live.nats.subscribe(`${this.#inbox}.*`, {
      callback: (error, message) => {
        if (error === null) this.#onAnswer(message);
        else this.#options.logger.warn("answers of other machines cannot be received", { error });
      },
    });
  }

  #onAnswer({ subject, headers, data }: Msg): void {
    const id = subject.slice(subject.lastIndexOf(".") + 1);
    const pending = this.#pending.get(id);
    if (pending === undefined) return;
    if (headers?.code === 503) {
      pending.onNobody();
      return;
    }
    const whole = this.#answers.add(data);
    if (whole === undefined || Buffer.from(whole.callId).toString("hex") !== id) return;
    const text = this.#options.sealing.open(answerContext(pending.subject, id), whole.sealed);
    // Not from a machine of this cluster.
    if (text === undefined) return;
    const answer = JSON.parse(text) as Answer;
    pending.settle(() =>
      "error" in answer ? pending.reject(new RemoteError(answer.error)) : pending.resolve(answer.text),
    );
  }

  #subscribe(live: LiveBucket, served: Served): void {
    served.subscription = live.nats.subscribe(served.subject, {
      callback: (error, message) => {
        if (error === null) void this.#onRequest(live, served, message);
        else this.#options.logger.warn("calls of other machines cannot be received", { error });
      },
    });
  }

  async #onRequest(live: LiveBucket, served: Served, { data, reply }: Msg): Promise<void> {
    const { sealing, logger } = this.#options;
    const whole = served.requests.add(data);
    if (whole === undefined || reply === undefined) return;
    const { subject } = served;
    const id = Buffer.from(whole.callId).toString("hex");
    const text = sealing.open(requestContext(subject, id), whole.sealed);
    // Not from a machine of this cluster.
    if (text === undefined) return;
    const [sender, number, from, request, sentMs] = JSON.parse(text) as [string, number, string, string, number?];
    if (!this.#replays.takes(sender, number)) return;
    // One that does not know the time says null.
    const isLate = typeof sentMs === "number" && this.#time?.isLate(sentMs) === true;
    const answer = isLate ? { error: toWireError(lateError()) } : await this.#handled(served, request, from);
    // The caller hears of the loss by itself.
    if (live.signal.aborted) return;
    const send = (said: Answer): void => {
      const sealed = sealing.seal(answerContext(subject, id), JSON.stringify(said));
      this.#send(live, reply, whole.callId, sealed, undefined);
    };
    try {
      send(answer);
    } catch (error) {
      send({ error: toWireError(error) });
      logger.warn("a call of another machine could not be answered", { error });
    }
  }

  async #handled({ handler }: Served, request: string, from: string): Promise<Answer> {
    const { logger } = this.#options;
    if (this.#handledCount >= HANDLED_MAX) {
      return { error: toWireError(new NodeError("requests-busy", "the machine answers too many calls at a time")) };
    }
    this.#handledCount++;
    try {
      return { text: await handler(request, from) };
    } catch (error) {
      if (!(error instanceof NodeError)) logger.error("a call of another machine failed", { error });
      return { error: toWireError(error) };
    } finally {
      this.#handledCount--;
    }
  }

  #send(
    { nats }: LiveBucket,
    subject: string,
    callId: Uint8Array,
    sealed: Uint8Array,
    reply: string | undefined,
  ): void {
    if (sealed.length > TEXT_SIZE_MAX_BYTES) {
      const sizeBytes = sealed.length - SEAL_BYTES;
      throw new NodeError("internal", `a call between machines has ${sizeBytes} bytes, more than they send`);
    }
    for (const part of cutIntoParts(callId, sealed, nats.info?.max_payload ?? PAYLOAD_MAX_DEFAULT)) {
      nats.publish(subject, part, reply === undefined ? {} : { reply });
    }
  }

  #subjectOf(machineId: string, kind: string): string {
    if (!/^[A-Za-z0-9_-]+$/.test(machineId) || !/^[a-z0-9-]+$/.test(kind)) {
      throw new TypeError(`not a machine and a kind of call: ${machineId}, ${kind}`);
    }
    return `tonearm.${this.#options.name}.${machineId}.${kind}`;
  }
}

function requestContext(subject: string, id: string): string {
  return `request ${subject} ${id}`;
}

function answerContext(subject: string, id: string): string {
  return `answer ${subject} ${id}`;
}
