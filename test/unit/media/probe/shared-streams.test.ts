import { describe, expect, it } from "vitest";
import type { PlayableInput } from "../../../../src/bridge/playable-input.ts";
import { NodeError } from "../../../../src/errors.ts";
import type { Demuxer } from "../../../../src/media/demux/demuxer.ts";
import type { Packet } from "../../../../src/media/format/packet.ts";
import { SharedStreams } from "../../../../src/media/probe/shared-streams.ts";
import type { TrackBudget } from "../../../../src/media/quota/track-budget.ts";
import { FakeClock } from "../../../support/fake-clock.ts";
import { NUMBERED_STREAM, numberedPackets, packetNumber } from "../../../support/numbered-packets.ts";
import { ScriptedDemuxer } from "../../../support/scripted-demuxer.ts";
import { createTrackBudget } from "../../../support/track-budgets.ts";

const STATION: PlayableInput = { kind: "http", url: "http://station.example/live", container: undefined };
const PACKET_MS = 20;

/** Has always some packets at once. */
class BurstDemuxer extends ScriptedDemuxer {
  readonly #ready: Packet[] = [];

  override async next(): Promise<Packet | undefined> {
    if (this.#ready.length === 0) {
      for (let count = 0; count < 50; count++) {
        const packet = await super.next();
        if (packet !== undefined) this.#ready.push(packet);
      }
    }
    return this.#ready.shift();
  }

  nextNow(): Packet | undefined {
    return this.#ready.shift();
  }
}

/** A worker whose stations are scripted; `isStation` false: they are files. */
class Worker {
  readonly clock = new FakeClock();
  readonly opened: ScriptedDemuxer[] = [];
  readonly streams: SharedStreams;
  whenOpen: Promise<void> = Promise.resolve();

  constructor({ isStation = true, Scripted = ScriptedDemuxer } = {}) {
    this.streams = new SharedStreams({
      clock: this.clock,
      openTrack: async () => {
        const demuxer = new Scripted({
          stream: NUMBERED_STREAM,
          packets: numberedPackets(5000),
          isSeekable: false,
        });
        this.opened.push(demuxer);
        await this.whenOpen;
        return { demuxer, isStation };
      },
    });
  }

  listen(budget: TrackBudget = createTrackBudget(), signal = new AbortController().signal): Promise<Demuxer> {
    return this.streams.open(STATION, { budget, signal, lengthMs: undefined });
  }
}

async function read(demuxer: Demuxer, count: number): Promise<Packet[]> {
  const packets: Packet[] = [];
  for (let index = 0; index < count; index++) {
    const packet = demuxer.nextNow?.() ?? (await demuxer.next());
    if (packet === undefined) break;
    packets.push(packet);
  }
  return packets;
}

const numbersOf = (packets: readonly Packet[]) => packets.map(({ data }) => packetNumber(data));
const range = (from: number, count: number) => Array.from({ length: count }, (_, index) => from + index);

