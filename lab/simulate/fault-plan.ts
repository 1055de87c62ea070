// The faults that may be injected into a simulated node, and the most that a listener may notice of each. Limits are
// those of the node's design: times to detect, to recover, and audio in transit.

import { pause } from "../../src/lib/pause.ts";
import type { ViolationKind } from "../discord/violations.ts";
import type { Dice } from "./dice.ts";
import type { Tolerance } from "./simulated-listener.ts";
import type { SimulatedWorld } from "./world.ts";

/** Where a fault is injected, and the guilds that get its tolerances. */
export interface Scene {
  readonly world: SimulatedWorld;
  readonly random: Dice;
  /** The affected guilds may receive this. */
  allow(tolerance: Tolerance): void;
  /**
   * Messages on the current connections no longer arrive, and bots notice after this time. Until they are back the fake
   * Discord may report `kinds` of them.
   */
  silenceGateways(forMs: number, kinds: readonly ViolationKind[]): void;
  /** The client's connection is cut, and the client is back after this time. */
  dropClient(awayMs: number): void;
  /** All current connections to the voice gateway are cut. */
  cutGateways(): void;
  /** The fake Discord will report these, though the node does nothing wrong. */
  excuse(kinds: readonly ViolationKind[], forMs: number): void;
  /** Excuses each guild until its next frame has arrived: only that frame shows what is missing before it. */
  excuseUntilNextFrame(kinds: readonly ViolationKind[]): void;
}

/** One fault. May take time. */
interface InjectedFault {
  readonly name: string;
  inject(scene: Scene): Promise<void> | void;
}

/** A lost worker is replaced at once by its spare, or after a start; then voice and track are opened again. */
const WORKER_LOST_MS = 6000;
/** A hanging thread is given up after 0.9 s where CPU time is not known. */
const HANGING_MS = 1500;
/** Time until a silent gateway is given up, after two to three heartbeat intervals of five seconds; audio continues. */
const GATEWAY_SILENT_MS = 16_000;

/** Violations of a bot that has not received a message it should answer. */
export const UNANSWERED: readonly ViolationKind[] = [
  "dave-key-package-missing",
  "dave-commit-missing",
  "dave-transition-timeout",
  "gateway-heartbeat-missing",
];

/** Op 5 is lost in transit, or cannot be sent: it is sent again with the next connection. */
const UNSPOKEN: readonly ViolationKind[] = ["speaking-not-cleared", "speaking-missing", "silence-missing"];

/** A voice connection that was lost repeatedly is back within this: its longest wait, and the handshake. */
export const RECONNECT_MS_MAX = 11_000;

/**
 * Violations of a bot that has not received a change of the encryption. Never `dave-frame-downgraded`: a bot that has
 * received nothing continues to encrypt, or sends nothing.
 */
export const UNKNOWING: readonly ViolationKind[] = ["dave-frame-early", "dave-frame-plain", "dave-frame-undecryptable"];

export const FAULT_PLAN: readonly InjectedFault[] = [
  {
    name: "an audio worker dies",
    inject: ({ world, random, allow }) => {
      const { audio } = world.threads;
      if (audio.length === 0) return;
      allow({ why: "worker lost", silentMs: WORKER_LOST_MS, lossMs: WORKER_LOST_MS, repeatMs: WORKER_LOST_MS });
      random.pick(audio).end(1);
    },
  },
  {
    name: "an audio worker hangs",
    inject: ({ world, random, allow, excuse }) => {
      const { audio } = world.threads;
      if (audio.length === 0) return;
      const forMs = WORKER_LOST_MS + HANGING_MS;
      allow({ why: "worker hangs", silentMs: forMs, lossMs: forMs, repeatMs: forMs });
      excuse(UNANSWERED, forMs);
      random.pick(audio).hold();
    },
  },
  {
    name: "an audio worker is held up",
    inject: ({ world, random, allow }) => {
      const { audio } = world.threads;
      if (audio.length === 0) return;
      const forMs = random.between(30, 500);
      allow({ why: "worker held up", silentMs: forMs + 50, lossMs: forMs + 200, lateMs: forMs + 50 });
      random.pick(audio).hold(forMs);
    },
  },
  {
    name: "an audio worker is busy, so that audio moves to another",
    inject: async ({ world, random, allow }) => {
      const thread = world.threads.audio.at(0);
      if (thread === undefined) return;
      allow({ why: "audio moves", lossMs: 10_000 });
      thread.isBusy = true;
      await pause(world.clock, random.between(3000, 8000));
      thread.isBusy = false;
    },
  },
  {
    name: "the probe thread dies",
    inject: ({ world }) => {
      for (const thread of world.threads.probes) thread.end(1);
    },
  },
  {
    name: "all connections to the voice gateway are cut",
    inject: ({ allow, excuse, cutGateways }) => {
      allow({ why: "gateways cut" });
      excuse(UNSPOKEN, RECONNECT_MS_MAX);
      cutGateways();
    },
  },
  {
    name: "the voice gateway becomes silent",
    inject: ({ allow, excuse, silenceGateways }) => {
      allow({ why: "gateways silent" });
      silenceGateways(GATEWAY_SILENT_MS, [...UNANSWERED, ...UNSPOKEN, ...UNKNOWING]);
      // A bot that has left in between never closes what it cannot reach.
      excuse(["gateway-heartbeat-missing"], 60_000);
    },
  },
  {
    name: "datagrams are lost",
    inject: async ({ world, random, allow, excuse, excuseUntilNextFrame }) => {
      const forMs = random.between(100, 2000);
      const kinds = ["rtp-lost", "silence-missing", "speaking-not-cleared"] as const;
      excuse(kinds, forMs + 10_000);
      allow({ why: "datagrams lost", silentMs: forMs + 100, lossMs: forMs + 200 });
      world.network.losesDatagrams = true;
      await pause(world.clock, forMs);
      world.network.losesDatagrams = false;
      excuseUntilNextFrame(kinds);
    },
  },
  {
    name: "the client's connection is cut",
    inject: async ({ world, random, dropClient }) => {
      const awayMs = random.between(50, 4000);
      dropClient(awayMs);
      await pause(world.clock, awayMs + 2000);
    },
  },
];
