import { afterEach, describe, expect, test, vi } from "vitest";
import type { PlayableLink } from "../../../../src/bridge/playable-link.ts";
import type { WorkerSettings } from "../../../../src/bridge/worker-settings.ts";
import type { LinkSource } from "../../../../src/control/workers/link-source.ts";
import type { RouteSource } from "../../../../src/control/workers/route-source.ts";
import { systemThreads } from "../../../../src/control/workers/threads.ts";
import type { Blame, PlayerEvent, WorkerHandle, WorkerTenant } from "../../../../src/control/workers/worker-handle.ts";
import { WorkerPool } from "../../../../src/control/workers/worker-pool.ts";
import { NodeError } from "../../../../src/errors.ts";
import { createLogger, type LogFields } from "../../../../src/log.ts";
import { FakeClock } from "../../../support/fake-clock.ts";
import { createPlanner } from "../../../support/planner-builders.ts";
import { linkTo } from "../../../support/scripted-links.ts";

const START_MS = 15_250;
const LOOK_MS = 50;
/** Looks without a beat after which a worker counts as hanging that does not say which thread it is. */
const LOOKS = 18;
/** As bridge/work-mark.ts numbers them. */
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
class Tenant implements WorkerTenant {
  readonly log: string[] = [];
  handle: WorkerHandle | undefined;
  isSuspect = false;
  needsRoom = false;
  #waiting: { readonly what: string; readonly resolve: () => void }[] = [];

  onWorkerAssigned(handle: WorkerHandle): void {
    this.handle = handle;
    handle.send({ type: "createPlayer", guildId: "1", userId: "2", volume: 100, filters: {} });
    this.#note(`assigned ${handle.workerIndex}`);
  }

  onWorkerLost({ kind }: Blame): void {
    this.handle = undefined;
    this.#note(kind === "none" ? "lost" : `lost ${kind}`);
  }

  onWorkerEvent(event: PlayerEvent): void {
    this.#note(event.type === "position" ? `position ${event.report.positionMs}` : event.type);
  }

