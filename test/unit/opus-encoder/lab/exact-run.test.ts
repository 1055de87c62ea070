import { expect, test } from "vitest";
import {
  type EncoderKind,
  encoderKindOf,
  type JudgedEncoder,
  type JudgedOptions,
} from "../../../../opus-encoder/lab/encoders.ts";
import { ExactDecoder } from "../../../../opus-encoder/lab/exact-decoder.ts";
import { type BadFrame, type ExactPlan, type ExactRun, runExactly } from "../../../../opus-encoder/lab/exact-run.ts";
import { HARD_SIGNALS } from "../../../../opus-encoder/lab/hard-signals.ts";
import { chordSong } from "../../../support/judged-songs.ts";

const MUSIC = [chordSong(2)];
const LIBOPUS = encoderKindOf("libopus:0");

async function run(plan: Omit<ExactPlan, "onBad">): Promise<ExactRun & { readonly bad: readonly BadFrame[] }> {
  const bad: BadFrame[] = [];
  return { ...(await runExactly({ ...plan, onBad: (frame) => bad.push(frame) })), bad };
}

/** Counts of the requests to encoders. */
class Asked {
  readonly options: JudgedOptions[] = [];
  resets = 0;
  independentPackets = 0;
  givenHeads = 0;
}

/** libopus, except that each packet and its final range, from a separate decoder, may be falsified. */
function falsified(
  change: (
    packet: Uint8Array,
    finalRange: number,
    frame: number,
  ) => Pick<JudgedEncoder, "finalRange"> & { packet: Uint8Array },
  asked = new Asked(),
): EncoderKind {
  let frame = 0;
  return {
    name: "falsified",
    create: async (options) => {
      asked.options.push(options);
      const [encoder, decoder] = [await LIBOPUS.create(options), await ExactDecoder.create(2)];
      let finalRange = 0;
      return {
        encode: (left, right, head) => {
          if (head !== undefined) asked.givenHeads += 1;
          const packet = encoder.encode(left, right);
          decoder.decode(packet);
          const changed = change(packet, decoder.finalRange, frame++);
          finalRange = changed.finalRange ?? 0;
          return changed.packet;
        },
        makeNextIndependent: () => {
          asked.independentPackets += 1;
          encoder.makeNextIndependent();
        },
        reset: () => {
          asked.resets += 1;
          encoder.reset();
        },
        close: () => {
          encoder.close();
          decoder.close();
        },
        get finalRange() {
          return finalRange;
        },
      };
    },
  };
}

test("libopus encodes every hard signal without a fault", async () => {
  const { frames, rangesCompared, framesByName, bad } = await run({ kind: LIBOPUS, frameCount: 3000, seed: 4 });
  expect(bad).toEqual([]);
  expect([frames, rangesCompared]).toEqual([3000, 0]);
  expect(Object.keys(framesByName).toSorted()).toEqual(HARD_SIGNALS.toSorted());
});

test("our own encoder encodes hard signals and music with the final range of libopus's decoder", async () => {
  const plan = { kind: encoderKindOf("tonearm"), frameCount: 3000, seed: 11, music: MUSIC };
  const { rangesCompared, framesByName, bad } = await run(plan);
  expect(bad).toEqual([]);
  expect(rangesCompared).toBe(3000);
  expect(framesByName.music).toBeGreaterThan(1000);
});

test("a run uses encoders with every setting, resets and independent packets", async () => {
  const asked = new Asked();
  const control = falsified((packet, finalRange) => ({ packet, finalRange }), asked);
  const { frames, rangesCompared, bad } = await run({ kind: control, frameCount: 3000, seed: 2 });
  expect([frames, rangesCompared, bad]).toEqual([3000, 3000, []]);
  expect(new Set(asked.options.map(({ channelCount }) => channelCount))).toEqual(new Set([1, 2]));
  expect(new Set(asked.options.map(({ isVariable }) => isVariable))).toEqual(new Set([true, false]));
  expect(new Set(asked.options.map(({ bitrateBps }) => bitrateBps)).size).toBeGreaterThan(5);
  expect(asked.resets).toBeGreaterThan(2);
  expect(asked.independentPackets).toBeGreaterThan(10);
  expect(asked.givenHeads).toBeGreaterThan(20);
});

test("a wrong final range is reported with its frame, and all others are compared", async () => {
  const wrong = falsified((packet, finalRange, frame) => ({
    packet,
    finalRange: frame === 40 ? finalRange + 1 : finalRange,
  }));
  const { frames, rangesCompared, bad } = await run({ kind: wrong, frameCount: 300, seed: 2, music: MUSIC });
  expect([frames, rangesCompared]).toEqual([300, 299]);
  expect(bad).toEqual([
    { frame: 40, audio: expect.any(String), options: expect.any(Object), fault: expect.stringMatching(/final range/) },
  ]);
});

test.each([
  ["of another length", (packet: Uint8Array) => Uint8Array.from(packet, (byte, at) => (at === 0 ? byte - 8 : byte))],
  ["empty", () => new Uint8Array()],
  ["too long", () => new Uint8Array(1300).fill(0xfc)],
])("a packet that is %s is reported", async (_what, change) => {
  const wrong = falsified((packet, finalRange, frame) => ({
    packet: frame === 20 ? change(packet) : packet,
    finalRange,
  }));
  const { bad } = await run({ kind: wrong, frameCount: 100, seed: 3 });
  expect(bad.map(({ frame, fault }) => [frame, fault])).toEqual([[20, expect.stringMatching(/packet/)]]);
});

test("a changed bit in a packet changes its final range", async () => {
  const wrong = falsified((packet, finalRange, frame) => {
    if (frame !== 30) return { packet, finalRange };
    return { packet: Uint8Array.from(packet, (byte, at) => (at === 2 ? byte ^ 0x10 : byte)), finalRange };
  });
  const { bad } = await run({ kind: wrong, frameCount: 100, seed: 5 });
  expect(bad.map(({ frame, fault }) => [frame, fault])).toEqual([[30, expect.stringMatching(/final range/)]]);
});
