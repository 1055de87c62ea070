// Frames that are ready, and what happens to them when a request changes the audio.

import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { PLAYER_COUNTERS } from "../../../../src/bridge/audio-metrics.ts";
import type { PlayCommand } from "../../../../src/bridge/commands.ts";
import type { WorkerEvent } from "../../../../src/bridge/events.ts";
import { FRAME_MS } from "../../../../src/media/format/audio-format.ts";
import { Pipeline } from "../../../../src/media/pipeline/pipeline.ts";
import type { AudioPlayer } from "../../../../src/media/player/audio-player.ts";
import { PlayerTracks } from "../../../../src/media/player/player-tracks.ts";
import { AheadVoice, SILENCE } from "../../../support/ahead-voice.ts";
import {
  connectPlayer,
  createAudioPlayer,
  playCommand,
  readAhead,
  tickFrames,
} from "../../../support/audio-players.ts";
import { FakeClock } from "../../../support/fake-clock.ts";
import { filterSettings } from "../../../support/filter-settings.ts";
import { NUMBERED_STREAM, numberedPackets } from "../../../support/numbered-packets.ts";
import { ScriptedDemuxer } from "../../../support/scripted-demuxer.ts";

const LOOK_AHEAD_FRAMES = 5;
const FRAME_COUNT = 200;
const PACKETS = numberedPackets(FRAME_COUNT);
const FIVE_SILENT = Array(5).fill(SILENCE);

let clock: FakeClock;
let voice: AheadVoice;
let player: AudioPlayer;
let events: WorkerEvent[];
let nextDemuxer: () => Promise<ScriptedDemuxer>;

beforeEach(async () => {
  clock = new FakeClock();
  voice = new AheadVoice(clock);
  events = [];
  nextDemuxer = async () => new ScriptedDemuxer({ stream: NUMBERED_STREAM, packets: PACKETS });
  const open = () => nextDemuxer();
  player = createAudioPlayer({
    clock,
    voice,
    open,
    lookAheadFrames: LOOK_AHEAD_FRAMES,
    send: (event) => events.push(event),
  });
  await connectPlayer(player);
});
afterEach(() => player.close());

function play(changes: Partial<PlayCommand> = {}): void {
  player.play(playCommand(changes));
}

const tick = (count: number): Promise<void> => tickFrames(clock, count);

async function playing(frames = 20): Promise<void> {
  play();
  await readAhead();
  await tick(frames);
}

/** The position as reported to a client now. */
function positionMs(): number {
  const position = player.position;
  if (position === undefined) throw new Error("no track plays");
  return position.positionMs + (clock.epochMs() - position.epochMs) * position.rate;
}

function range(first: number, last: number): number[] {
  return Array.from({ length: last - first + 1 }, (_, index) => first + index);
}

