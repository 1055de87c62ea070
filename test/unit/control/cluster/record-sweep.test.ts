import { beforeEach, describe, expect, test } from "vitest";
import type { BucketChange } from "../../../../src/cluster/bucket.ts";
import { SESSION_KINDS } from "../../../../src/cluster/cluster-store.ts";
import { CONTRACT_VERSION } from "../../../../src/cluster/machine.ts";
import { MACHINE_ROLES } from "../../../../src/config/cluster-settings.ts";
import { RecordSweep, SWEEP_MS } from "../../../../src/control/cluster/record-sweep.ts";
import { SessionDirectory } from "../../../../src/control/cluster/session-directory.ts";
import { silentLogger } from "../../../../src/log/log.ts";
import { settingsFor, startMachine, untilConnected } from "../../../support/cluster-machine.ts";
import type { TestMachine } from "../../../support/clustered-machine.ts";
import { FakeClock } from "../../../support/fake-clock.ts";
import { isNatsMissing, NatsServer, natsTitle } from "../../../support/nats-server.ts";
import { PlacingWorld, playerAt } from "../../../support/placing-world.ts";

const OF_ENDED = [
  ...["session/ended", "player/ended/7", "track/ended/7", "message/ended/000000000001"],
  ...["kept/ended/7/6c", "place/ended/7", "relay/ended/somewhere/000000000001"],
];
const LINE = "cluster: records were removed that had been left by sessions that have ended";

let world: PlacingWorld;
let machines: readonly TestMachine[];

beforeEach(async () => {
  world = new PlacingWorld();
  machines = [await world.machine("a"), await world.machine("b"), await world.machine("c")];
});

function write(changes: readonly BucketChange[]): void {
  world.nats.write(changes, undefined, (machines[0] as TestMachine).bucket); // made before each
}

function store(keys: readonly string[]): void {
  write(keys.map((key) => ({ key, value: "1" })));
}

