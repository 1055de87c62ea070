// Which streams of one bot overlap, with the times given by the test.

import { expect, test } from "vitest";
import { StreamOverlaps } from "../../../../lab/discord/stream-overlaps.ts";

const BOT = { guildId: "1", userId: "2" };
const OLD = { address: "127.0.0.1", port: 1000 };
const NEW = { address: "127.0.0.1", port: 2000 };
const SENDERS = { sender: NEW, olderSender: OLD };

test("a stream that ends before the next one begins overlaps with nothing", () => {
  const overlaps = new StreamOverlaps();
  for (const atMs of [0, 20, 40]) overlaps.add(BOT, 7, OLD, atMs);
  for (const atMs of [60, 80]) overlaps.add(BOT, 8, NEW, atMs);
  expect(overlaps.list).toEqual([]);
});

test("an older stream that goes on beside a newer one is counted from the newer one's first packet on", () => {
  const overlaps = new StreamOverlaps();
  overlaps.add(BOT, 7, OLD, 0);
  overlaps.add(BOT, 8, NEW, 30);
  for (const atMs of [40, 60]) overlaps.add(BOT, 7, OLD, atMs);
  expect(overlaps.list).toEqual([{ ...BOT, ...SENDERS, fromMs: 30, toMs: 60, packets: 2 }]);
  overlaps.clear();
  expect(overlaps.list).toEqual([]);
  overlaps.add(BOT, 7, OLD, 80);
  expect(overlaps.list).toEqual([{ ...BOT, ...SENDERS, fromMs: 30, toMs: 80, packets: 1 }]);
});

test("two sockets with one SSRC are two streams", () => {
  const overlaps = new StreamOverlaps();
  overlaps.add(BOT, 7, OLD, 0);
  overlaps.add(BOT, 7, NEW, 20);
  overlaps.add(BOT, 7, OLD, 40);
  expect(overlaps.list).toEqual([{ ...BOT, ...SENDERS, fromMs: 20, toMs: 40, packets: 1 }]);
});

test("streams of other guilds and other bots do not overlap", () => {
  const overlaps = new StreamOverlaps();
  overlaps.add(BOT, 7, OLD, 0);
  overlaps.add({ ...BOT, guildId: "9" }, 8, NEW, 20);
  overlaps.add({ ...BOT, userId: "9" }, 9, NEW, 20);
  overlaps.add(BOT, 7, OLD, 40);
  expect(overlaps.list).toEqual([]);
});

test("streams are listed with their senders in the order in which they began", () => {
  const overlaps = new StreamOverlaps();
  overlaps.add(BOT, 7, OLD, 10);
  overlaps.add({ ...BOT, guildId: "9" }, 8, NEW, 20);
  overlaps.add(BOT, 7, OLD, 30);
  expect(overlaps.begun).toEqual([
    expect.objectContaining({ ...BOT, sender: OLD, firstMs: 10 }),
    expect.objectContaining({ guildId: "9", sender: NEW, firstMs: 20 }),
  ]);
});
