// Many voice sessions of one audio thread that start at once, next to players whose frames are due: real MLS work, on a
// virtual clock that each piece of work advances by the CPU time it takes. Other load on the machine therefore changes
// nothing, and the work of Discord and of the other members takes no time of the thread. Part of `npm run bench --
// dave`.

import { DAVESession as MlsSession } from "@snazzah/davey";
import { Heartbeat } from "../../src/bridge/heartbeat.ts";
import type { Clock, Timer } from "../../src/lib/clock.ts";
import { createLogger } from "../../src/log/log.ts";
import { ErrorBoundary } from "../../src/media/scheduler/error-boundary.ts";
import { TickLoop } from "../../src/media/scheduler/tick-loop.ts";
import { DaveSession } from "../../src/media/voice/dave/dave-session.ts";
import { OPCODE } from "../../src/media/voice/gateway/gateway-messages.ts";
import { createVoiceCounters } from "../../src/media/voice/voice-counters.ts";
import { VoiceLimits, VoiceThreadLimits } from "../../src/media/voice/voice-limits.ts";
import { ExternalSender, encodeGroupId, encodeProposals } from "../discord/external-sender.ts";
import { parseCommitWelcome } from "../discord/mls-codec.ts";
import { quantile } from "../report/statistics.ts";
import { cpuMs } from "./dave-costs.ts";

const LOOK_AHEAD_FRAMES = 5;
const SPAN_MS = 1000;
const QUIET_MS = 2000;
const END_MS = 60_000;
/** From the gateway's address to op 4, milliseconds. */
const HANDSHAKE_MS = 120;
/** From a message of ours to the answer. */
const ROUND_TRIP_MS = 30;
/** Until another member of the call has answered proposals. */
const OTHERS_ANSWER_MS = 60;
const CHANNEL = "6001";
const BOT = "5001";
const LISTENER = "701";

export interface CrowdPlan {
  readonly starts: number;
  /** Players that play during the whole run, and the cost of one frame of theirs. */
  readonly players: number;
  readonly frameMs: number;
  /** The commit that creates a group: ours, or the first one, which is another member's. */
  readonly winner: "ours" | "first";
  /** False: MLS work is done as it arrives, one piece per event loop iteration. */
  readonly heedsFrames: boolean;
}

export interface CrowdFigures {
  /** From op 4 to the group. */
  readonly readyMsP50: number;
  readonly readyMsP99: number;
  readonly framesLate: number;
  readonly worstLateMs: number;
  /** Time of the thread for one start. */
  readonly workMs: number;
}

/** Time advances only by work, and to the next timer when there is none. */
class WorkClock implements Clock {
  #baseMs = 0;
  #workedFromMs: number | undefined;
  readonly #timers = new Set<{ readonly atMs: number; readonly callback: () => void }>();

  now(): number {
    return this.#baseMs + (this.#workedFromMs === undefined ? 0 : cpuMs() - this.#workedFromMs);
  }

  epochMs(): number {
    return Math.floor(this.now());
  }

