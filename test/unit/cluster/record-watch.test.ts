import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import type { BucketEntry } from "../../../src/cluster/bucket.ts";
import {
  type ClusterMachine,
  settingsFor,
  startMachine,
  untilConnected,
  untilStatus,
} from "../../support/cluster-machine.ts";
import { CuttableLink } from "../../support/cuttable-link.ts";
import { HeldClock } from "../../support/held-clock.ts";
import { isNatsMissing, NatsServer, natsTitle } from "../../support/nats-server.ts";

describe.skipIf(isNatsMissing)(natsTitle("a watch of the bucket"), () => {
  let server: NatsServer;
  let writer: ClusterMachine;
  const closing: (() => unknown)[] = [];
  const timeoutMs = 10_000;

  beforeAll(async () => {
    server = await NatsServer.start();
    writer = await startMachine(settingsFor([server]));
    await untilConnected(writer.link);
  });

  afterEach(async () => {
    for (const close of closing.splice(0)) await close();
  });

  afterAll(async () => {
    await writer.link.close();
    await server.stop();
  });

  function watched(machine: ClusterMachine, patterns: readonly string[]) {
    const entries: BucketEntry[] = [];
    const values = new Map<string, string>();
    let caughtUpCount = 0;
    const stop = machine.bucket.watch({
      patterns,
      onEntry: (entry) => {
        entries.push(entry);
        if (entry.value === undefined) values.delete(entry.key);
        else values.set(entry.key, entry.value);
      },
      onCaughtUp: () => {
        caughtUpCount++;
      },
    });
    closing.unshift(stop);
    return { entries, values, stop, caughtUpCount: () => caughtUpCount };
  }

  async function put(key: string, value: string | undefined): Promise<number> {
    const [revision = 0] = await writer.bucket.write([{ key, value }], { timeoutMs });
    return revision;
  }

  test("gives what there is, then each change, in the order of revisions", async () => {
    await put("machine/a1", "old");
    const watch = watched(writer, ["machine/*"]);
    await expect.poll(watch.caughtUpCount).toBe(1);
    expect(watch.values).toEqual(new Map([["machine/a1", "old"]]));
    await put("machine/a2", "new");
    await put("owner/a", "not watched");
    await put("machine/a1", undefined);
    await expect.poll(() => watch.entries.length).toBe(3);
    expect(watch.entries.slice(1).map(({ key, value }) => [key, value])).toEqual([
      ["machine/a2", "new"],
      ["machine/a1", undefined],
    ]);
    const revisions = watch.entries.map(({ revision }) => revision);
    expect(revisions).toEqual(revisions.toSorted((a, b) => a - b));
    await put("machine/a2", undefined);
  });

  test("has caught up at once when nothing matches", async () => {
    const watch = watched(writer, ["nothing/>"]);
    await expect.poll(watch.caughtUpCount).toBe(1);
    expect(watch.entries).toEqual([]);
  });

  test("gives nothing after it was stopped", async () => {
    const watch = watched(writer, ["machine/*"]);
    await expect.poll(watch.caughtUpCount).toBe(1);
    const proof = watched(writer, ["machine/*"]);
    watch.stop();
    await put("machine/b", "1");
    await expect.poll(() => proof.values.has("machine/b")).toBe(true);
    expect(watch.values.has("machine/b")).toBe(false);
    await put("machine/b", undefined);
  });

  test("goes on after its connection was lost, with removals that it missed", async () => {
    const proxy = await CuttableLink.open(server.port);
    closing.push(() => proxy.close());
    const clock = new HeldClock();
    const watcher = await startMachine(settingsFor([{ url: `nats://127.0.0.1:${proxy.port}` }]), clock);
    closing.unshift(() => watcher.link.close());
    for (const name of ["kept", "marked", "gone"]) await put(`lost/${name}`, name);
    const watch = watched(watcher, ["lost/*"]);
    await expect.poll(watch.caughtUpCount).toBe(1);

    clock.hold();
    proxy.cut();
    await untilStatus(watcher.link, ({ kind }) => kind === "disconnected");
    await put("lost/marked", undefined);
    await put("lost/gone", undefined);
    await put("lost/later", "later");
    // As if the mark of its removal had ended meanwhile.
    const nats = await server.connect();
    await nats.request("$JS.API.STREAM.PURGE.KV_test", JSON.stringify({ filter: "$KV.test.lost.gone" }));
    await nats.close();
    expect(watch.values.size).toBe(3);
    clock.release();

    await expect.poll(watch.caughtUpCount).toBe(2);
    expect([...watch.values.keys()].toSorted()).toEqual(["lost/kept", "lost/later"]);
    const removed = watch.entries.filter(({ value }) => value === undefined).map(({ key }) => key);
    expect(removed.toSorted()).toEqual(["lost/gone", "lost/marked"]);
  });

  test("goes on after the server was restarted", async () => {
    await put("machine/c", "1");
    const watch = watched(writer, ["machine/*"]);
    await expect.poll(watch.caughtUpCount).toBe(1);
    await server.kill();
    await untilStatus(writer.link, ({ kind }) => kind === "disconnected");
    await server.restart();
    await expect.poll(watch.caughtUpCount).toBe(2);
    await put("machine/c", "2");
    await expect.poll(() => watch.values.get("machine/c")).toBe("2");
    await put("machine/c", undefined);
  });

  test("restarts with a bucket that was deleted, and everything in the old one is gone", async () => {
    await put("machine/d", "1");
    const watch = watched(writer, ["machine/*"]);
    await expect.poll(watch.caughtUpCount).toBe(1);
    const nats = await server.connect();
    await nats.request("$JS.API.STREAM.DELETE.KV_test");
    await nats.close();
    await put("machine/e", "1");
    await expect.poll(() => [...watch.values.keys()]).toEqual(["machine/e"]);
  });
});
