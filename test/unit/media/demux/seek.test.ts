import { describe, expect, it } from "vitest";
import { NodeError } from "../../../../src/errors.ts";
import type { Demuxer } from "../../../../src/media/demux/demuxer.ts";
import type { Packet } from "../../../../src/media/format/packet.ts";
import { openDemuxer } from "../../../../src/media/probe/open-demuxer.ts";
import { readMediaFixture, readPackets } from "../../../support/media-fixture.ts";
import { MemoryByteSource, type MemoryByteSourceOptions } from "../../../support/memory-byte-source.ts";
import { createTrackBudget } from "../../../support/track-budgets.ts";

/** Files, the audio that must come before a seek target (milliseconds), and how far off times may be after a seek. */
const FILES = [
  ["opus.webm", 80, 0.6],
  ["video.webm", 80, 0.6],
  ["live.webm", 80, 0.6],
  ["vorbis.webm", 10, 1],
  ["aac.mka", 23, 1],
  ["mp3.mka", 26, 1],
  ["flac.mka", 0, 1],
  ["pcm.mka", 0, 1],
  ["opus.ogg", 80, 0.01],
  ["vorbis.ogg", 10, 0.01],
  ["theora.ogg", 10, 0.01],
  ["flac.oga", 0, 0.01],
  ["cbr.mp3", 26, 0.01],
  ["cbr-noxing.mp3", 26, 0.01],
  ["vbr.mp3", 26, 0.01],
  ["vbr-noxing.mp3", 26, 0.01],
  ["mpeg2.mp3", 26, 0.01],
  ["aac.m4a", 23, 0.01],
  ["aac-frag.mp4", 23, 0.01],
  ["aac-sidx.mp4", 23, 0.01],
  ["video.mp4", 21, 0.01],
  ["alac.m4a", 0, 0.01],
  ["opus.mp4", 80, 0.01],
  ["flac.mp4", 0, 0.01],
  ["mp3.mp4", 26, 0.01],
  ["plain.flac", 0, 0.01],
  ["small.flac", 0, 0.01],
  ["aac.aac", 23, 0.01],
  ["aac.mpegts", 23, 0.01],
  ["mp3.mpegts", 26, 0.01],
] as const;

function open(name: string, options: MemoryByteSourceOptions = {}): Promise<Demuxer> {
  return openDemuxer(new MemoryByteSource(readMediaFixture(name), options), {}, createTrackBudget());
}

function endOf(packets: readonly Packet[]): number {
  const last = packets.at(-1);
  return last === undefined ? 0 : last.timestampMs + last.durationMs;
}

/** Checks that `after` is the tail of `all`, starting early enough for the target, with the same times. */
function expectLanding(
  after: readonly Packet[],
  all: readonly Packet[],
  bounds: { targetMs: number; preRollMs: number; slackMs: number },
) {
  const [first] = after;
  expect(first, "a packet after the seek").toBeDefined();
  const start = all.length - after.length;
  for (const [index, packet] of after.entries()) {
    const expected = all[start + index];
    if (expected === undefined) throw new Error("more packets than in the file");
    expect(Buffer.compare(packet.data, expected.data), `packet ${start + index}`).toBe(0);
    // The first packet of a Vorbis stream decodes to nothing: it may carry the time of the second.
    const silentMs = index === 0 ? expected.durationMs - packet.durationMs : 0;
    expect(Math.abs(packet.timestampMs - silentMs - expected.timestampMs)).toBeLessThanOrEqual(bounds.slackMs);
    expect(packet.trimEndSamples).toBe(expected.trimEndSamples);
  }
  const fileStartMs = all[0]?.timestampMs ?? 0;
  expect(first?.timestampMs).toBeLessThanOrEqual(
    Math.max(fileStartMs, bounds.targetMs - bounds.preRollMs) + bounds.slackMs,
  );
  expect(first?.timestampMs).toBeGreaterThan(bounds.targetMs - 600);
}

describe.each(FILES)("seeking in %s", (name, preRollMs, slackMs) => {
  it("a seek lands early enough, on the right packet, with the right time, in any order of targets", async () => {
    const all = await readPackets(await open(name));
    const demuxer = await open(name);
    const end = endOf(all);
    for (const share of [0.5, 0.1, 0.93, 0, 0.97, 0.33, 0.34, 0.75]) {
      const targetMs = share * end;
      await demuxer.seek(targetMs);
      expectLanding(await readPackets(demuxer), all, { targetMs, preRollMs, slackMs });
    }
  });

  it("a seek behind the end ends the track, and a later one returns from there", async () => {
    const demuxer = await open(name);
    const all = await readPackets(await open(name));
    await demuxer.seek(endOf(all) + 60_000);
    expect(await demuxer.next()).toBeUndefined();
    await demuxer.seek(endOf(all) / 2);
    expectLanding(await readPackets(demuxer), all, { targetMs: endOf(all) / 2, preRollMs, slackMs });
  });

  it("a seek runs forward to the target when the source cannot jump, but not back", async () => {
    const options = { isRandomAccess: false, isSizeKnown: false };
    const all = await readPackets(await open(name));
    const demuxer = await open(name, options);
    if (demuxer.isSeekable) return;
    const targetMs = endOf(all) * 0.6;
    await demuxer.next();
    await demuxer.seek(targetMs);
    const after = await readPackets(demuxer);
    expectLanding(after, all, { targetMs, preRollMs, slackMs });
    await expect(demuxer.seek(0)).rejects.toThrow(NodeError);
  });
});
