import { afterEach, describe, expect, test, vi } from "vitest";
import type { PlayableLink } from "../../../../src/bridge/playable-link.ts";
import type { WorkerSettings } from "../../../../src/bridge/worker-settings.ts";
import type { LinkSource } from "../../../../src/control/workers/link-source.ts";
import type { RouteSource } from "../../../../src/control/workers/route-source.ts";
import { systemThreads } from "../../../../src/control/workers/threads.ts";
import type {
  CrashAttribution,
  PlayerEvent,
  PooledPlayer,
  WorkerHandle,
} from "../../../../src/control/workers/worker-handle.ts";
import { WorkerPool } from "../../../../src/control/workers/worker-pool.ts";
import { NodeError } from "../../../../src/errors.ts";
import { createLogger, type LogFields } from "../../../../src/log/log.ts";
import { FakeClock } from "../../../support/fake-clock.ts";
import { createPlanner } from "../../../support/planner-builders.ts";
import { linkTo } from "../../../support/scripted-links.ts";

const START_MS = 15_250;
const CHECK_INTERVAL_MS = 50;
/** Checks without a heartbeat after which a worker counts as hanging that does not say which thread it is. */
const CHECKS = 18;
/** As bridge/heartbeat.ts numbers them. */
const ACTIVITY_CODES = { prepare: 3, read: 4 } as const;
const SETTINGS: WorkerSettings = {
  network: { allow: [] },
  localRoots: [],
  players: { updateIntervalMs: 5000, trackStuckThresholdMs: 10_000 },
  opus: { complexity: 10, encoder: "libopus", bitrateBps: 128_000 },
  buffer: { readAheadMs: 10_000, readAheadBytesMax: 1_000_000 },
  http: { connectTimeoutMs: 3000, socketTimeoutMs: 3000, userAgent: "test", proxyUrl: undefined },
  routing: undefined,
  voice: { connectTimeoutMs: 5000, isPlainFallbackAllowed: true, gatewayScheme: "wss" },
};