/** The existing records that are of no machine. */
function left(): readonly string[] {
  const existing = [...world.nats.records.values()].filter(({ value }) => value !== undefined);
  return existing.map(({ key }) => key).filter((key) => !/^(?:machine|life)\//.test(key));
}

async function pass(ms: number): Promise<void> {
  for (let passedMs = 0; passedMs < ms; passedMs += 500) {
    world.clock.advance(490);
    await world.pass(10);
  }
}

describe("records of a session without an owner", () => {
  test("of every kind are removed, by one machine, which says so", async () => {
    expect(new Set(OF_ENDED.map((key) => key.split("/", 1)[0]))).toEqual(SESSION_KINDS);
    store(OF_ENDED);
    const removing = new Set<unknown>();
    world.nats.onWritten = (changes, by) => {
      if (changes.some(({ key }) => key.includes("ended"))) removing.add(by);
    };
    await pass(2 * SWEEP_MS + 5000);

    expect(left()).toEqual([]);
    expect(removing.size).toBe(1);
    expect(machines.flatMap(({ lines }) => lines.filter((line) => line === LINE))).toEqual([LINE]);
  });

  test("stay until they have been found a second time", async () => {
    await pass(SWEEP_MS - 5000);
    store(OF_ENDED);
    await pass(SWEEP_MS - 5000);
    expect(left()).toEqual(OF_ENDED);
    await pass(SWEEP_MS);
    expect(left()).toEqual([]);
  });

  test("are removed by another machine when the one that has found them dies", async () => {
    store(OF_ENDED);
    const listing = new Set<unknown>();
    for (const { bucket } of machines) {
      const { list } = bucket;
      bucket.list = async (...asked) => {
        listing.add(bucket);
        await list.apply(bucket, asked);
      };
    }
    await pass(SWEEP_MS + 5000);
    expect(listing.size).toBe(1);
    machines.find(({ bucket }) => listing.has(bucket))?.kill();
    await pass(3 * SWEEP_MS);
    expect(left()).toEqual([]);
  });

  test("are left alone while machines cannot know what there is", async () => {
    store(OF_ENDED);
    world.nats.goAway();
    await pass(3 * SWEEP_MS);
    expect(left()).toEqual(OF_ENDED);
    world.nats.comeBack();
    await pass(3 * SWEEP_MS);
    expect(left()).toEqual([]);
  });

  test("that are many are removed to the last one", async () => {
    store(Array.from({ length: 1201 }, (_none, index) => `message/ended/${index}`));
    await pass(2 * SWEEP_MS + 5000);
    expect(left()).toEqual([]);
  });
});

describe("records of a session that has an owner", () => {
  test("stay, wherever its players are, whatever becomes of its client", async () => {
    const [a, b, c] = machines as [TestMachine, TestMachine, TestMachine];
    const gateway = await world.gateway("d");
    world.target = b;
    const session = await world.lasting(gateway);
    await world.update(gateway, session, 50);
    const before = world.recordsOf(session);
    expect(before).toContain(`place/${session.id}/7`);
    await pass(3 * SWEEP_MS);
    expect(world.recordsOf(session)).toEqual(before);

    session.disconnect();
    await c.bring(session.id);
    await pass(SWEEP_MS);
    expect(playerAt(b, session)?.intent.volume).toBe(50);
    expect(a.sessions.all()).toEqual([]);
    expect(world.recordsOf(session)).toEqual(expect.arrayContaining([...before]));
  });

  test("stay where no machine has learned of the owner yet", async () => {
    store(OF_ENDED);
    await pass(SWEEP_MS + 5000);
    for (const { bucket } of machines) bucket.transit = () => ({ requestMs: 0, answerMs: 0, watchMs: 2 * SWEEP_MS });
    const [{ id }] = machines as [TestMachine];
    write([{ key: "owner/ended", value: JSON.stringify({ machine: id }) }]);
    await pass(SWEEP_MS);
    expect(left()).toEqual(expect.arrayContaining(OF_ENDED));
  });
});

describe.skipIf(isNatsMissing)(natsTitle("on a NATS server"), () => {
  test("10,000 records of ended sessions are removed, and none of others", async () => {
    const server = await NatsServer.start();
    const { bucket, link } = await startMachine(settingsFor([server]));
    await untilConnected(link);
    const timeoutMs = 10_000;
    const kinds = [...SESSION_KINDS].filter((kind) => kind !== "session").slice(0, 4);
    const keysOf = (id: string) => kinds.map((kind) => ({ key: `${kind}/${id}/7`, value: "x".repeat(300) }));
    for (let start = 0; start < 2500; start += 100) {
      const ids = Array.from({ length: 100 }, (_none, index) => `ended${start + index}`);
      await bucket.write(ids.flatMap(keysOf), { timeoutMs });
    }
    const owned = { key: "owner/living", value: JSON.stringify({ machine: "m" }) };
    // Nobody can read whose it is.
    const strange = { key: "owner/strange", value: "strange" };
    const kept = [owned, strange, ...keysOf("living"), ...keysOf("strange"), { key: "shared/a/b", value: "1" }];
    const [revision = 0] = await bucket.write([{ key: "life/m", value: "m" }, ...kept], { timeoutMs });

    const directory = new SessionDirectory({ bucket, onChanged: () => onChanged() });
    let onChanged = (): void => undefined;
    const isComplete = new Promise<void>((resolve) => {
      onChanged = resolve;
    });
    directory.start();
    await isComplete;
    const self = { id: "m", name: "m", roles: MACHINE_ROLES, regions: [], version: "1", contract: CONTRACT_VERSION };
    let onSweep = (): void => undefined;
    const clock = new FakeClock();
    const sweep = new RecordSweep({
      bucket: {
        list: (...asked) => bucket.list(...asked),
        write: (...asked) => bucket.write(...asked),
      },
      membership: {
        ...{ self, guard: { key: "life/m", revision }, peers: () => [self] },
        ...{ isCaughtUp: true, isNatsAway: false, onFenced: () => undefined },
      },
      directory,
      clock: {
        now: () => clock.now(),
        epochMs: () => clock.epochMs(),
        after: (...asked) => {
          onSweep();
          return clock.after(...asked);
        },
      },
      logger: silentLogger,
    });
    sweep.start();
    for (let count = 0; count < 2; count++) {
      const swept = new Promise<void>((resolve) => {
        onSweep = resolve;
      });
      clock.advance(SWEEP_MS);
      await swept;
    }
    const found: string[] = [];
    await bucket.list([">"], (key) => found.push(key));
    expect(found.toSorted()).toEqual([...kept.map(({ key }) => key), "life/m", "meta/contract"].toSorted());
    sweep.close();
    directory.close();
    await link.close();
    await server.stop();
  }, 60_000);
});
