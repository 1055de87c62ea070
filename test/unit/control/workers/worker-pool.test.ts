import { afterEach, describe, expect, test } from "vitest";
import type { PlayableLink } from "../../../../src/bridge/playable-link.ts";
import type { LinkSource } from "../../../../src/control/workers/link-source.ts";
import { NodeError } from "../../../../src/errors.ts";
import {
  attach,
  clock,
  closePool,
  lines,
  logged,
  lossLogged,
  onTwoWorkers,
  orderOf,
  pool,
  setLoad,
  settled,
  start,
  until,
} from "../../../support/obedient-pool.ts";
import { createPlanner } from "../../../support/planner-builders.ts";
import { linkTo } from "../../../support/scripted-links.ts";

const START_MS = 15_250;
const CHECK_INTERVAL_MS = 200;
/** Checks without a heartbeat after which a worker counts as hanging that does not say which thread it is. */
const CHECKS = 5;

afterEach(closePool);

describe("a pool of audio workers", () => {
  test("a player is served before its worker is ready: its commands wait", async () => {
    start("obedient");
    const player = attach();
    expect(player.log).toEqual(["assigned 0"]);
    await player.next("position 1234");
  });

  test("wakes every worker with a command that changes nothing", async () => {
    await onTwoWorkers();
    pool.wake();
    const woken = () => lines.filter(({ message }) => message === "complexity 10").map(({ fields }) => fields.worker);
    await until(() => woken().length === 2);
    expect(woken().sort()).toEqual([0, 1]);
  });

  test("gives the filters of plugins to every worker, also to one that replaces a lost one", async () => {
    start("obedient");
    const told = () => lines.filter(({ message }) => message.startsWith("modules")).map(({ message }) => message);
    pool.setFilterModules([{ name: "wobble", url: "file:///w.mjs" }]);
    const player = await settled();
    await until(() => told().length === 1);
    pool.setFilterModules([]);
    pool.setFilterModules([]);
    await until(() => told().length === 2);
    for (let time = 0; time < 2; time++) pool.setFilterModules([{ name: "other", url: "file:///o.mjs" }]);
    await until(() => told().length === 3);
    await expect(orderOf(player, "exit")).rejects.toMatchObject({ code: "worker-lost" });
    await until(() => told().length === 4);
    expect(told()).toEqual(["modules wobble", "modules ", "modules other", "modules other"]);
  });

  test("passes answers, errors, log lines and frame minutes on", async () => {
    start("obedient");
    const player = await settled();
    await expect(orderOf(player, "nothing")).resolves.toEqual({ kind: "empty" });
    await expect(orderOf(player, "fail")).rejects.toMatchObject({ code: "worker-busy", message: "refused" });
    const minute = player.next("minute 5");
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
      const [bystander, player] = await onTwoWorkers();
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

describe("the load of a pool", () => {
  test("is the mean of its workers, to which one more player adds what the others need, shared by the workers", async () => {
    const [first] = await onTwoWorkers();
    expect(pool.load).toMatchObject({ load: 0, loadPerPlayer: 0.005 });
    await setLoad(first, 0.5);
    expect(pool.load.load).toBeCloseTo(0.25, 2);
  });
});

describe("busy workers", () => {
  test("busy workers get a lower encoder complexity, new workers too, and then no new player is admitted", async () => {
    start("obedient");
    const player = await settled();
    const request = { onAdmitted: () => undefined, signal: new AbortController().signal };
    await pool.admit(player, request);
    await setLoad(player, 0.9);
    await until(() => pool.load.complexity === 7);
    await logged("complexity 7");
    while (pool.load.complexity > 0) {
      clock.stall(1200);
      clock.advance(0);
      await setLoad(player, 0.9);
    }
    await logged("complexity 0");
    await expect(pool.admit(player, request)).rejects.toMatchObject({ code: "node-overloaded" });
    expect(pool.load).toMatchObject({ hasCapacity: false, refusedCount: 1, complexityMax: 10 });
    lines.length = 0;
    await expect(orderOf(player, "exit")).rejects.toThrow();
    await logged("complexity 0");
  });
});