  /** Resolves when the next thing of that name happens. */
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
function orderOf(tenant: Tenant, endpoint: string): Promise<unknown> {
  const credentials = { token: "", endpoint, sessionId: "", channelId: undefined };
  if (tenant.handle === undefined) throw new Error("the player has no worker");
  return tenant.handle.request({ type: "connectVoice", voiceId: 1, credentials }, { timeoutMs: 60_000 });
}

function attach(): Tenant {
  const tenant = new Tenant();
  pool.attach(tenant);
  return tenant;
}

/** A player on a worker that has shown that it runs. */
async function settled(): Promise<Tenant> {
  const tenant = attach();
  await tenant.next("position");
  return tenant;
}

/** Has the player's worker say that it does this for it. */
async function mark(tenant: Tenant, activity: keyof typeof ACTIVITY_CODES): Promise<void> {
  await orderOf(tenant, `mark ${tenant.handle?.playerId} ${ACTIVITY_CODES[activity]}`);
}

/** Has the player's worker report this load for as long as the pool looks back. */
async function setLoad(tenant: Tenant, load: number): Promise<void> {
  for (let report = 0; report < 4; report++) await orderOf(tenant, `load ${load}`);
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

describe("a pool of sound workers", () => {
  test("serves a player before its worker is ready: what it is told waits", async () => {
    start("obedient");
    const tenant = attach();
    expect(tenant.log).toEqual(["assigned 0"]);
    await tenant.next("position 1234");
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
    const tenant = await settled();
    await expect(orderOf(tenant, "nothing")).resolves.toEqual({ kind: "empty" });
    await expect(orderOf(tenant, "fail")).rejects.toMatchObject({ code: "worker-busy", message: "refused" });
    const minute = tenant.next("frameMinute");
    await orderOf(tenant, "minute");
    await minute;
    await orderOf(tenant, "log");
    expect(lines).toContainEqual({ message: "from the worker", fields: { n: 1, worker: 0 } });
  });

  test("a worker's wish for an address is answered, and what failed is passed on", async () => {
    const { planner } = createPlanner({ ipBlocks: ["192.0.2.0/30"] });
    start("obedient", 1, { routes: planner });
    const tenant = await settled();
    await orderOf(tenant, "route 6,4");
    await orderOf(tenant, "ban 192.0.2.0");
    await orderOf(tenant, "route 4");
    await orderOf(tenant, "nothing");
    const told = lines.filter(({ message }) => message === "told a route").map(({ fields }) => fields);
    expect(told).toEqual([
      { routeId: 5, address: "192.0.2.0", worker: 0 },
      { routeId: 5, address: "192.0.2.1", worker: 0 },
    ]);
    expect(planner.status().details.failingAddresses).toMatchObject([{ failingAddress: "/192.0.2.0" }]);
  });

  test("a worker's wish for a link is answered with one, or with why there is none", async () => {
    const wishes: unknown[] = [];
    const link = linkTo("http://site.example/song");
    const links: LinkSource = {
      link: async (request) => {
        wishes.push(request);
        if (request.track.sourceName === "site") return link;
        throw new NodeError("source-unavailable", "no such source");
      },
    };
    start("obedient", 1, { links });
    const tenant = await settled();
    await orderOf(tenant, "link site");
    await orderOf(tenant, "link other");
    await until(() => lines.filter(({ message }) => message === "told of a link").length === 2);
    const track = { sourceName: "site", encoded: "QAAA", userData: {} };
    expect(wishes[0]).toEqual({ track, reason: "refused", status: 403, rendition: "r" });
    expect(lines.filter(({ message }) => message === "told of a link").map(({ fields }) => fields)).toEqual([
      { type: "link", linkId: 6, link, code: undefined, worker: 0 },
      { type: "linkError", linkId: 6, link: undefined, code: "source-unavailable", worker: 0 },
    ]);
  });

  test("a link for a worker that was lost meanwhile is called off, and not told to the next", async () => {
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
    const tenant = await settled();
    await orderOf(tenant, "link site");
    expect(signal?.aborted).toBe(false);
    const moved = tenant.next("position");
    await expect(orderOf(tenant, "exit")).rejects.toMatchObject({ code: "worker-lost" });
    expect(signal?.aborted).toBe(true);
    await moved;
    give(linkTo("http://site.example/late"));
    await orderOf(tenant, "nothing");
    expect(lines.filter(({ message }) => message === "told of a link")).toEqual([]);
  });

  test("spreads players evenly while the loads are alike, also before it is ready", () => {
    start("obedient", 2);
    const tenants = [attach(), attach(), attach(), attach()];
    expect(tenants.map(({ handle }) => handle?.workerIndex).sort()).toEqual([0, 0, 1, 1]);
    expect(new Set(tenants.map(({ handle }) => handle?.playerId)).size).toBe(4);
  });

  test("gives players to the worker with less to do, not the one with fewer players", async () => {
    start("obedient", 2);
    const first = await settled();
    const second = await settled();
    await setLoad(first, 0.5);
    await setLoad(second, 0.1);
    const tenants = [attach(), attach(), attach()];
    for (const { handle } of tenants) expect(handle?.workerIndex).toBe(second.handle?.workerIndex);
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

  test("a player that has left hears nothing more", async () => {
    start("obedient");
    const tenant = await settled();
    pool.detach(tenant);
    const { length } = tenant.log;
    const other = await settled();
    expect(other.handle?.playerId).toBe(2);
    expect(tenant.log).toHaveLength(length);
  });

  test("one player's mistake does not keep the others from their events", async () => {
    start("obedient");
    const clumsy = new Tenant();
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
    const tenant = await settled();
    void orderOf(tenant, "hang").catch(() => undefined);
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
      const tenant = await settled();
      expect(tenant.handle?.workerIndex).not.toBe(bystander.handle?.workerIndex);
      const { playerId } = { ...tenant.handle };
      await expect(orderOf(tenant, how)).rejects.toMatchObject({ code: "worker-lost" });
      await tenant.next("position");
      expect(tenant.log.map((entry) => entry.split(" ")[0])).toEqual([
        ...["assigned", "position"],
        ...["lost", "assigned", "position"],
      ]);
      expect(tenant.handle?.playerId).not.toBe(playerId);
      expect(bystander.log).not.toContain("lost");
      // The one that was sound all along, not the new one that has yet to show that it starts.
      expect(tenant.handle?.workerIndex).toBe(bystander.handle?.workerIndex);
    },
  );

  test("a lone worker is replaced at once, and its player is told to begin again there", async () => {
    start("obedient");
    const tenant = await settled();
    await expect(orderOf(tenant, "exit")).rejects.toMatchObject({ code: "worker-lost" });
    await tenant.next("position");
    expect(tenant.log).toEqual(["assigned 0", "position 1234", "lost", "assigned 0", "position 1234"]);
    expect(await lossLogged()).toMatchObject({ worker: 0, players: 1, lossesInARow: 1, restartInMs: 0 });
  });

  test("many players move in batches, five for each worker every 50 ms", async () => {
    start("obedient");
    const first = await settled();
    const tenants = [first, ...Array.from({ length: 11 }, attach)];
    const countMoved = () => tenants.filter(({ log }) => log.includes("lost") && log.at(-1) !== "lost").length;
    await expect(orderOf(first, "exit")).rejects.toThrow();
    expect(countMoved()).toBe(5);
    clock.advance(50);
    expect(countMoved()).toBe(10);
    clock.advance(50);
    expect(countMoved()).toBe(12);
  });

  test("requests that waited are rejected with its reason", async () => {
    start("obedient");
    const tenant = await settled();
    await expect(orderOf(tenant, "throw")).rejects.toMatchObject({
      code: "worker-lost",
      message: expect.stringContaining("stopped by an error"),
    });
  });

  test("a worker that hangs is replaced when it has not beaten for long", async () => {
    start("obedient");
    const tenant = await settled();
    void orderOf(tenant, "hang").catch(() => undefined);
    await logged("hangs");
    // The first look sees the beats until then.
    clock.advance(LOOKS * LOOK_MS);
    expect(tenant.log).not.toContain("lost");
    clock.advance(LOOK_MS);
    expect(tenant.log).toContain("lost");
    expect(await lossLogged()).toMatchObject({ error: { message: expect.stringContaining("no sign of life") } });
    await tenant.next("position");
  });

  test("a stall of the main thread costs no worker", async () => {
    start("obedient");
    const tenant = await settled();
    clock.stall(60_000);
    clock.advance(LOOK_MS);
    expect(tenant.log).not.toContain("lost");
  });

  test("a worker that never gets ready is replaced", async () => {
    start("mute");
    const tenant = attach();
    clock.advance(START_MS);
    expect(tenant.log).toEqual(["assigned 0", "lost", "assigned 0"]);
  });

  test("a worker that keeps failing is started again ever more slowly, and its players wait", async () => {
    start("broken");
    const tenant = attach();
    const delaysMs: unknown[] = [];
    for (const delayMs of [0, 250, 1000, 5000, 15_000, 30_000, 30_000]) {
      delaysMs.push((await lossLogged()).restartInMs);
      lines.length = 0;
      expect(tenant.log.filter((entry) => entry === "lost")).toHaveLength(delaysMs.length);
      clock.advance(delayMs);
    }
    expect(delaysMs).toEqual([0, 250, 1000, 5000, 15_000, 30_000, 30_000]);
    expect(tenant.log.filter((entry) => entry === "lost").length).toBe(
      tenant.log.filter((entry) => entry === "assigned 0").length - 1,
    );
  });

  test("a minute of good work makes the next loss the first again", async () => {
    start("obedient");
    const tenant = await settled();
    await expect(orderOf(tenant, "exit")).rejects.toThrow();
    await tenant.next("position");
    lines.length = 0;
    clock.stall(60_000);
    await expect(orderOf(tenant, "exit")).rejects.toThrow();
    await tenant.next("position");
    expect((await lossLogged()).lossesInARow).toBe(1);
  });
});

describe("whoever costs a worker", () => {
  test("goes on alone, and the others go on together", async () => {
    start("obedient");
    const [culprit, bystander] = [await settled(), await settled()];
    await mark(culprit, "read");
    await expect(orderOf(bystander, "exit")).rejects.toThrow();
    await culprit.next("position");
    expect(culprit.log).toContain("lost suspect");
    expect(bystander.log).toContain("lost");
    expect([culprit.handle?.isAlone, bystander.handle?.isAlone]).toEqual([true, false]);
    expect(await lossLogged()).toMatchObject({ blamedPlayer: 1, activity: "read" });
  });

  test("and its own worker too is told so, and stays apart", async () => {
    start("obedient");
    const [culprit, bystander] = [await settled(), await settled()];
    await mark(culprit, "prepare");
    await expect(orderOf(culprit, "exit")).rejects.toThrow();
    await culprit.next("position");
    await expect(orderOf(culprit, "exit")).rejects.toThrow();
    await culprit.next("position");
    expect(culprit.log.filter((entry) => entry.startsWith("lost"))).toEqual(["lost suspect", "lost guilty"]);
    expect(culprit.handle?.isAlone).toBe(true);
    expect(bystander.log.filter((entry) => entry.startsWith("lost"))).toEqual(["lost"]);
  });

  test("those who share a worker with the guilty ones are never blamed, however often it is lost", async () => {
    start("obedient");
    const bystander = await settled();
    for (const restartMs of [0, 250]) {
      const culprit = await settled();
      await mark(culprit, "read");
      await expect(orderOf(culprit, "exit")).rejects.toThrow();
      clock.advance(restartMs);
      await Promise.all([bystander.next("position"), culprit.next("position")]);
      pool.detach(culprit);
    }
    expect(new Set(bystander.log.filter((entry) => entry.startsWith("lost")))).toEqual(new Set(["lost"]));
    expect(bystander.handle?.isAlone).toBe(false);
  });

  test("makes room for the next when suspect no more; with no room, what it did is given up at once", async () => {
    start("obedient");
    const culprits: Tenant[] = [];
    for (let count = 0; count < 4; count++) {
      const culprit = await settled();
      culprits.push(culprit);
      culprit.isSuspect = true;
      expect(pool.isolate(culprit)).toBe(true);
      await culprit.next("position");
    }
    expect(culprits.map(({ handle }) => handle?.isAlone)).toEqual([true, true, true, true]);
    const fifth = await settled();
    expect(pool.isolate(fifth)).toBe(false);
    expect(fifth.log).not.toContainEqual(expect.stringMatching(/^lost/));
    await mark(fifth, "read");
    await expect(orderOf(fifth, "exit")).rejects.toThrow();
    expect(fifth.log).toContain("lost guilty");
    await fifth.next("position");
    expect(fifth.handle?.isAlone).toBe(false);
    const [first, second] = culprits;
    if (first !== undefined) first.isSuspect = false;
    const sixth = await settled();
    pool.isolate(sixth);
    await sixth.next("position");
    expect([first?.handle?.isAlone, second?.handle?.isAlone, sixth.handle?.isAlone]).toEqual([false, true, true]);
  });

  test("leaves nothing behind: its own worker is closed when it has gone", async () => {
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
  async function isolated(): Promise<Tenant> {
    const tenant = await settled();
    pool.isolate(tenant);
    await tenant.next("position");
    return tenant;
  }

  /** Without a look at the signs of life, which do not come in the time of this clock. */
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
    const tenant = await isolated();
    for (let loss = 0; loss < 3; loss++) {
      await expect(orderOf(tenant, "exit")).rejects.toMatchObject({ code: "worker-lost" });
      await tenant.next("position");
    }
    expect(pool.closingCount).toBe(0);
  });

  test("an isolated worker is forgotten when it is lost just after its player has left", async () => {
    start("obedient");
    const tenant = await isolated();
    const lost = orderOf(tenant, "exit");
    pool.detach(tenant);
    await expect(lost).rejects.toMatchObject({ code: "worker-lost" });
    expect(pool.closingCount).toBe(0);
  });
});

describe("a spare worker", () => {
  test("takes the place of one that is lost at once", async () => {
    start("obedient");
    const tenant = await settled();
    expect(pool.load.hasSpare).toBe(false);
    clock.stall(5000);
    clock.advance(0);
    await until(() => pool.load.hasSpare);
    await expect(orderOf(tenant, "exit")).rejects.toThrow();
    expect(pool.load.hasSpare).toBe(false);
    await tenant.next("position");
  });
});

describe("busy workers", () => {
  test("make encoders work less hard, on new workers as well, and then nobody new is admitted", async () => {
    start("obedient");
    const tenant = await settled();
    expect(() => pool.admit(tenant)).not.toThrow();
    await setLoad(tenant, 0.9);
    await until(() => pool.load.complexity === 7);
    await logged("complexity 7");
    while (pool.load.complexity > 0) {
      clock.stall(1200);
      clock.advance(0);
      await setLoad(tenant, 0.9);
    }
    await logged("complexity 0");
    expect(() => pool.admit(tenant)).toThrow(expect.objectContaining({ code: "node-overloaded" }));
    expect(pool.load).toMatchObject({ hasRoom: false, refusedCount: 1, complexityMax: 10 });
    lines.length = 0;
    await expect(orderOf(tenant, "exit")).rejects.toThrow();
    await logged("complexity 0");
  });

  test("a silent player whose worker has no room plays on another that has", async () => {
    start("obedient", 2);
    const [first, second] = [await settled(), await settled()];
    await setLoad(first, 0.95);
    await until(() => pool.load.workers.some(({ counters }) => counters?.tickLoad === 0.95));
    pool.admit(first);
    expect(first.handle?.workerIndex).toBe(second.handle?.workerIndex);
    expect(first.log).toContain("lost");
    expect(second.log).not.toContain("lost");
  });

  test("count what is promised: many starts at once do not all fit because none is measured yet", async () => {
    start("obedient");
    const tenants = Array.from({ length: 200 }, attach);
    let admitted = 0;
    const admitAll = () => {
      for (const tenant of tenants) {
        pool.admit(tenant);
        tenant.needsRoom = true;
        admitted += 1;
      }
    };
    expect(admitAll).toThrow(expect.objectContaining({ code: "node-overloaded" }));
    expect(admitted).toBeGreaterThan(20);
    expect(admitted).toBeLessThan(100);
  });
});
