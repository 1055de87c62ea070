import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { BucketGuard } from "../../../src/cluster/bucket.ts";
import { type ClusterMachine, settingsFor, startMachine, untilConnected } from "../../support/cluster-machine.ts";
import { isNatsMissing, NatsServer, natsTitle } from "../../support/nats-server.ts";

describe.skipIf(isNatsMissing)(natsTitle("a bucket on a NATS server"), () => {
  let server: NatsServer;
  let machine: ClusterMachine;
  let guard: BucketGuard;
  const timeoutMs = 10_000;

  beforeAll(async () => {
    server = await NatsServer.start({ lines: ["max_payload: 256K"] });
    machine = await startMachine(settingsFor([server]));
    await untilConnected(machine.link);
    const [revision = 0] = await machine.bucket.write([{ key: "life/a", value: "a", expected: 0 }], { timeoutMs });
    guard = { key: "life/a", revision };
  });

  afterAll(async () => {
    await machine.link.close();
    await server.stop();
  });

  test("a write resolves with the revision of each of its records", async () => {
    const changes = ["one", "two", "three"].map((key) => ({ key: `session/${key}`, value: key }));
    const [first = 0, ...others] = await machine.bucket.write(changes, { guard, timeoutMs });
    expect(others).toEqual([first + 1, first + 2]);
    expect(await machine.bucket.get("session/two")).toEqual({ key: "session/two", value: "two", revision: first + 1 });
  });

  test("a write with an outdated guard is fenced, and writes nothing", async () => {
    const outdated = { key: "life/a", revision: guard.revision - 1 };
    const changes = [{ key: "session/fenced", value: "1" }];
    await expect(machine.bucket.write(changes, { guard: outdated, timeoutMs })).rejects.toMatchObject({
      code: "cluster-fenced",
    });
    expect(await machine.bucket.get("session/fenced")).toBeUndefined();
  });

  test("a write whose records all have conditions is fenced by the guard as well", async () => {
    const outdated = { key: "life/a", revision: guard.revision - 1 };
    const changes = [{ key: "owner/fenced", value: "1", expected: 0 }];
    await expect(machine.bucket.write(changes, { guard: outdated, timeoutMs })).rejects.toMatchObject({
      code: "cluster-fenced",
    });
    expect(await machine.bucket.write(changes, { guard, timeoutMs })).toHaveLength(1);
  });

  test("a write under a guard that was removed is fenced", async () => {
    const [revision = 0] = await machine.bucket.write([{ key: "life/b", value: "b" }], { timeoutMs });
    await machine.bucket.write([{ key: "life/b", value: undefined, expected: revision }], { timeoutMs });
    const removed = { key: "life/b", revision };
    await expect(
      machine.bucket.write([{ key: "session/b", value: "1" }], { guard: removed, timeoutMs }),
    ).rejects.toMatchObject({ code: "cluster-fenced" });
  });

  test("a record with another revision than expected is a conflict, and nothing of the write counts", async () => {
    const [revision = 0] = await machine.bucket.write([{ key: "owner/c", value: "1" }], { guard, timeoutMs });
    await machine.bucket.write([{ key: "owner/c", value: "2", expected: revision }], { guard, timeoutMs });
    const changes = [
      { key: "session/c", value: "1" },
      { key: "owner/c", value: "3", expected: revision },
    ];
    await expect(machine.bucket.write(changes, { guard, timeoutMs })).rejects.toMatchObject({
      code: "cluster-conflict",
    });
    expect(await machine.bucket.get("session/c")).toBeUndefined();
    expect((await machine.bucket.get("owner/c"))?.value).toBe("2");
  });

  test("a record that exists is a conflict for a write that expects none", async () => {
    await machine.bucket.write([{ key: "owner/d", value: "1" }], { guard, timeoutMs });
    await expect(
      machine.bucket.write([{ key: "owner/d", value: "2", expected: 0 }], { guard, timeoutMs }),
    ).rejects.toMatchObject({ code: "cluster-conflict" });
  });

  test("a removed record counts as none", async () => {
    const key = "owner/e";
    await machine.bucket.write([{ key, value: "1" }], { guard, timeoutMs });
    const [removed = 0] = await machine.bucket.write([{ key, value: undefined }], { guard, timeoutMs });
    expect(await machine.bucket.get(key)).toEqual({ key, value: undefined, revision: removed });
    expect(await machine.bucket.write([{ key, value: "2", expected: 0 }], { guard, timeoutMs })).toHaveLength(1);
    expect((await machine.bucket.get(key))?.value).toBe("2");
  });

  test("a record that never existed can be removed", async () => {
    await machine.bucket.write([{ key: "owner/never", value: undefined }], { guard, timeoutMs });
    expect((await machine.bucket.get("owner/never"))?.value).toBeUndefined();
  });

  test("the removal of the guard itself succeeds once", async () => {
    const [revision = 0] = await machine.bucket.write([{ key: "life/f", value: "f" }], { timeoutMs });
    const own = { guard: { key: "life/f", revision }, timeoutMs };
    const changes = [
      { key: "life/f", value: undefined },
      { key: "machine/f", value: undefined },
    ];
    await machine.bucket.write(changes, own);
    await expect(machine.bucket.write(changes, own)).rejects.toMatchObject({ code: "cluster-fenced" });
  });

  test("writes at the same time under one guard all succeed", async () => {
    const writes = Array.from({ length: 60 }, (_none, index) =>
      machine.bucket.write([{ key: `owner/g${index}`, value: "1", expected: 0 }], { guard, timeoutMs }),
    );
    const revisions = (await Promise.all(writes)).flat();
    expect(new Set(revisions).size).toBe(60);
  });

  test("of two writes at the same time that expect the same revision one is a conflict", async () => {
    const other = await startMachine(settingsFor([server]));
    await untilConnected(other.link);
    const outcomes = await Promise.allSettled(
      [machine, other].map(({ bucket }) => bucket.write([{ key: "owner/h", value: "1", expected: 0 }], { timeoutMs })),
    );
    await other.link.close();
    expect(outcomes.map(({ status }) => status).toSorted()).toEqual(["fulfilled", "rejected"]);
    expect(outcomes.find((outcome) => outcome.status === "rejected")?.reason).toMatchObject({
      code: "cluster-conflict",
    });
  });

  test("a record larger than the servers' messages is refused with the name of their setting", async () => {
    const write = machine.bucket.write([{ key: "session/large", value: "x".repeat(256 * 1024) }], { timeoutMs });
    await expect(write).rejects.toMatchObject({
      code: "state-full",
      message: expect.stringContaining("max_payload"),
    });
  });

  test("a write of more records than a batch holds is refused, and not split", async () => {
    const changes = Array.from({ length: 1001 }, (_none, index) => ({ key: `session/n${index}`, value: "1" }));
    await expect(machine.bucket.write(changes, { timeoutMs })).rejects.toMatchObject({ code: "internal" });
    expect(await machine.bucket.get("session/n0")).toBeUndefined();
  });

  test("reading gives what matches, without removed records and without the guard", async () => {
    const changes = [
      { key: "session/r1", value: "session" },
      { key: "player/r1/5", value: "player" },
      { key: "message/r1/a.b c", value: "any key" },
      { key: "player/r1/6", value: undefined },
      { key: "player/r2/5", value: "of another" },
    ];
    const revisions = await machine.bucket.write(changes, { guard, timeoutMs });
    const found = await machine.bucket.read(["*/r1", "*/r1/>"], { atLeast: { key: "life/a", revision: 1 } });
    expect(found).toEqual(changes.slice(0, 3).map((change, index) => ({ ...change, revision: revisions[index] })));
  });

  test("reading waits for the revision that it is to have at least", async () => {
    const [now = 0] = await machine.bucket.write([{ key: "owner/w", value: "1" }], { guard, timeoutMs });
    let isRead = false;
    const reading = machine.bucket
      .read(["session/w"], { atLeast: { key: "owner/w", revision: now + 2 } })
      .finally(() => {
        isRead = true;
      });
    await machine.bucket.write([{ key: "session/w", value: "new" }], { guard, timeoutMs });
    expect(isRead).toBe(false);
    await machine.bucket.write([{ key: "owner/w", value: "2" }], { guard, timeoutMs });
    expect((await reading).map(({ value }) => value)).toEqual(["new"]);
  });

  test("30,000 records of 100 MB are read at once", async () => {
    const value = "x".repeat(3400);
    const keys = Array.from({ length: 30_000 }, (_none, index) => `player/many/${index}`);
    let last = 0;
    for (let start = 0; start < keys.length; start += 500) {
      const changes = keys.slice(start, start + 500).map((key) => ({ key, value }));
      last = (await machine.bucket.write(changes, { guard, timeoutMs })).at(-1) ?? 0;
    }
    const found = await machine.bucket.read(["*/many", "*/many/>"], {
      atLeast: { key: keys.at(-1) ?? "", revision: last },
    });
    expect(found.map(({ key }) => key)).toEqual(keys);
  });

  test("listing gives the keys of what matches, and not of what was removed", async () => {
    const changes = ["list/1", "list/2/a.b c", "other/1"].map((key) => ({ key, value: "1" }));
    await machine.bucket.write([...changes, { key: "list/3", value: undefined }], { guard, timeoutMs });
    const found: string[] = [];
    await machine.bucket.list(["list/>", "list/2/>", "nothing/*"], (key) => found.push(key));
    expect(found).toEqual(["list/1", "list/2/a.b c"]);
    await machine.bucket.list(["nothing/>"], (key) => found.push(key));
    expect(found).toHaveLength(2);
  });

  test("records under another cluster's name are not there", async () => {
    const other = await startMachine(settingsFor([server], { name: "other" }));
    await untilConnected(other.link);
    expect(await other.bucket.get("life/a")).toBeUndefined();
    await other.link.close();
  });

  test("values do not leave the machine in the clear", async () => {
    await machine.bucket.write([{ key: "session/sealed", value: "a secret text" }], { guard, timeoutMs });
    const nats = await server.connect();
    const answer = await nats.request("$JS.API.DIRECT.GET.KV_test.$KV.test.session.sealed");
    await nats.close();
    expect(answer.data.length).toBeGreaterThan("a secret text".length);
    expect(Buffer.from(answer.data).includes("secret")).toBe(false);
  });

  test("a removed record stays removed when the server is killed after the mark of its removal is gone", async () => {
    const own = await NatsServer.start();
    const first = await startMachine(settingsFor([own]));
    await untilConnected(first.link);
    for (const value of ["1", "2", undefined]) await first.bucket.write([{ key: "owner/gone", value }], { timeoutMs });
    await first.bucket.write([{ key: "owner/stays", value: "1" }], { timeoutMs });
    await first.link.close();
    const nats = await own.connect();
    // What the server does with the mark when its time is over.
    await nats.request("$JS.API.STREAM.PURGE.KV_test", JSON.stringify({ filter: "$KV.test.owner.gone" }));
    await nats.close();
    await own.kill();
    await own.restart();
    const second = await startMachine(settingsFor([own]));
    await untilConnected(second.link);
    expect(await second.bucket.get("owner/gone")).toBeUndefined();
    expect((await second.bucket.get("owner/stays"))?.value).toBe("1");
    await second.link.close();
    await own.stop();
  });

  test("without a connection everything is refused at once", async () => {
    const lonely = await startMachine(settingsFor([{ url: "nats://127.0.0.1:1" }]));
    await expect(lonely.bucket.write([{ key: "a", value: "1" }], { timeoutMs })).rejects.toMatchObject({
      code: "cluster-away",
    });
    await expect(lonely.bucket.get("a")).rejects.toMatchObject({ code: "cluster-away" });
    await expect(lonely.bucket.list(["a"], () => undefined)).rejects.toMatchObject({ code: "cluster-away" });
    await expect(lonely.bucket.read(["a"], { atLeast: guard })).rejects.toMatchObject({ code: "cluster-away" });
    await lonely.link.close();
  });
});
