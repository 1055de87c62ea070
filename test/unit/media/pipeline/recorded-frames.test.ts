// Which frames of a pipeline are recorded for the Opus cache, and when the recording is given up.

import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { FrameRecorder } from "../../../../src/media/demux/demuxer.ts";
import { Codecs } from "../../../../src/media/pipeline/codecs.ts";
import type { PipelineOptions } from "../../../../src/media/pipeline/pipeline.ts";
import { FrameShares } from "../../../../src/media/pipeline/shared-frames.ts";
import { AheadPlayer } from "../../../support/ahead-player.ts";
import { filterSettings } from "../../../support/filter-settings.ts";
import { createPipeline } from "../../../support/pipelines.ts";
import { ScriptedDemuxer } from "../../../support/scripted-demuxer.ts";
import { PCM_SONG, SONG_MS, wordsOf } from "../../../support/takeable-songs.ts";

const AHEAD_FRAMES = 5;
const codecs = new Codecs({ complexity: 1, bitrateBps: 128_000, encoder: "tonearm" });

class ListRecorder implements FrameRecorder {
  frames: Uint8Array[] = [];
  /** What has ended it; undefined: nothing yet. */
  end: number | "given up" | undefined;

  get isEmpty(): boolean {
    return this.frames.length === 0;
  }

  add(frame: Uint8Array): void {
    this.frames.push(frame.slice());
  }

  rewind(frameCount: number): void {
    this.frames.length -= frameCount;
  }

  giveUp(): void {
    this.end ??= "given up";
  }

  finish(lengthSamples: number): void {
    this.end ??= lengthSamples;
  }
}

let recorder: ListRecorder;
let demuxer: ScriptedDemuxer & { recorder?: FrameRecorder };
let player: AheadPlayer;

beforeEach(() => {
  recorder = new ListRecorder();
});
afterEach(() => player.pipeline.close());

function start(options: Partial<PipelineOptions> = {}, packets = PCM_SONG.packets): AheadPlayer {
  demuxer = new ScriptedDemuxer({ ...PCM_SONG, packets });
  demuxer.recorder = recorder;
  player = new AheadPlayer(createPipeline(demuxer, { codecs, lengthMs: SONG_MS, ...options }), AHEAD_FRAMES);
  return player;
}

describe("the frames of a track", () => {
  it("are recorded as they were sent, with the length of the track, when it has come to its end", async () => {
    await start().play();
    player.pipeline.close();
    expect(recorder.end).toBe(SONG_MS * 48);
    expect(wordsOf(recorder.frames)).toEqual(wordsOf(player.sent));
  });

  it("are recorded once where some were rewound", async () => {
    await start().play(100);
    expect(player.rewind()).toBe(AHEAD_FRAMES);
    await player.play();
    player.pipeline.close();
    expect(recorder.end).toBe(SONG_MS * 48);
    expect(wordsOf(recorder.frames)).toEqual(wordsOf(player.sent));
  });

  it("are recorded by the pipeline that makes them for others as well", async () => {
    const shares = new FrameShares();
    const maker = start({ shares });
    await maker.play(50);
    const follower = new AheadPlayer(
      createPipeline(new ScriptedDemuxer(PCM_SONG), { codecs, shares, lengthMs: SONG_MS }),
      AHEAD_FRAMES,
    );
    await Promise.all([maker.play(), follower.play()]);
    maker.pipeline.close();
    expect(recorder.end).toBe(SONG_MS * 48);
    expect(wordsOf(recorder.frames)).toEqual(wordsOf(follower.sent));
    follower.pipeline.close();
  });

  const silence = filterSettings({ volume: 0.5 });
  it.each<readonly [string, Partial<PipelineOptions>, ((of: AheadPlayer) => void) | undefined]>([
    ["it begins with another volume", { volume: 99 }, undefined],
    ["it begins with filters", { filters: silence }, undefined],
    ["it begins later", { startMs: 20 }, undefined],
    ["it ends early", { endMs: SONG_MS - 100 }, undefined],
    ["its volume is changed and changed back", {}, ({ pipeline }) => pipeline.setVolume(50)],
    ["filters are set", {}, ({ pipeline }) => pipeline.setFilters(silence)],
    ["it is sought", {}, ({ pipeline }) => pipeline.seek(2000)],
    ["a segment is skipped", {}, ({ pipeline }) => pipeline.setJumps([{ fromMs: 3000, toMs: 3500 }], 1000)],
    ["listeners received silence in between", {}, ({ pipeline }) => pipeline.onSilenceSent()],
    ["it is mixed with another track", {}, ({ pipeline }) => pipeline.keepDecoded()],
  ])("are given up when %s", async (_name, options, change) => {
    await start(options).play(50);
    change?.(player);
    await player.play(20);
    player.pipeline.setVolume(100);
    await player.play();
    player.pipeline.close();
    expect(recorder.end).not.toBeTypeOf("number");
  });

  it("are given up when it is stopped", async () => {
    await start().play(50);
    player.pipeline.close();
    expect(recorder.end).toBe("given up");
  });

  it("are given up when a packet could not be decoded", async () => {
    const packets = PCM_SONG.packets.map((packet, index) =>
      index === 100 ? { ...packet, data: packet.data.subarray(0, 3) } : packet,
    );
    await start({}, packets).play();
    player.pipeline.close();
    expect(recorder.end).toBe("given up");
  });

  it("are given up when the track cannot be read to its end", async () => {
    start({ onFailure: () => undefined });
    demuxer.failAt(150, new Error("the connection was lost"));
    await player.play();
    player.pipeline.close();
    expect(recorder.end).toBe("given up");
  });
});
