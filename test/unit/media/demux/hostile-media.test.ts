import { readdirSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { seededRandom } from "../../../../lab/seeded-random.ts";
import { NodeError } from "../../../../src/errors.ts";
import { openDemuxer } from "../../../../src/media/probe/open-demuxer.ts";
import { readMediaFixture } from "../../../support/media-fixture.ts";
import { MemoryByteSource } from "../../../support/memory-byte-source.ts";
import { createTrackBudget } from "../../../support/track-budgets.ts";

const NAMES = readdirSync(new URL("../../../fixtures/demux", import.meta.url));
/** More with `FUZZ_SEED=… FUZZ_ROUNDS=…` in the environment. */
const { FUZZ_SEED, FUZZ_ROUNDS } = process.env;
const SEED = Number(FUZZ_SEED ?? 20261121);
const ROUNDS = Number(FUZZ_ROUNDS ?? 12);
/** No small file holds more; a reader that returns more makes them up. */
const PACKET_COUNT_MAX = 50_000;

type Damage = (bytes: Uint8Array, random: () => number) => Uint8Array;

function pick(random: () => number, count: number): number {
  return Math.floor(random() * count);
}

const DAMAGES: Readonly<Record<string, Damage>> = {
  "cut off": (bytes, random) => bytes.slice(0, pick(random, bytes.length)),
  "with bits flipped": (bytes, random) => {
    const damaged = bytes.slice();
    const count = 1 + pick(random, 60);
    for (let index = 0; index < count; index++) damaged[pick(random, damaged.length)]! ^= 1 << pick(random, 8);
    return damaged;
  },
  "with a broken head": (bytes, random) => {
    const damaged = bytes.slice();
    const count = 1 + pick(random, 12);
    for (let index = 0; index < count; index++)
      damaged[pick(random, Math.min(1500, damaged.length))] = pick(random, 256);
    return damaged;
  },
  "with lengths blown up": (bytes, random) => {
    const damaged = bytes.slice();
    const at = pick(random, Math.min(3000, damaged.length - 8));
    damaged.fill(random() < 0.5 ? 0xff : 0x7f, at, at + 1 + pick(random, 8));
    return damaged;
  },
  "with a piece missing": (bytes, random) => {
    const start = pick(random, bytes.length);
    const end = Math.min(bytes.length, start + pick(random, 5000));
    return Buffer.concat([bytes.subarray(0, start), bytes.subarray(end)]);
  },
};

/** Opens, plays, seeks and plays on; whatever happens must be a packet, the end, or a NodeError. */
async function exercise(bytes: Uint8Array, isRandomAccess: boolean, random: () => number): Promise<void> {
  const source = new MemoryByteSource(bytes, { isRandomAccess, isSizeKnown: isRandomAccess });
  try {
    const demuxer = await openDemuxer(source, {}, createTrackBudget());
    for (let count = 0; count < 40; count++) if ((await demuxer.next()) === undefined) break;
    await demuxer.seek(random() * 3000);
    let count = 0;
    for (;;) {
      const packet = await demuxer.next();
      if (packet === undefined) break;
      if (!Number.isFinite(packet.timestampMs) || !(packet.durationMs >= 0) || !(packet.trimEndSamples >= 0)) {
        throw new Error(`impossible packet: ${packet.timestampMs} ${packet.durationMs} ${packet.trimEndSamples}`);
      }
      count += 1;
      if (count > PACKET_COUNT_MAX) throw new Error("packets without end");
    }
  } catch (error) {
    if (!(error instanceof NodeError) || error.cause !== undefined) throw error;
  }
}

describe.each(NAMES)("%s", (name) => {
  it.each(Object.entries(DAMAGES))("%s ends quickly in packets, the end or a clear error", async (kind, damage) => {
    const bytes = readMediaFixture(name);
    for (let round = 0; round < ROUNDS; round++) {
      const seed = SEED + round;
      const random = seededRandom(seed);
      const damaged = damage(bytes, random);
      const usedBefore = process.cpuUsage();
      await exercise(damaged, round % 2 === 0, random).catch((cause: unknown) => {
        throw new Error(`${name} ${kind}, seed ${seed}`, { cause });
      });
      // Generous: a hang is minutes, a slow machine tenths of a second. CPU time of this process only: others use
      // theirs.
      const { user } = process.cpuUsage(usedBefore);
      expect(user / 1000, `${name} ${kind}, seed ${seed}`).toBeLessThan(3000);
    }
  });
});