/** A player that only notes what happens to it. */
class FakePooledPlayer implements PooledPlayer {
  readonly log: string[] = [];
  handle: WorkerHandle | undefined;
  isSuspect = false;
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
    this.#note(event.type === "position" ? `position ${event.report.positionMs}` : event.type);
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

const clock = new FakeClock();
const lines: { readonly message: string; readonly fields: LogFields }[] = [];
let pool: WorkerPool;

afterEach(async () => {
  const closed = pool.close();
  clock.advance(2000);
  await closed;
  lines.length = 0;
});

interface Answerers {
  readonly routes?: RouteSource;
  readonly links?: LinkSource;
}

function start(script: "obedient" | "mute" | "broken", count = 1, { routes, links }: Answerers = {}): void {
  pool = new WorkerPool({
    threads: systemThreads,
    entry: new URL(`../../../support/worker-scripts/${script}.mjs`, import.meta.url),
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
function orderOf(player: FakePooledPlayer, endpoint: string): Promise<unknown> {
  const credentials = { token: "", endpoint, sessionId: "", channelId: undefined };
  if (player.handle === undefined) throw new Error("the player has no worker");
  return player.handle.request({ type: "connectVoice", voiceId: 1, credentials }, { timeoutMs: 60_000 });
}

function attach(): FakePooledPlayer {
  const player = new FakePooledPlayer();
  pool.attach(player);
  return player;
}

/** A player on a worker that has shown that it runs. */
async function settled(): Promise<FakePooledPlayer> {
  const player = attach();
  await player.next("position");
  return player;
}

/** Has the player's worker say that it does this for it. */
async function setCurrentTask(player: FakePooledPlayer, activity: keyof typeof ACTIVITY_CODES): Promise<void> {
  await orderOf(player, `mark ${player.handle?.playerId} ${ACTIVITY_CODES[activity]}`);
}

/** Has the player's worker report this load for as long as the pool looks back. */
async function setLoad(player: FakePooledPlayer, load: number): Promise<void> {
  for (let report = 0; report < 4; report++) await orderOf(player, `load ${load}`);
}

async function until(isTrue: () => boolean): Promise<void> {
  while (!isTrue()) await new Promise((resolve) => setImmediate(resolve));
}

/** Resolves with the fields of the first line that begins so. */
async function logged(start: string): Promise<LogFields> {
  const find = () => lines.find(({ message }) => message.startsWith(start));
  await until(() => find() !== undefined);
  return find()?.fields ?? {};
}

/** Resolves when the pool has logged that a worker was lost. */
function lossLogged(): Promise<LogFields> {
  return logged("an audio worker was lost");
}

describe("a pool of audio workers", () => {
  test("a player is served before its worker is ready: its commands wait", async () => {
    start("obedient");
    const player = attach();
    expect(player.log).toEqual(["assigned 0"]);
    await player.next("position 1234");
  });

  test("wakes every worker with a command that changes nothing", async () => {
    start("obedient", 2);
    pool.wake();
    const woken = () => lines.filter(({ message }) => message === "complexity 10").map(({ fields }) => fields.worker);
    await until(() => woken().length === 2);
    expect(woken().sort()).toEqual([0, 1]);
  });

  test("passes answers, errors, log lines and frame minutes on", async () => {
    start("obedient");
    const player = await settled();
    await expect(orderOf(player, "nothing")).resolves.toEqual({ kind: "empty" });
    await expect(orderOf(player, "fail")).rejects.toMatchObject({ code: "worker-busy", message: "refused" });
    const minute = player.next("frameMinute");
    await orderOf(player, "minute");
    await minute;
    await orderOf(player, "log");
    expect(lines).toContainEqual({ message: "from the worker", fields: { n: 1, worker: 0 } });
  });

  test("a worker's route request is answered, and failed addresses are passed on", async () => {
    const { planner } = createPlanner({ ipBlocks: ["192.0.2.0/30"] });
    start("obedient", 1, { routes: planner });
    const player = await settled();
    await orderOf(player, "route 6,4");
    await orderOf(player, "ban 192.0.2.0");
    await orderOf(player, "route 4");
    await orderOf(player, "nothing");
    const reported = lines.filter(({ message }) => message === "received a route").map(({ fields }) => fields);
    expect(reported).toEqual([
      { routeId: 5, address: "192.0.2.0", worker: 0 },
      { routeId: 5, address: "192.0.2.1", worker: 0 },
    ]);
    expect(planner.status().details.failingAddresses).toMatchObject([{ failingAddress: "/192.0.2.0" }]);
  });

  test("a worker's link request is answered with a link, or with the reason why there is none", async () => {
    const requests: unknown[] = [];
    const link = linkTo("http://site.example/song");
    const links: LinkSource = {
      link: async (request) => {
        requests.push(request);
        if (request.track.sourceName === "site") return link;
        throw new NodeError("source-unavailable", "no such source");
      },
    };
    start("obedient", 1, { links });
    const player = await settled();
    await orderOf(player, "link site");
    await orderOf(player, "link other");
    await until(() => lines.filter(({ message }) => message === "received a link").length === 2);
    const track = { sourceName: "site", encoded: "QAAA", userData: {} };
    expect(requests[0]).toEqual({ track, reason: "refused", status: 403, variant: "r" });
    expect(lines.filter(({ message }) => message === "received a link").map(({ fields }) => fields)).toEqual([
      { type: "link", linkId: 6, link, code: undefined, worker: 0 },
      { type: "linkError", linkId: 6, link: undefined, code: "source-unavailable", worker: 0 },
    ]);
  });

  test("a link for a lost worker is cancelled, and not sent to its replacement", async () => {
    let signal: AbortSignal | undefined;
    let give = (_link: PlayableLink): void => undefined;
    const links: LinkSource = {
      link: (_request, options) => {
        signal = options.signal;
        return new Promise((resolve) => {
          give = resolve;
        });
      },
    };
    start("obedient", 1, { links });
    const player = await settled();
    await orderOf(player, "link site");
    expect(signal?.aborted).toBe(false);
    const moved = player.next("position");
    await expect(orderOf(player, "exit")).rejects.toMatchObject({ code: "worker-lost" });
    expect(signal?.aborted).toBe(true);
    await moved;
    give(linkTo("http://site.example/late"));
    await orderOf(player, "nothing");
    expect(lines.filter(({ message }) => message === "received a link")).toEqual([]);
  });

  test("spreads players evenly while the loads are alike, also before it is ready", () => {
    start("obedient", 2);
    const players = [attach(), attach(), attach(), attach()];
    expect(players.map(({ handle }) => handle?.workerIndex).sort()).toEqual([0, 0, 1, 1]);
    expect(new Set(players.map(({ handle }) => handle?.playerId)).size).toBe(4);
  });

  test("gives players to the worker with less to do, not the one with fewer players", async () => {
    start("obedient", 2);
    const first = await settled();
    const second = await settled();
    await setLoad(first, 0.5);
    await setLoad(second, 0.1);
    const players = [attach(), attach(), attach()];
    for (const { handle } of players) expect(handle?.workerIndex).toBe(second.handle?.workerIndex);
    expect(pool.load.workers.map(({ counters }) => counters?.tickLoad).sort()).toEqual([0.1, 0.5]);
  });

  test("players that come at once count with what the others cost, before they are measured", async () => {
    start("obedient", 2);
    const light = await settled();
    const heavy = await settled();
    await setLoad(light, 0.3);
    await setLoad(heavy, 0.5);
    const indexes = [attach(), attach()].map(({ handle }) => handle?.workerIndex);
    expect(indexes).toEqual([light.handle?.workerIndex, heavy.handle?.workerIndex]);
  });

  test("a player that has left receives no more events", async () => {
    start("obedient");
    const player = await settled();
    pool.detach(player);
    const { length } = player.log;
    const other = await settled();
    expect(other.handle?.playerId).toBe(2);
    expect(player.log).toHaveLength(length);
  });

  test("one player's mistake does not keep the others from their events", async () => {
    start("obedient");
    const clumsy = new FakePooledPlayer();
    clumsy.onWorkerEvent = () => {
      throw new Error("mistake");
    };
    pool.attach(clumsy);
    await settled();
    expect(lines.map(({ message }) => message)).toContain("a player failed to handle an event of its worker");
  });

  test("closing ends the workers, and nothing is served after it", async () => {
    start("obedient", 2);
    await settled();
    await pool.close();
    await pool.close();
    expect(attach().log).toEqual([]);
  });

  test("closing ends a worker that does not answer after 2 s", async () => {
    start("obedient");
    const player = await settled();
    void orderOf(player, "hang").catch(() => undefined);
    const closed = pool.close();
    clock.advance(2000);
    await closed;
  });
});

describe("a worker that fails", () => {
  test.each(["exit", "throw", "fill-heap"])(
    "by %s is replaced: its players move, others notice nothing",
    async (how) => {
      start("obedient", 2);
      const bystander = await settled();
      const player = await settled();
      expect(player.handle?.workerIndex).not.toBe(bystander.handle?.workerIndex);
      const { playerId } = { ...player.handle };
      await expect(orderOf(player, how)).rejects.toMatchObject({ code: "worker-lost" });
      await player.next("position");
      expect(player.log.map((entry) => entry.split(" ")[0])).toEqual([
        ...["assigned", "position"],
        ...["lost", "assigned", "position"],
      ]);
      expect(player.handle?.playerId).not.toBe(playerId);
      expect(bystander.log).not.toContain("lost");
      // The worker that was stable all along, not the new one that has yet to show that it starts.
      expect(player.handle?.workerIndex).toBe(bystander.handle?.workerIndex);
    },
  );

  test("a single worker is replaced at once, and its player is notified to begin again there", async () => {
    start("obedient");
    const player = await settled();
    await expect(orderOf(player, "exit")).rejects.toMatchObject({ code: "worker-lost" });
    await player.next("position");
    expect(player.log).toEqual(["assigned 0", "position 1234", "lost", "assigned 0", "position 1234"]);
    expect(await lossLogged()).toMatchObject({ worker: 0, players: 1, lossesInARow: 1, restartInMs: 0 });
  });

  test("many players move in batches, five for each worker every 50 ms", async () => {
    start("obedient");
    const first = await settled();
    const players = [first, ...Array.from({ length: 11 }, attach)];
    const countMoved = () => players.filter(({ log }) => log.includes("lost") && log.at(-1) !== "lost").length;
    await expect(orderOf(first, "exit")).rejects.toThrow();
    expect(countMoved()).toBe(5);
    clock.advance(50);
    expect(countMoved()).toBe(10);
    clock.advance(50);
    expect(countMoved()).toBe(12);
  });

  test("requests that waited are rejected with its reason", async () => {
    start("obedient");
    const player = await settled();
    await expect(orderOf(player, "throw")).rejects.toMatchObject({
      code: "worker-lost",
      message: expect.stringContaining("stopped by an error"),
    });
  });

  test("a worker that hangs is replaced when it has not beaten for long", async () => {
    start("obedient");
    const player = await settled();
    void orderOf(player, "hang").catch(() => undefined);
    await logged("hangs");
    // The first check sees the heartbeats until then.
    clock.advance(CHECKS * CHECK_INTERVAL_MS);
    expect(player.log).not.toContain("lost");
    clock.advance(CHECK_INTERVAL_MS);
    expect(player.log).toContain("lost");
    expect(await lossLogged()).toMatchObject({ error: { message: expect.stringContaining("no sign of life") } });
    await player.next("position");
  });

  test("a stall of the main thread costs no worker", async () => {
    start("obedient");
    const player = await settled();
    clock.stall(60_000);
    clock.advance(CHECK_INTERVAL_MS);
    expect(player.log).not.toContain("lost");
  });

  test("a worker that never gets ready is replaced", async () => {
    start("mute");
    const player = attach();
    clock.advance(START_MS);
    expect(player.log).toEqual(["assigned 0", "lost", "assigned 0"]);
  });

  test("a worker that keeps failing is started again ever more slowly, and its players wait", async () => {
    start("broken");
    const player = attach();
    const delaysMs: unknown[] = [];
    for (const delayMs of [0, 250, 1000, 5000, 15_000, 30_000, 30_000]) {
      delaysMs.push((await lossLogged()).restartInMs);
      lines.length = 0;
      expect(player.log.filter((entry) => entry === "lost")).toHaveLength(delaysMs.length);
      clock.advance(delayMs);
    }
    expect(delaysMs).toEqual([0, 250, 1000, 5000, 15_000, 30_000, 30_000]);
    expect(player.log.filter((entry) => entry === "lost").length).toBe(
      player.log.filter((entry) => entry === "assigned 0").length - 1,
    );
  });

  test("a minute of good work makes the next loss the first again", async () => {
    start("obedient");
    const player = await settled();
    await expect(orderOf(player, "exit")).rejects.toThrow();
    await player.next("position");
    lines.length = 0;
    clock.stall(60_000);
    await expect(orderOf(player, "exit")).rejects.toThrow();
    await player.next("position");
    expect((await lossLogged()).lossesInARow).toBe(1);
  });
});

describe("a player that crashes a worker", () => {
  test("a suspect continues isolated, and the others continue together", async () => {
    start("obedient");
    const [culprit, bystander] = [await settled(), await settled()];
    await setCurrentTask(culprit, "read");
    await expect(orderOf(bystander, "exit")).rejects.toThrow();
    await culprit.next("position");
    expect(culprit.log).toContain("lost suspect");
    expect(bystander.log).toContain("lost");
    expect([culprit.handle?.isIsolated, bystander.handle?.isIsolated]).toEqual([true, false]);
    expect(await lossLogged()).toMatchObject({ attributedPlayer: 1, activity: "read" });
  });

  test("a player that crashes its isolated worker is notified as the culprit and stays isolated", async () => {
    start("obedient");
    const [culprit, bystander] = [await settled(), await settled()];
    await setCurrentTask(culprit, "prepare");
    await expect(orderOf(culprit, "exit")).rejects.toThrow();
    await culprit.next("position");
    await expect(orderOf(culprit, "exit")).rejects.toThrow();
    await culprit.next("position");
    expect(culprit.log.filter((entry) => entry.startsWith("lost"))).toEqual(["lost suspect", "lost culprit"]);
    expect(culprit.handle?.isIsolated).toBe(true);
    expect(bystander.log.filter((entry) => entry.startsWith("lost"))).toEqual(["lost"]);
  });

  test("players that share a worker with culprits are never attributed its losses, however often it is lost", async () => {
    start("obedient");
    const bystander = await settled();
    for (const restartMs of [0, 250]) {
      const culprit = await settled();
      await setCurrentTask(culprit, "read");
      await expect(orderOf(culprit, "exit")).rejects.toThrow();
      clock.advance(restartMs);
      await Promise.all([bystander.next("position"), culprit.next("position")]);
      pool.detach(culprit);
    }
    expect(new Set(bystander.log.filter((entry) => entry.startsWith("lost")))).toEqual(new Set(["lost"]));
    expect(bystander.handle?.isIsolated).toBe(false);
  });

  test("a player that is no longer suspect makes space for the next; without space, what a suspect did is given up at once", async () => {
    start("obedient");
    const culprits: FakePooledPlayer[] = [];
    for (let count = 0; count < 4; count++) {
      const culprit = await settled();
      culprits.push(culprit);
      culprit.isSuspect = true;
      expect(pool.isolate(culprit)).toBe(true);
      await culprit.next("position");
    }
    expect(culprits.map(({ handle }) => handle?.isIsolated)).toEqual([true, true, true, true]);
    const fifth = await settled();
    expect(pool.isolate(fifth)).toBe(false);
    expect(fifth.log).not.toContainEqual(expect.stringMatching(/^lost/));
    await setCurrentTask(fifth, "read");
    await expect(orderOf(fifth, "exit")).rejects.toThrow();
    expect(fifth.log).toContain("lost culprit");
    await fifth.next("position");
    expect(fifth.handle?.isIsolated).toBe(false);
    const [first, second] = culprits;
    if (first !== undefined) first.isSuspect = false;
    const sixth = await settled();
    pool.isolate(sixth);
    await sixth.next("position");
    expect([first?.handle?.isIsolated, second?.handle?.isIsolated, sixth.handle?.isIsolated]).toEqual([
      false,
      true,
      true,
    ]);
  });

  test("an isolated worker is closed when its player has left", async () => {
    start("obedient");
    const culprit = await settled();
    pool.isolate(culprit);
    await culprit.next("position");
    expect(pool.load.workers.length).toBe(2);
    pool.detach(culprit);
    expect(pool.load.workers.length).toBe(1);
  });
});

describe("isolated workers", () => {
  async function isolated(): Promise<FakePooledPlayer> {
    const player = await settled();
    pool.isolate(player);
    await player.next("position");
    return player;
  }

  /** Without checking the signs of life, which do not follow this clock. */
  function passSecond(): void {
    clock.stall(1000);
    clock.advance(0);
  }

  test("an isolated worker is closed and forgotten a second after its player has left", async () => {
    start("obedient");
    pool.detach(await isolated());
    expect(pool.closingCount).toBe(1);
    passSecond();
    await vi.waitFor(() => expect(pool.closingCount).toBe(0));
  });

  test("an isolated worker is forgotten when it is lost, however often", async () => {
    start("obedient");
    const player = await isolated();
    for (let loss = 0; loss < 3; loss++) {
      await expect(orderOf(player, "exit")).rejects.toMatchObject({ code: "worker-lost" });
      await player.next("position");
    }
    expect(pool.closingCount).toBe(0);
  });

  test("an isolated worker is forgotten when it is lost just after its player has left", async () => {
    start("obedient");
    const player = await isolated();
    const lost = orderOf(player, "exit");
    pool.detach(player);
    await expect(lost).rejects.toMatchObject({ code: "worker-lost" });
    expect(pool.closingCount).toBe(0);
  });
});

describe("a spare worker", () => {
  test("a spare worker replaces a lost one at once", async () => {
    start("obedient");
    const player = await settled();
    expect(pool.load.hasSpare).toBe(false);
    clock.stall(5000);
    clock.advance(0);
    await until(() => pool.load.hasSpare);
    await expect(orderOf(player, "exit")).rejects.toThrow();
    expect(pool.load.hasSpare).toBe(false);
    await player.next("position");
  });
});

describe("busy workers", () => {
  test("busy workers get a lower encoder complexity, new workers too, and then no new player is admitted", async () => {
    start("obedient");
    const player = await settled();
    expect(() => pool.admit(player)).not.toThrow();
    await setLoad(player, 0.9);
    await until(() => pool.load.complexity === 7);
    await logged("complexity 7");
    while (pool.load.complexity > 0) {
      clock.stall(1200);
      clock.advance(0);
      await setLoad(player, 0.9);
    }
    await logged("complexity 0");
    expect(() => pool.admit(player)).toThrow(expect.objectContaining({ code: "node-overloaded" }));
    expect(pool.load).toMatchObject({ hasCapacity: false, refusedCount: 1, complexityMax: 10 });
    lines.length = 0;
    await expect(orderOf(player, "exit")).rejects.toThrow();
    await logged("complexity 0");
  });

  test("a silent player whose worker has no capacity plays on another that has", async () => {
    start("obedient", 2);
    const [first, second] = [await settled(), await settled()];
    await setLoad(first, 0.95);
    await until(() => pool.load.workers.some(({ counters }) => counters?.tickLoad === 0.95));
    pool.admit(first);
    expect(first.handle?.workerIndex).toBe(second.handle?.workerIndex);
    expect(first.log).toContain("lost");
    expect(second.log).not.toContain("lost");
  });

  test("promised load counts: many starts at once do not all fit because none is measured yet", async () => {
    start("obedient");
    const players = Array.from({ length: 200 }, attach);
    let admitted = 0;
    const admitAll = () => {
      for (const player of players) {
        pool.admit(player);
        player.needsCapacity = true;
        admitted += 1;
      }
    };
    expect(admitAll).toThrow(expect.objectContaining({ code: "node-overloaded" }));
    expect(admitted).toBeGreaterThan(20);
    expect(admitted).toBeLessThan(100);
  });
});
