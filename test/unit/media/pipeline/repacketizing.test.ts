import { expect, it } from "vitest";
import type { AudioStream, Packet } from "../../../../src/media/format/packet.ts";
import { PacketReader } from "../../../../src/media/pipeline/packet-reader.ts";
import { SCRIPTED_STREAM } from "../../../support/scripted-decoder.ts";
import { ScriptedDemuxer } from "../../../support/scripted-demuxer.ts";
import { createTrackBudget } from "../../../support/track-budgets.ts";

/** 10 ms of CELT, two of which make a packet of 20 ms. */
const packet = (index: number): Packet => {
  return { data: Uint8Array.of(30 << 3, index), timestampMs: index * 10, durationMs: 10, trimEndSamples: 0 };
};

it("half a packet of one stream is not joined with half a packet of the next", async () => {
  const [first, other, last] = [0, 1, 2].map((): AudioStream => ({ ...SCRIPTED_STREAM, codec: "opus" }));
  const streams = [first, first, first, other, last, last];
  const demuxer = new (class extends ScriptedDemuxer {
    override async next(): Promise<Packet | undefined> {
      this.stream = streams.shift() ?? this.stream;
      return super.next();
    }
  })({ stream: SCRIPTED_STREAM, packets: streams.map((_, index) => packet(index)) });
  let finish = (): void => undefined;
  const whenDone = new Promise<void>((resolve) => {
    finish = resolve;
  });
  const reader = new PacketReader({
    input: { kind: "local", path: "/song", container: undefined },
    startMs: 0,
    lengthMs: undefined,
    open: async () => demuxer,
    budget: createTrackBudget(),
    onProgress: () => reader.isFinished && finish(),
    onFailure: finish,
  });
  await whenDone;
  const entries = [reader.queue.take(), reader.queue.take(), reader.queue.take()];
  expect(entries.map((entry) => [...(entry?.packet.data.subarray(-2) ?? [])])).toEqual([[0, 1], [4, 5], []]);
  expect(entries.map((entry) => entry?.stream)).toEqual([first, last, undefined]);
  reader.close();
});