describe("a player with frames made ahead", () => {
  it("a song plays completely and once, although its worker is repeatedly blocked for 80 ms", async () => {
    play();
    await readAhead();
    for (let stall = 0; stall < FRAME_COUNT / 5; stall++) {
      await tick(1);
      clock.stall(4 * FRAME_MS - 1);
    }
    await tick(20);
    const audio = voice.left.filter(({ number }) => number !== SILENCE);
    expect(audio.map(({ number }) => number)).toEqual(range(0, FRAME_COUNT - 1));
    const dues = audio.map(({ dueMs }) => dueMs);
    expect(new Set(dues.slice(1).map((dueMs, index) => dueMs - dues[index]!))).toEqual(new Set([FRAME_MS]));
  });

  it("a track ends when its last frame has been sent, and not before", async () => {
    await playing(FRAME_COUNT - LOOK_AHEAD_FRAMES);
    expect(voice.waitingCount).toBeGreaterThan(0);
    expect(voice.received).not.toContain(FRAME_COUNT - 1);
    expect(events.map(({ type }) => type)).not.toContain("trackEnded");
    await tick(LOOK_AHEAD_FRAMES + 2);
    expect(events.map(({ type }) => type)).toContain("trackEnded");
    await tick(10);
    expect(voice.received).toEqual([...range(0, FRAME_COUNT - 1), ...FIVE_SILENT]);
    expect(voice.stopCount).toBe(1);
  });

  it("the position is that of the sent frame, not of the frames made ahead", async () => {
    await playing();
    expect(voice.lookAheadMs).toBeGreaterThan(3 * FRAME_MS);
    expect(Math.abs(positionMs() - voice.received.length * FRAME_MS)).toBeLessThanOrEqual(FRAME_MS);
  });

  it("frames that its connection revokes by itself are lost, and no longer counted as sent", async () => {
    await playing();
    const { framesSent } = player.counts;
    const count = voice.revoke(5);
    player.onFramesLost(count);
    expect(count).toBeGreaterThan(2);
    expect(player.counts).toMatchObject({ framesSent: framesSent - count, lostFrames: { voiceNotReady: count } });
  });

  it("silence frames that its connection revokes are not lost audio", async () => {
    await playing();
    player.pause(true);
    await tick(2);
    const { framesSent } = player.counts;
    player.onFramesLost(voice.revoke(5));
    expect(voice.revokedCount).toBeGreaterThan(0);
    expect(player.counts).toMatchObject({ framesSent, lostFrames: { voiceNotReady: 0 } });
  });

  it("frames that have not left when it is closed are neither sent nor lost", async () => {
    await playing();
    const { length } = voice.received;
    player.close();
    player.onFramesLost(5);
    expect(player.takeReport(0)).toMatchObject({ position: undefined, audio: undefined, changes: undefined });
    expect(voice.received).toHaveLength(length);
    expect(voice.revokedCount).toBeGreaterThan(0);
  });

  it("a pause silences frames made ahead at once, and the song resumes with the very next frame", async () => {
    await playing();
    const { length } = voice.received;
    player.pause(true);
    expect(voice.waitingCount).toBe(0);
    expect(positionMs()).toBe(length * FRAME_MS);
    await tick(10);
    expect(voice.received.slice(length)).toEqual(FIVE_SILENT);
    player.pause(false);
    await tick(10);
    const later = voice.received.slice(length + 5);
    expect(later.length).toBeGreaterThan(7);
    expect(later).toEqual(range(length, length + later.length - 1));
  });

  it("a stop silences frames made ahead at once", async () => {
    await playing();
    const { length } = voice.received;
    player.stop();
    await tick(10);
    expect(voice.received.slice(length)).toEqual(FIVE_SILENT);
  });

  it("a track that has ended is played to its last frame when a stop follows", async () => {
    await playing(FRAME_COUNT + 1);
    player.stop();
    await tick(10);
    expect(voice.received).toEqual([...range(0, FRAME_COUNT - 1), ...FIVE_SILENT]);
  });

  it("a seek takes effect as soon as its new position is ready", async () => {
    await playing();
    const { length } = voice.received;
    player.seek({ type: "seek", playerId: 1, trackId: 1, seekId: 1, positionMs: 2000 });
    await readAhead();
    await tick(2);
    const later = voice.received.slice(length);
    expect(later).toContain(100);
    expect(later.filter((number) => number < 100).length).toBeLessThanOrEqual(1);
    await tick(10);
    expect(Math.abs(positionMs() - ((voice.received.at(-1) ?? 0) + 1) * FRAME_MS)).toBeLessThanOrEqual(FRAME_MS);
  });

  it("a new end time takes effect, also within the frames made ahead", async () => {
    await playing();
    const endFrames = voice.received.length + 2;
    expect(voice.lookAheadMs).toBeGreaterThan(3 * FRAME_MS);
    player.setEnd(1, endFrames * FRAME_MS);
    await tick(20);
    expect(voice.received).toEqual([...range(0, endFrames - 1), ...FIVE_SILENT]);
    expect(events.map(({ type }) => type)).toContain("trackEnded");
  });

  it.each(range(1, LOOK_AHEAD_FRAMES + 3))(
    "also after many other changes, an end %i frames ahead is not played past",
    async (frames) => {
      await playing();
      for (let change = 0; change < 20; change++) player.setVolume(100);
      await tick(1);
      const endFrames = voice.received.length + frames;
      player.setEnd(1, endFrames * FRAME_MS);
      await tick(20);
      expect(voice.received.filter((number) => number !== SILENCE)).toEqual(range(0, endFrames - 1));
    },
  );

  it("frames made ahead are replaced at once by a track that is ready", async () => {
    await playing();
    const { length } = voice.received;
    nextDemuxer = async () => new ScriptedDemuxer({ stream: NUMBERED_STREAM, packets: PACKETS.slice(100) });
    play({ trackId: 2 });
    await readAhead();
    await tick(3);
    const later = voice.received.slice(length);
    expect(later.filter((number) => number < 100).length).toBeLessThanOrEqual(2);
    expect(later.at(-1)).toBeGreaterThanOrEqual(100);
  });

  it.each(["hold", "down", "discard"] as const)("no unsent frame is lost when the gate changes to %s", async (gate) => {
    await playing();
    const { length } = voice.received;
    voice.gate = gate;
    player.onGateChanged();
    expect(voice.waitingCount).toBe(0);
    expect(positionMs()).toBe(length * FRAME_MS);
    voice.gate = "send";
    player.onGateChanged();
    await tick(5);
    const later = voice.received.slice(length);
    expect(later).toEqual(range(length, length + later.length - 1));
  });

  it("unsent frames are made again for the same deadlines when the send path or the keys change", async () => {
    await playing();
    const before = voice.revokedCount;
    player.onSendPathChanging();
    expect(voice.revokedCount - before).toBeGreaterThanOrEqual(LOOK_AHEAD_FRAMES - 1);
    await tick(10);
    expect(voice.received).toEqual(range(0, voice.received.length - 1));
    const dues = voice.left.map(({ dueMs }) => dueMs);
    expect(new Set(dues.slice(1).map((dueMs, index) => dueMs - dues[index]!))).toEqual(new Set([FRAME_MS]));
  });

  it("a player waits with its audio when nothing is sent for long, and reports the cause", async () => {
    await playing();
    voice.isStalled = true;
    await tick(25);
    voice.isStalled = false;
    await tick(20);
    expect(voice.received).toEqual(range(0, voice.received.length - 1));
    expect(voice.received.length).toBeLessThan(60);
    expect(player.counts.lostFrames.workerLate).toBeGreaterThan(10);
  });

  it("revoked frames are not counted as sent", async () => {
    await playing();
    player.onSendPathChanging();
    await tick(10);
    player.pause(true);
    await tick(10);
    expect(player.counts.framesSent).toBe(voice.received.filter((number) => number !== SILENCE).length);
  });

  it("frames that are revoked by a stop are subtracted from those reported as sent before", async () => {
    await playing();
    const sent = PLAYER_COUNTERS.zero();
    PLAYER_COUNTERS.add(sent, player.takeReport(0)?.increases ?? []);
    player.stop();
    await tick(10);
    PLAYER_COUNTERS.add(sent, player.takeReport(0)?.increases ?? []);
    expect(voice.revokedCount).toBeGreaterThan(0);
    expect(sent.framesSent).toBe(voice.received.filter((number) => number !== SILENCE).length);
  });

  it("frames are not made again for every one of many changes", async () => {
    await playing();
    const before = voice.revokedCount;
    for (let change = 0; change < 200; change++) {
      player.setVolume(100);
      if (change % 4 === 0) await tick(1);
    }
    expect(voice.revokedCount - before).toBeLessThanOrEqual(15 * (LOOK_AHEAD_FRAMES + 1));
    expect(voice.revokedCount - before).toBeGreaterThan(5 * LOOK_AHEAD_FRAMES);
    expect(voice.received).toEqual(range(0, voice.received.length - 1));
  });

  it("a change right after another is heard within 100 ms, though what lies ready is made again only once", async () => {
    await playing();
    player.setVolume(100);
    await tick(1);
    const before = voice.revokedCount;
    player.setVolume(100);
    player.setVolume(100);
    expect(voice.revokedCount).toBe(before);
    await tick(2);
    const { revokedCount } = voice;
    expect(revokedCount).toBeGreaterThan(before + LOOK_AHEAD_FRAMES - 2);
    await tick(10);
    expect(voice.revokedCount).toBe(revokedCount);
    expect(voice.received).toEqual(range(0, voice.received.length - 1));
  });

  it("of 600 filter changes 4 ms apart few reach the track, and the newest does", async () => {
    const reached = vi.spyOn(Pipeline.prototype, "setFilters");
    await playing();
    reached.mockClear();
    const filters = (volume: number) => filterSettings({ volume }); // audio stays unchanged
    for (let change = 1; change <= 600; change++) {
      player.setFilters(filters(1 + change / 100_000));
      if (change === 5) expect(reached).toHaveBeenLastCalledWith(filters(1.00005));
      if (change % 5 === 0) await tick(1);
    }
    await tick(20);
    expect(reached).toHaveBeenLastCalledWith(filters(1.006));
    expect(reached.mock.calls.length).toBeLessThanOrEqual(23);
    expect(reached.mock.calls.length).toBeGreaterThan(15);
    reached.mockRestore();
  });

  it("no more filter changes reach a track that is paused for each", async () => {
    const reached = vi.spyOn(Pipeline.prototype, "setFilters");
    await playing();
    reached.mockClear();
    for (let change = 1; change <= 100; change++) {
      player.pause(true);
      player.setFilters(filterSettings({ volume: 1 + change / 100_000 }));
      player.pause(false);
    }
    expect(reached.mock.calls.length).toBeLessThanOrEqual(10);
    await tick(20);
    expect(reached).toHaveBeenLastCalledWith(filterSettings({ volume: 1.001 }));
    reached.mockRestore();
  });

  it("a track starts with the newest filters, however often they were changed before", async () => {
    await playing();
    for (let change = 1; change <= 50; change++) player.setFilters(filterSettings({ volume: 1 + change / 100 }));
    const started = vi.spyOn(PlayerTracks.prototype, "play");
    const reached = vi.spyOn(PlayerTracks.prototype, "setFilters");
    play({ trackId: 2 });
    expect(reached).toHaveBeenLastCalledWith(filterSettings({ volume: 1.5 }));
    expect(reached.mock.invocationCallOrder.at(-1)).toBeLessThan(started.mock.invocationCallOrder[0] ?? 0);
    vi.restoreAllMocks();
  });
});
