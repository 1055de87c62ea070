import { describe, expect, it } from "vitest";
import type { PlayableInput } from "../../../../src/bridge/playable-input.ts";
import { NodeError } from "../../../../src/errors.ts";
import type { Demuxer } from "../../../../src/media/demux/demuxer.ts";
import type { Packet } from "../../../../src/media/format/packet.ts";
import { SharedStreams } from "../../../../src/media/probe/shared-streams.ts";
import type { OpeningWork } from "../../../../src/media/probe/track-opener.ts";
import type { TrackBudget } from "../../../../src/media/quota/track-budget.ts";
import { FakeClock } from "../../../support/fake-clock.ts";
import { NUMBERED_STREAM, numberedPackets, packetNumber } from "../../../support/numbered-packets.ts";
import { ScriptedDemuxer } from "../../../support/scripted-demuxer.ts";
import { createTrackBudget } from "../../../support/track-budgets.ts";

const FILE: PlayableInput = { kind: "http", url: "http://media.example/song.webm", container: undefined };
const PACKET_MS = 20;
/** Of each opened file. */
const SOURCE_BYTES = 1000;

/** A worker whose files are scripted. */
class Worker {
  readonly clock = new FakeClock();
  readonly opened: ScriptedDemuxer[] = [];
  readonly works: OpeningWork[] = [];
  readonly streams: SharedStreams;
  whenOpen: Promise<void> = Promise.resolve();

  constructor({ isSeekable = true, packets = numberedPackets(3000) } = {}) {
    this.streams = new SharedStreams({
      clock: this.clock,
      openTrack: async (_input, work) => {
        // As each opening describes the stream once more.
        const demuxer = new ScriptedDemuxer({ stream: { ...NUMBERED_STREAM }, packets, isSeekable });
        this.opened.push(demuxer);
        this.works.push(work);
        work.budget.memory.take(SOURCE_BYTES, "the window of the source");
        await this.whenOpen;
        return { demuxer, isStation: false };
      },
    });
  }

