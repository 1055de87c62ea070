// A pool of workers that obey a test (worker-scripts/obedient.mjs), and players that note what happens to them. Tests
// close it with `closePool`.

import type { WorkerSettings } from "../../src/bridge/worker-settings.ts";
import type { LinkSource } from "../../src/control/workers/link-source.ts";
import type { RouteSource } from "../../src/control/workers/route-source.ts";
import { systemThreads } from "../../src/control/workers/threads.ts";
import type {
  CrashAttribution,
  PlayerEvent,
  PooledPlayer,
  WorkerHandle,
} from "../../src/control/workers/worker-handle.ts";
import { WorkerPool } from "../../src/control/workers/worker-pool.ts";
import type { Owner } from "../../src/lib/owners.ts";
import { createLogger, type LogFields } from "../../src/log/log.ts";
import { FakeClock } from "./fake-clock.ts";

/** As bridge/heartbeat.ts numbers them. */
const ACTIVITY_CODES = { prepare: 3, read: 4 } as const;
export const SETTINGS: WorkerSettings = {
  network: { allow: [] },
  localRoots: [],
  hasOpusCache: false,
  players: { updateIntervalMs: 5000, trackStuckThresholdMs: 10_000 },
  opus: { complexity: 10, encoder: "libopus", bitrateBps: 128_000 },
  buffer: { readAheadMs: 10_000, readAheadBytesMax: 1_000_000 },
  http: { connectTimeoutMs: 3000, socketTimeoutMs: 3000, userAgent: "test", proxyUrl: undefined },
  routing: undefined,
  voice: { connectTimeoutMs: 5000, isPlainFallbackAllowed: true, gatewayScheme: "wss" },
};

/** A player that only notes what happens to it. */
export class FakePooledPlayer implements PooledPlayer {
  readonly log: string[] = [];
  handle: WorkerHandle | undefined;
  isSuspect = false;
  owner: Owner = ["test"];
  needsCapacity = false;
  #waiting: { readonly what: string; readonly resolve: () => void }[] = [];

  onWorkerAssigned(handle: WorkerHandle): void {
    this.handle = handle;
    handle.send({ type: "createPlayer", guildId: "1", userId: "2", volume: 100, filters: {} });
    this.#note(`assigned ${handle.workerIndex}`);
  }

  onWorkerLost({ kind }: CrashAttribution): void {
    this.handle = undefined;
    this.#note(kind === "none" ? "lost" : `lost ${kind}`);
  }

  onWorkerEvent(event: PlayerEvent): void {
    if (event.type === "position") this.#note(`position ${event.report.positionMs}`);
    else if (event.type === "playerReport") this.#note(`minute ${event.report.minute?.minute}`);
    else this.#note(event.type);
  }

  /** Resolves when the next event of that name happens. */
  next(what: string): Promise<void> {
    return new Promise((resolve) => this.#waiting.push({ what, resolve }));
  }

  #note(what: string): void {
    this.log.push(what);
    const due = this.#waiting.filter((waiting) => what.startsWith(waiting.what));
    this.#waiting = this.#waiting.filter((waiting) => !due.includes(waiting));
    for (const { resolve } of due) resolve();
  }
}

export const clock = new FakeClock();
export const lines: { readonly message: string; readonly fields: LogFields }[] = [];
export let pool: WorkerPool;

/** After each test. */
export async function closePool(): Promise<void> {
  const closed = pool.close();
  clock.advance(2000);
  await closed;
  lines.length = 0;
}

interface Answerers {
  readonly routes?: RouteSource;
  readonly links?: LinkSource;
}

export function start(script: "obedient" | "mute" | "broken", count = 1, { routes, links }: Answerers = {}): void {
  pool = new WorkerPool({
    threads: systemThreads,
    entry: new URL(`./worker-scripts/${script}.mjs`, import.meta.url),
    count,
    settings: SETTINGS,
    routes,
    links,
    heapMegabytesMax: 32,
    clock,
    logger: createLogger((_level, message, fields) => lines.push({ message, fields })),
  });
}

/** Has the worker of a player do something, see worker-scripts/obedient.mjs. */
export function orderOf(player: FakePooledPlayer, endpoint: string): Promise<unknown> {
  const credentials = { token: "", endpoint, sessionId: "", channelId: undefined };
  if (player.handle === undefined) throw new Error("the player has no worker");
  return player.handle.request({ type: "connectVoice", voiceId: 1, credentials }, { timeoutMs: 60_000 });
}

export function attach(): FakePooledPlayer {
  const player = new FakePooledPlayer();
  pool.attach(player);
  return player;
}

/** A player on a worker that has shown that it runs. */
export async function settled(): Promise<FakePooledPlayer> {
  const player = attach();
  await player.next("position");
  return player;
}

/** Two players, each on a worker that has shown that it runs, and has nothing to do. */
export async function onTwoWorkers(): Promise<readonly [FakePooledPlayer, FakePooledPlayer]> {
  start("obedient", 2);
  const first = await settled();
  await setLoad(first, 0.5);
  const second = await settled();
  await setLoad(first, 0);
  return [first, second];
}

/** Has the player's worker say that it does this for it. */
export async function setCurrentTask(player: FakePooledPlayer, activity: keyof typeof ACTIVITY_CODES): Promise<void> {
  await orderOf(player, `mark ${player.handle?.playerId} ${ACTIVITY_CODES[activity]}`);
}

/** Has the player's worker report this load for as long as the pool looks back. */
export async function setLoad(player: FakePooledPlayer, load: number): Promise<void> {
  for (let report = 0; report < 4; report++) await orderOf(player, `load ${load}`);
}

export async function until(isTrue: () => boolean): Promise<void> {
  while (!isTrue()) await new Promise((resolve) => setImmediate(resolve));
}

/** Resolves with the fields of the first line that begins so. */
export async function logged(start: string): Promise<LogFields> {
  const find = () => lines.find(({ message }) => message.startsWith(start));
  await until(() => find() !== undefined);
  return find()?.fields ?? {};
}

/** Resolves when the pool has logged that a worker was lost. */
export function lossLogged(): Promise<LogFields> {
  return logged("audio worker lost");
}
