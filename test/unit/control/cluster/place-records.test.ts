import { beforeEach, describe, expect, test } from "vitest";
import type { BucketGuard } from "../../../../src/cluster/bucket.ts";
import { PlaceRecords, readPlaces } from "../../../../src/control/cluster/place-records.ts";
import { FakeClock } from "../../../support/fake-clock.ts";
import { type MemoryBucket, MemoryNats } from "../../../support/memory-bucket.ts";

describe("what the records of a session say of its players", () => {
  test("is the machine and the region of each guild, and what was not taken of each machine", () => {
    const player = (endpoint: string): string => JSON.stringify({ volume: 1, voice: { token: "t", endpoint } });
    const relay = (text: string): string => JSON.stringify({ topic: "x", text });
    const places = readPlaces([
      { key: "kept/s/3/6162", value: "1" },
      { key: "message/s/000000000001", value: relay("no") },
      { key: "place/s/1", value: JSON.stringify({ machine: "a" }) },
      { key: "place/s/2", value: JSON.stringify({ machine: "b" }) },
      { key: "player/s/1", value: player("rotterdam9032.discord.media:443") },
      { key: "player/s/4", value: player("") },
      { key: "relay/s/a/000000000002", value: relay("2") },
      { key: "relay/s/a/000000000010", value: relay("10") },
      { key: "relay/s/b/000000000001", value: relay("1") },
      { key: "session/s", value: "{}" },
      { key: "track/s/1", value: "{}" },
    ]);

    expect([...places.machines]).toEqual([
      ["1", "a"],
      ["2", "b"],
    ]);
    expect(Object.fromEntries(places.regions)).toEqual({
      1: "rotterdam",
      2: undefined,
      3: undefined,
      4: undefined,
    });
    expect([...places.relayed].map(([id, messages]) => [id, messages.map(({ number }) => number)])).toEqual([
      ["a", [2, 10]],
      ["b", [1]],
    ]);
    expect(places.relayed.get("b")).toEqual([
      { key: "relay/s/b/000000000001", machineId: "b", number: 1, topic: "x", text: "1" },
    ]);
  });

  test("leaves out what no such record can be", () => {
    const places = readPlaces([
      { key: "place/s/1", value: "{" },
      { key: "place/s/2", value: JSON.stringify({ machine: "" }) },
      { key: "player/s/3", value: "null" },
      { key: "relay/s/a/x", value: JSON.stringify({ topic: "x", text: "y" }) },
      { key: "relay/s/a/000000000001", value: JSON.stringify({ topic: "x" }) },
    ]);

    expect([...places.machines]).toEqual([]);
    expect([...places.regions.keys()]).toEqual(["1", "2", "3"]);
    expect([...places.relayed]).toEqual([]);
  });
});

describe("writing places", () => {
  const guard: BucketGuard = { key: "life/self", revision: 1 };
  let nats: MemoryNats;
  let bucket: MemoryBucket;
  let fenced: BucketGuard[];
  let held: BucketGuard | undefined;
  let records: PlaceRecords;

  beforeEach(async () => {
    nats = new MemoryNats(new FakeClock());
    bucket = nats.connect();
    fenced = [];
    held = guard;
    const membership = {
      get guard() {
        return held;
      },
      onFenced: (lost: BucketGuard) => fenced.push(lost),
    };
    records = new PlaceRecords({ bucket, membership });
    await bucket.write([{ key: guard.key, value: "{}" }], { timeoutMs: 1000 });
  });

  function machineOf(guildId: string): string | undefined {
    return nats.value(`place/s/${guildId}`);
  }

  test("gives the revision of each, also where they are too many for one write", async () => {
    const places = Array.from({ length: 250 }, (_, index) => ({
      guildId: String(index),
      machineId: "a",
      revision: 0,
    }));
    bucket.writeCount = 0;

    const revisions = await records.write("s", places);

    expect(bucket.writeCount).toBe(3);
    expect(revisions).toEqual(places.map(({ guildId }) => nats.records.get(`place/s/${guildId}`)?.revision));
    expect(machineOf("249")).toBe(JSON.stringify({ machine: "a" }));
  });

  test("finds a revision that is not known: of a record, of one that was removed, and of none", async () => {
    const [revision] = await records.write("s", [{ guildId: "1", machineId: "a", revision: 0 }]);
    await records.write("s", [{ guildId: "1", machineId: "b", revision: undefined }]);
    expect(machineOf("1")).toBe(JSON.stringify({ machine: "b" }));
    expect(nats.records.get("place/s/1")?.revision).toBeGreaterThan(revision ?? 0);

    await records.write("s", [{ guildId: "1", machineId: undefined, revision: undefined }]);
    expect(machineOf("1")).toBeUndefined();
    await records.write("s", [{ guildId: "1", machineId: "c", revision: undefined }]);
    await records.write("s", [{ guildId: "2", machineId: "c", revision: undefined }]);
    expect([machineOf("1"), machineOf("2")]).toEqual([
      JSON.stringify({ machine: "c" }),
      JSON.stringify({ machine: "c" }),
    ]);
  });

  test("does not overwrite what is another record than was known", async () => {
    await records.write("s", [{ guildId: "1", machineId: "a", revision: 0 }]);

    const late = records.write("s", [{ guildId: "1", machineId: "b", revision: 0 }]);

    await expect(late).rejects.toMatchObject({ code: "cluster-away" });
    expect(machineOf("1")).toBe(JSON.stringify({ machine: "a" }));
  });

  test("fails without a lease, and ends the lease of a machine that was taken for dead", async () => {
    const place = { guildId: "1", machineId: "a", revision: 0 };
    held = undefined;
    await expect(records.write("s", [place])).rejects.toMatchObject({ code: "cluster-away" });
    held = { ...guard, revision: 99 };
    await expect(records.write("s", [place])).rejects.toMatchObject({ code: "cluster-away" });

    expect(fenced).toEqual([held]);
    expect(machineOf("1")).toBeUndefined();
  });

  test("fails where there is no room, as where NATS is away", async () => {
    nats.isFull = true;
    const place = { guildId: "1", machineId: "a", revision: 0 };
    await expect(records.write("s", [place])).rejects.toMatchObject({ code: "cluster-away" });
    nats.goAway();
    await expect(records.write("s", [place])).rejects.toMatchObject({ code: "cluster-away" });
  });
});