  play(budget: TrackBudget = createTrackBudget(), work: Partial<OpeningWork> = {}): Promise<Demuxer> {
    const signal = new AbortController().signal;
    return this.streams.open(FILE, { budget, signal, lengthMs: 60_000, isWhole: true, isUnchanged: true, ...work });
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

describe("a file that several players begin within five seconds of each other", () => {
  it("it is opened once, and each player reads all of it", async () => {
    const worker = new Worker();
    const first = await worker.play();
    await read(first, 240);
    worker.clock.advance(4_900);
    const second = await worker.play();
    for (let from = 0; from < 3000; from += 240) {
      expect(numbersOf(await read(second, 240))).toEqual(range(from, Math.min(240, 3000 - from)));
      expect(numbersOf(await read(first, 240))).toEqual(range(from + 240, Math.max(0, Math.min(240, 2760 - from))));
    }
    expect(await second.next()).toBeUndefined();
    expect(worker.opened).toHaveLength(1);
  });

  it("players that start together wait for one opening, and one that stops waiting is not held up", async () => {
    const worker = new Worker();
    let open = () => {};
    worker.whenOpen = new Promise((resolve) => {
      open = resolve;
    });
    const abort = new AbortController();
    const opening = [worker.play(), worker.play(), worker.play()];
    const stopped = worker.play(createTrackBudget(), { signal: abort.signal });
    abort.abort(new Error("stopped"));
    await expect(stopped).rejects.toThrow("stopped");
    open();
    const players = await Promise.all(opening);
    const parts = await Promise.all(players.map((player) => read(player, 100)));
    for (const packets of parts) expect(numbersOf(packets)).toEqual(range(0, 100));
    expect(worker.opened).toHaveLength(1);
  });

  it("nobody joins later, and the only player then reads the file itself", async () => {
    const worker = new Worker();
    const only = await worker.play();
    await read(only, 10);
    worker.clock.advance(5_000);
    expect(numbersOf(await read(only, 100))).toEqual(range(10, 100));
    expect(worker.streams.size).toBe(0);
    await worker.play();
    expect(worker.opened).toHaveLength(2);
    only.close();
    expect(worker.opened.map(({ isClosed }) => isClosed)).toEqual([true, false]);
  });

  it("the one connection and its memory end with the last player, not with the one that opened it", async () => {
    const worker = new Worker();
    const [budget, other] = [createTrackBudget(), createTrackBudget()];
    const [first, second] = [await worker.play(budget), await worker.play(other)];
    await read(first, 10);
    first.close();
    await expect(first.next()).rejects.toThrow("closed");
    expect(worker.opened[0]!.isClosed).toBe(false);
    expect(numbersOf(await read(second, 500))).toEqual(range(0, 500));
    second.close();
    expect(worker.opened[0]!.isClosed).toBe(true);
    const [{ budget: ofFile }] = worker.works as [OpeningWork];
    expect([ofFile.memory.usedBytes, budget.memory.usedBytes, other.memory.usedBytes]).toEqual([0, 0, 0]);
  });

  it("the memory of a file with one player is released with it", async () => {
    const worker = new Worker();
    const only = await worker.play();
    worker.clock.advance(5_000);
    await read(only, 100);
    const [{ budget: ofFile }] = worker.works as [OpeningWork];
    expect(ofFile.memory.usedBytes).toBe(SOURCE_BYTES);
    only.close();
    expect(ofFile.memory.usedBytes).toBe(0);
  });

  it.each([
    ["the player that opened it", 0],
    ["one that joined", 1],
  ])("a seek of one reaches no other: %s", async (_name, index) => {
    const worker = new Worker();
    const players = [await worker.play(), await worker.play()];
    await Promise.all(players.map((player) => read(player, 100)));
    const [seeking, staying] = index === 0 ? players : [...players].reverse();
    await seeking!.seek(30_000);
    const [from = 0] = numbersOf(await read(seeking!, 200));
    expect(from).toBe((30_000 - 80) / PACKET_MS);
    expect(numbersOf(await read(staying!, 500))).toEqual(range(100, 500));
    expect(worker.works.map(({ isWhole }) => isWhole)).toEqual([true, false]);
    seeking!.close();
    expect(worker.opened.map(({ isClosed }) => isClosed)).toEqual([false, true]);
    staying!.close();
    expect(worker.opened.map(({ isClosed }) => isClosed)).toEqual([true, true]);
  });

  it("nothing is read behind the end, which a seek goes back from", async () => {
    const worker = new Worker();
    const [first, second] = [await worker.play(), await worker.play()];
    worker.opened[0]!.failAt(3001, new Error("read behind the end"));
    expect(await read(first, 3001)).toHaveLength(3000);
    second.close();
    worker.clock.advance(5_000);
    expect(await first.next()).toBeUndefined();
    await first.seek(59_000);
    expect(numbersOf(await read(first, 10))).toEqual(range((59_000 - 80) / PACKET_MS, 10));
    expect(worker.opened).toHaveLength(1);
  });

  it("a seek of the only player needs no second opening", async () => {
    const worker = new Worker();
    const only = await worker.play();
    await read(only, 10);
    await only.seek(30_000);
    expect(numbersOf(await read(only, 100))).toEqual(range((30_000 - 80) / PACKET_MS, 100));
    expect(worker.opened.map(({ seeks }) => seeks)).toEqual([[30_000]]);
    await worker.play();
    expect(worker.opened).toHaveLength(2);
  });

  it("a player that was paused for more than ten seconds goes on where it was, with the same stream", async () => {
    const worker = new Worker();
    const [first, paused] = [await worker.play(), await worker.play()];
    await read(paused, 150);
    const { stream } = paused;
    worker.clock.advance(20_000);
    await read(first, 1000);
    expect(numbersOf(await read(paused, 500))).toEqual(range(150, 500));
    expect(paused.stream).toBe(stream);
    expect(worker.opened).toHaveLength(2);
    expect(numbersOf(await read(first, 500))).toEqual(range(1000, 500));
  });

  it("packets of any size are read by a player that is not behind, from one opening", async () => {
    const packets = numberedPackets(20).map((packet) => {
      const data = new Uint8Array(1_200_000);
      data.set(packet.data);
      return { ...packet, data };
    });
    const worker = new Worker({ packets });
    const only = await worker.play();
    expect(numbersOf(await read(only, 21))).toEqual(range(0, 20));
    expect(worker.opened).toHaveLength(1);
  });

  it("nothing is recorded of a track that was not read from one file", async () => {
    const worker = new Worker();
    const [first, second] = [await worker.play(), await worker.play()];
    let isGivenUp = false;
    const file: Demuxer = worker.opened[0]!;
    file.recorder = {
      isEmpty: true,
      add: () => undefined,
      rewind: () => undefined,
      finish: () => undefined,
      giveUp: () => {
        isGivenUp = true;
      },
    };
    expect([first.recorder, second.recorder]).toEqual([file.recorder, undefined]);
    // It plays faster, as with a filter.
    await read(second, 1000);
    expect(isGivenUp).toBe(false);
    worker.clock.advance(20_000);
    await read(second, 1000);
    await read(first, 10);
    expect([first.recorder, isGivenUp]).toEqual([undefined, true]);
  });

  it("an error ends the player that opened it; the others open the file themselves and go on", async () => {
    const worker = new Worker();
    const [first, second] = [await worker.play(), await worker.play()];
    worker.opened[0]!.failAt(50, new NodeError("input-interrupted", "the connection is lost"));
    expect(await read(first, 50)).toHaveLength(50);
    await expect(first.next()).rejects.toThrow("the connection is lost");
    first.close();
    expect(numbersOf(await read(second, 200))).toEqual(range(0, 200));
    expect(worker.opened.map(({ isClosed }) => isClosed)).toEqual([true, false]);
  });

  it("a player that closes while it waits for packets is not held up", async () => {
    const worker = new Worker();
    const [first, second] = [await worker.play(), await worker.play()];
    worker.opened[0]!.holdAt(5, new Promise(() => undefined));
    await Promise.all([read(first, 5), read(second, 5)]);
    const waiting = [first.next(), second.next()];
    second.close();
    await expect(waiting[1]).rejects.toThrow("closed");
    first.close();
    await expect(waiting[0]).rejects.toThrow("closed");
    expect(worker.opened[0]!.isClosed).toBe(true);
  });

  it("what could not be opened is opened by each for itself, and leaves nothing", async () => {
    const worker = new Worker();
    worker.whenOpen = Promise.reject(new Error("refused"));
    const [first, second] = await Promise.allSettled([worker.play(), worker.play()]);
    expect([first.status, second.status]).toEqual(["rejected", "rejected"]);
    expect(worker.opened).toHaveLength(2);
    expect(worker.streams.size).toBe(0);
    expect(worker.works.map(({ budget }) => budget.memory.usedBytes)).toEqual([0, 0]);
  });

  it.each<[string, Partial<OpeningWork>]>([
    ["begins elsewhere", { isWhole: false }],
    ["begins with other settings", { isUnchanged: false }],
  ])("a player is not joined to others if it %s", async (_name, work) => {
    const worker = new Worker();
    const players = [await worker.play(), await worker.play(createTrackBudget(), work)];
    expect(worker.opened).toHaveLength(2);
    for (const player of players) expect(numbersOf(await read(player, 100))).toEqual(range(0, 100));
  });

  it("no client reads with another", async () => {
    const worker = new Worker();
    for (const address of ["address 1", "address 2"]) await worker.play(createTrackBudget({ owner: [address] }));
    expect(worker.opened).toHaveLength(2);
  });

  it("a file that cannot seek is opened by each player: none could go back to where it was", async () => {
    const worker = new Worker({ isSeekable: false });
    const players = [await worker.play(), await worker.play()];
    for (const player of players) expect(numbersOf(await read(player, 100))).toEqual(range(0, 100));
    expect(worker.opened).toHaveLength(2);
  });
});