describe("a station that several players listen to", () => {
  it("it is opened once, and each player hears it from two seconds back, at times that begin with 0", async () => {
    const worker = new Worker();
    const first = await worker.listen();
    expect(numbersOf(await read(first, 500))).toEqual(range(0, 500));
    const second = await worker.listen();
    const packets = await read(second, 200);
    const [from = 0] = numbersOf(packets);
    expect(worker.opened).toHaveLength(1);
    expect(from).toBeGreaterThanOrEqual(499 - 2000 / PACKET_MS);
    expect(from).toBeLessThan(532);
    expect(numbersOf(packets)).toEqual(range(from, 200));
    expect(packets.map(({ timestampMs }) => timestampMs)).toEqual(range(0, 200).map((index) => index * PACKET_MS));
    expect(numbersOf(await read(first, 200))).toEqual(range(500, 200));
    expect(second.station).toEqual({ id: first.station?.id, offsetMs: -from * PACKET_MS });
  });

  it("players with and without other settings listen to one connection", async () => {
    const worker = new Worker();
    for (const isUnchanged of [true, false]) {
      const signal = new AbortController().signal;
      const work = { budget: createTrackBudget(), signal, lengthMs: undefined, isUnchanged };
      expect(numbersOf(await read(await worker.streams.open(STATION, work), 50))).toEqual(range(0, 50));
    }
    expect(worker.opened).toHaveLength(1);
  });

  it("no packet is lost where many are there at once", async () => {
    const worker = new Worker({ Scripted: BurstDemuxer });
    const [first, second] = [await worker.listen(), await worker.listen()];
    for (const player of [first, second]) expect(numbersOf(await read(player, 400))).toEqual(range(0, 400));
  });

  it("players that start together wait for one connection", async () => {
    const worker = new Worker();
    let open = () => {};
    worker.whenOpen = new Promise((resolve) => {
      open = resolve;
    });
    const opening = [worker.listen(), worker.listen(), worker.listen()];
    open();
    const players = await Promise.all(opening);
    expect(worker.opened).toHaveLength(1);
    const parts = await Promise.all(players.map((player) => read(player, 100)));
    for (const packets of parts) expect(numbersOf(packets)).toEqual(range(0, 100));
  });

  it("the connection outlives the player that opened it, and ends with the last one", async () => {
    const worker = new Worker();
    const budget = createTrackBudget();
    const first = await worker.listen(budget);
    budget.memory.take(1000, "the window of the source");
    await read(first, 10);
    const second = await worker.listen();
    first.close();
    expect(first.keepsBudget?.()).toBe(true);
    await expect(first.next()).rejects.toThrow("closed");
    expect(numbersOf(await read(second, 300))).toEqual(range(0, 300));
    second.close();
    expect(second.keepsBudget?.()).toBe(false);
    expect(worker.opened[0]!.isClosed).toBe(true);
    expect(budget.memory.usedBytes).toBe(0);
    await worker.listen();
    expect(worker.opened).toHaveLength(2);
  });

  it("the only player of a station leaves nothing to others", async () => {
    const worker = new Worker();
    const only = await worker.listen();
    only.close();
    expect([only.keepsBudget?.(), worker.opened[0]!.isClosed]).toEqual([false, true]);
  });

  it("a player that was paused for more than ten seconds goes on there, at times without a gap", async () => {
    const worker = new Worker();
    const [first, paused] = [await worker.listen(), await worker.listen()];
    await read(paused, 10);
    await read(first, 1000);
    const packets = await read(paused, 5);
    const [from = 0] = numbersOf(packets);
    expect(from).toBeGreaterThanOrEqual(1000 - 10_000 / PACKET_MS - 1);
    expect(from).toBeLessThan(560);
    expect(packets.map(({ timestampMs }) => timestampMs)).toEqual(range(10, 5).map((index) => index * PACKET_MS));
  });

  it("its end and its errors reach everybody, behind the packets they have yet to read, and it is opened again", async () => {
    const worker = new Worker();
    const [first, second] = [await worker.listen(), await worker.listen()];
    worker.opened[0]!.failAt(50, new NodeError("input-interrupted", "the station is gone"));
    expect(await read(first, 50)).toHaveLength(50);
    await expect(first.next()).rejects.toThrow("the station is gone");
    expect(await read(second, 50)).toHaveLength(50);
    await expect(second.next()).rejects.toThrow("the station is gone");
    await worker.listen();
    expect(worker.opened).toHaveLength(2);
  });

  it("nobody joins a station that has been silent for three seconds", async () => {
    const worker = new Worker();
    await read(await worker.listen(), 10);
    worker.clock.advance(2_900);
    await worker.listen();
    expect(worker.opened).toHaveLength(1);
    worker.clock.advance(200);
    const [one, other] = await Promise.all([worker.listen(), worker.listen()]);
    expect(worker.opened).toHaveLength(2);
    await Promise.all([read(one, 1), read(other, 1)]);
    expect(one.station?.id).toBe(other.station?.id);
  });

  it("a player that stops waiting for the connection of another is not held up", async () => {
    const worker = new Worker();
    worker.whenOpen = new Promise(() => undefined);
    void worker.listen();
    const abort = new AbortController();
    const waiting = worker.listen(createTrackBudget(), abort.signal);
    abort.abort(new Error("stopped"));
    await expect(waiting).rejects.toThrow("stopped");
  });

  it("nothing is kept of what could not be opened, is no station, or is over", async () => {
    const worker = new Worker();
    worker.whenOpen = Promise.reject(new Error("refused"));
    await expect(worker.listen()).rejects.toThrow("refused");
    expect(worker.streams.size).toBe(0);
    worker.whenOpen = Promise.resolve();
    const player = await worker.listen();
    expect(worker.streams.size).toBe(1);
    player.close();
    expect(worker.streams.size).toBe(0);
    const files = new Worker({ isStation: false });
    await files.listen();
    expect(files.streams.size).toBe(0);
  });

  it("a track that is no station is opened for each player, and passed on as it is", async () => {
    const worker = new Worker({ isStation: false });
    const players = await Promise.all([worker.listen(), worker.listen(), worker.listen()]);
    expect(players).toEqual(worker.opened);
    expect(new Set(players).size).toBe(3);
  });
});