  after(delayMs: number, callback: () => void): Timer {
    const timer = { atMs: this.now() + delayMs, callback };
    this.#timers.add(timer);
    return { cancel: () => this.#timers.delete(timer) };
  }

  /** A run that takes longer than this does not terminate. */
  spend(workMs: number): void {
    this.#baseMs += workMs;
  }

  /** Runs work of other parties, which takes no time of the thread. */
  aside<Result>(work: () => Result): Result {
    this.#baseMs = this.now();
    this.#workedFromMs = undefined;
    const result = work();
    this.#workedFromMs = cpuMs();
    return result;
  }

  run(untilMs: number, isDone: () => boolean): void {
    while (this.#baseMs < untilMs && !isDone()) {
      let next: { readonly atMs: number; readonly callback: () => void } | undefined;
      for (const timer of this.#timers) if (next === undefined || timer.atMs < next.atMs) next = timer;
      if (next === undefined) return;
      this.#timers.delete(next);
      this.#baseMs = Math.max(this.#baseMs, next.atMs);
      this.#workedFromMs = cpuMs();
      next.callback();
      this.#baseMs = this.now();
      this.#workedFromMs = undefined;
    }
  }
}

export function beginCrowd(plan: CrowdPlan): CrowdFigures {
  const clock = new WorkClock();
  const boundary = new ErrorBoundary({ heartbeat: new Heartbeat(Heartbeat.allocate()), onFault: raise });
  const loop = new TickLoop(clock, boundary, { lookAheadFrames: LOOK_AHEAD_FRAMES });
  const late = addPlayers(loop, clock, plan);
  clock.run(QUIET_MS, () => false);
  late.frames = 0;
  late.worstMs = 0;
  const thread = new VoiceThreadLimits({ clock, areFramesAhead: () => !plan.heedsFrames || loop.isAhead });
  const readyMs: number[] = [];
  let workMs = 0;
  for (let index = 0; index < plan.starts; index++) {
    clock.after((SPAN_MS * index) / plan.starts, () => {
      const call = new CallThatBegins(clock, thread, plan.winner, {
        onReady: (tookMs) => readyMs.push(tookMs),
        onWorked: (ms) => {
          workMs += ms;
        },
      });
      clock.after(HANDSHAKE_MS, () => call.begin());
    });
  }
  clock.run(END_MS, () => readyMs.length === plan.starts);
  clock.run(clock.now() + ROUND_TRIP_MS, () => false); // what the last ones were doing
  return {
    readyMsP50: quantile(readyMs, 0.5),
    readyMsP99: quantile(readyMs, 0.99),
    framesLate: late.frames,
    worstLateMs: late.worstMs,
    workMs: workMs / plan.starts,
  };
}

function addPlayers(loop: TickLoop, clock: WorkClock, { players, frameMs }: CrowdPlan) {
  const late = { frames: 0, worstMs: 0 };
  for (let playerId = 0; playerId < players; playerId++) {
    loop.add({
      owner: [],
      playerId,
      prepare: () => {
        clock.spend(frameMs);
        return true;
      },
      send: (deadlineMs) => {
        const lateMs = clock.now() - deadlineMs;
        if (lateMs > 0) late.frames++;
        late.worstMs = Math.max(late.worstMs, lateMs);
      },
      onDeadlinesDropped: (frames) => {
        late.frames += frames;
      },
      charge: () => undefined,
    });
  }
  return late;
}

/** One session of ours, the gateway of its call, and the other member. */
class CallThatBegins {
  readonly #clock: WorkClock;
  readonly #winner: CrowdPlan["winner"];
  readonly #others: { readonly gateway: ExternalSender; readonly listener: MlsSession };
  readonly #session: DaveSession;
  #startedMs = 0;

  constructor(
    clock: WorkClock,
    thread: VoiceThreadLimits,
    winner: CrowdPlan["winner"],
    { onReady, onWorked }: { readonly onReady: (tookMs: number) => void; readonly onWorked: (ms: number) => void },
  ) {
    this.#clock = clock;
    this.#winner = winner;
    this.#others = clock.aside(createOthers);
    const limits = new VoiceLimits(clock, thread);
    const spendMls = limits.spendMls.bind(limits);
    limits.spendMls = (ms) => {
      onWorked(ms);
      spendMls(ms);
    };
    const answers = { sendDaveJson: () => undefined, sendDaveBinary: this.#answer.bind(this) };
    this.#session = new DaveSession({
      userId: BOT,
      channelId: CHANNEL,
      isPlainFallbackAllowed: false,
      limits,
      clock,
      guardHandler: (handler) => handler,
      logger: createLogger(() => undefined),
      counters: createVoiceCounters(),
      parent: {
        ...answers,
        onDaveGateChanged: () => {
          if (this.#session.gate === "send") onReady(clock.now() - this.#startedMs);
        },
        onDaveStuck: () => raise(0, new Error("a call got no group")),
        onDaveRekeyed: () => undefined,
        onDaveFlooded: raise.bind(undefined, 0),
      },
    });
  }

  begin(): void {
    this.#startedMs = this.#clock.now();
    this.#session.handle({ kind: "usersPresent", userIds: [LISTENER] });
    this.#session.start(1);
    this.#session.handle({ kind: "externalSender", senderPackage: this.#others.gateway.packageBytes });
  }

  #answer(opcode: number, payload: Uint8Array): void {
    if (opcode === OPCODE.mlsKeyPackage) this.#clock.aside(() => this.#propose(payload));
    else if (opcode === OPCODE.mlsCommitWelcome && this.#winner === "ours") {
      const { commit } = parseCommitWelcome(Buffer.from(payload)) ?? raise(0, new Error("no commit in op 28"));
      this.#later(ROUND_TRIP_MS, () => this.#session.handle({ kind: "commit", transitionId: 0, commit: commit.bytes }));
    }
  }

  #propose(keyPackage: Uint8Array): void {
    const { gateway, listener } = this.#others;
    const add = encodeProposals([gateway.add(0n, listener.getSerializedKeyPackage())]);
    this.#later(ROUND_TRIP_MS, () => this.#session.handle({ kind: "proposals", operation: 0, proposals: add }));
    if (this.#winner === "ours") return;
    const ours = encodeProposals([gateway.add(0n, keyPackage)]);
    const { welcome = Buffer.alloc(0) } = listener.processProposals(0, ours);
    const answeredMs = ROUND_TRIP_MS + OTHERS_ANSWER_MS;
    this.#later(answeredMs, () => this.#session.handle({ kind: "welcome", transitionId: 0, welcome }));
  }

  #later(delayMs: number, work: () => void): void {
    this.#clock.after(delayMs, work);
  }
}

function createOthers() {
  const gateway = new ExternalSender(encodeGroupId(CHANNEL));
  const listener = new MlsSession(1, LISTENER, CHANNEL);
  listener.setExternalSender(gateway.packageBytes);
  return { gateway, listener };
}

function raise(_owner: number, error: unknown): never {
  throw error;
}
