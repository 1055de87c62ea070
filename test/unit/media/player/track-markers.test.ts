// Timed markers of a track that plays, and the segments that they skip: what listeners receive, and what is reported.

import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { seededRandom } from "../../../../lab/seeded-random.ts";
import type { PlayCommand } from "../../../../src/bridge/commands.ts";
import type { WorkerEvent } from "../../../../src/bridge/events.ts";
import type { Marker } from "../../../../src/bridge/markers.ts";
import { NodeError } from "../../../../src/errors.ts";
import { FRAME_MS } from "../../../../src/media/format/audio-format.ts";
import type { AudioPlayer } from "../../../../src/media/player/audio-player.ts";
import { AheadVoice, SILENCE } from "../../../support/ahead-voice.ts";
import {
  connectPlayer,
  createAudioPlayer,
  playCommand,
  readAhead,
  tickFrames,
} from "../../../support/audio-players.ts";
import { FakeClock } from "../../../support/fake-clock.ts";
import { fuzzSeed } from "../../../support/fuzz-seed.ts";
import { NUMBERED_STREAM, numberedPackets } from "../../../support/numbered-packets.ts";
import { ScriptedDemuxer } from "../../../support/scripted-demuxer.ts";

const LENGTH_MS = 10_000;
const PACKETS = numberedPackets(LENGTH_MS / FRAME_MS);
const LAST = PACKETS.length - 1;

let clock: FakeClock;
let voice: AheadVoice;
let player: AudioPlayer;
let events: WorkerEvent[];
let demuxers: SlowDemuxer[];
/** What a seek waits for. */
let whenFound: Promise<void>;
/** A seek there, and reading on from there, fails or waits for ever. */
let damage: { readonly atMs: number; readonly kind: "refused" | "unreadable" | "hanging" } | undefined;
let isSeekable: boolean;
let whenOpen: Promise<void>;

class SlowDemuxer extends ScriptedDemuxer {
  override async seek(positionMs: number): Promise<void> {
    await super.seek(positionMs);
    await whenFound;
    if (damage?.atMs !== positionMs) return;
    if (damage.kind === "refused") throw new NodeError("media-damaged", "the range was refused");
    if (damage.kind === "unreadable") this.failAt(0, new NodeError("media-damaged", "the index leads nowhere"));
    if (damage.kind === "hanging") await new Promise(() => undefined);
  }
}

beforeEach(async () => {
  clock = new FakeClock();
  voice = new AheadVoice(clock);
  events = [];
  demuxers = [];
  whenFound = Promise.resolve();
  damage = undefined;
  whenOpen = Promise.resolve();
  isSeekable = true;
  player = createAudioPlayer({
    clock,
    voice,
    open: async () => {
      await whenOpen;
      const demuxer = new SlowDemuxer({ stream: NUMBERED_STREAM, packets: PACKETS, isSeekable });
      demuxers.push(demuxer);
      return demuxer;
    },
    lookAheadFrames: 5,
    send: (event) => events.push(event),
  });
  await connectPlayer(player);
});
afterEach(() => player.close());

const tick = (count: number): Promise<void> => tickFrames(clock, count);

/** Numbered from 1 on. */
function marked(...markers: ReadonlyArray<Omit<Marker, "id" | "isDone" | "skipToMs"> & Partial<Marker>>): Marker[] {
  return markers.map((marker, index) => ({ id: index + 1, skipToMs: undefined, isDone: false, ...marker }));
}

async function playing(markers: readonly Marker[], changes: Partial<PlayCommand> = {}): Promise<void> {
  player.play(playCommand({ lengthMs: LENGTH_MS, ...changes }));
  player.setMarkers(1, markers);
  await readAhead();
}

/** The numbers of the packets that listeners received, without silence. */
function heard(): number[] {
  return voice.received.filter((number) => number !== SILENCE);
}

function heardFrom(index: number): number[] {
  return voice.received.slice(index).filter((number) => number !== SILENCE);
}

/** The player's position at this moment. */
function positionNow(): number {
  const { positionMs, epochMs, rate } = player.position!;
  return positionMs + (clock.epochMs() - epochMs) * rate;
}

function range(first: number, last: number): number[] {
  return Array.from({ length: last - first + 1 }, (_, index) => first + index);
}

function passed(): string[] {
  return events.flatMap((event) =>
    event.type === "markersPassed" ? event.passed.map(({ id, outcome }) => `${id} ${outcome}`) : [],
  );
}

/** Skips that were given up. */
function logged(): unknown[] {
  return events.flatMap((event) => {
    if (event.type !== "log") return [];
    const { positionMs, skipToMs, reason } = event.fields;
    return [{ positionMs, skipToMs, reason }];
  });
}

function epochOf(id: number): number {
  const found = events
    .flatMap((event) => (event.type === "markersPassed" ? event.passed : []))
    .find((marker) => marker.id === id);
  return found?.epochMs ?? Number.NaN;
}

/** When the packet with this number left, Unix epoch milliseconds. */
function leftEpochMs(number: number): number {
  const frame = voice.left.find((left) => left.number === number);
  return (frame?.dueMs ?? Number.NaN) + clock.epochMs() - clock.now();
}

function seek(positionMs: number, seekId = 1): void {
  player.seek({ type: "seek", playerId: 1, trackId: 1, seekId, positionMs });
}

/** The packets that are left when segments are skipped, which are one when less than 180 ms lie between them. */
function leftOf(segments: ReadonlyArray<{ readonly positionMs: number; readonly skipToMs: number }>): number[] {
  const isSkipped = new Array<boolean>(PACKETS.length).fill(false);
  for (const { positionMs, skipToMs } of segments) isSkipped.fill(true, positionMs / FRAME_MS, skipToMs / FRAME_MS);
  for (let rest = 1; rest <= 9; rest++) {
    for (let first = 1; first + rest < isSkipped.length; first++) {
      const isRest = isSkipped.slice(first, first + rest).every((skipped) => !skipped);
      if (isRest && isSkipped[first - 1] && isSkipped[first + rest]) isSkipped.fill(true, first, first + rest);
    }
  }
  return range(0, LAST).filter((number) => !isSkipped[number]);
}

describe("a marker", () => {
  it("is reported with the frame in which it lies, once listeners receive that, and not before", async () => {
    await playing(marked({ positionMs: 1010 }));
    await tick(45);
    expect(voice.received.length).toBeLessThan(50);
    expect(voice.received.length + voice.waitingCount).toBeGreaterThan(47);
    expect(passed()).toEqual([]);
    await tick(10);
    expect(passed()).toEqual(["1 reached"]);
    expect(Math.abs(epochOf(1) - leftEpochMs(50))).toBeLessThanOrEqual(FRAME_MS);
    await tick(100);
    expect(passed()).toHaveLength(1);
  });

  it("500 of them are reported in order, each with its own moment", async () => {
    await playing(marked(...range(1, 500).map((index) => ({ positionMs: index * 19 }))));
    await tick(LENGTH_MS / FRAME_MS + 20);
    expect(passed()).toEqual(range(1, 500).map((id) => `${id} reached`));
    expect(epochOf(300) - epochOf(100)).toBeCloseTo(200 * 19, 5);
  });

  it("set when its position is past, it is late; one that was reported on another worker is not", async () => {
    await playing([]);
    await tick(100);
    player.setMarkers(1, marked({ positionMs: 100 }, { positionMs: 200, isDone: true }, { positionMs: 3000 }));
    expect(passed()).toEqual(["1 late"]);
    await tick(80);
    expect(passed()).toEqual(["1 late", "3 reached"]);
  });

  it("is bypassed by a seek over it, and is ahead again after a seek back", async () => {
    await playing(marked({ positionMs: 1000 }, { positionMs: 2000 }, { positionMs: 5000 }));
    await tick(60);
    seek(4000);
    expect(passed()).toEqual(["1 reached", "2 bypassed"]);
    await tick(10);
    seek(1900, 2);
    await tick(20);
    expect(passed()).toEqual(["1 reached", "2 bypassed", "2 reached"]);
    seek(5000, 3);
    await tick(10);
    expect(passed().slice(3)).toEqual(["3 reached"]);
    const last = events.findLast(({ type }) => type === "markersPassed");
    expect(last).toMatchObject({ trackId: 1, seekId: 3 });
  });

  it("waits while the track is paused, and is not reported for frames that the pause has revoked", async () => {
    await playing(marked({ positionMs: 1000 }));
    await tick(47);
    player.pause(true);
    await tick(100);
    expect(passed()).toEqual([]);
    player.pause(false);
    await tick(10);
    expect(passed()).toEqual(["1 reached"]);
  });

  it("behind the end time is not reached, and right at the end of the track is", async () => {
    await playing(marked({ positionMs: 900 }, { positionMs: 1100 }), { endMs: 1000 });
    await tick(80);
    expect(events.at(-1)).toMatchObject({ type: "trackEnded" });
    expect(passed()).toEqual(["1 reached"]);
  });

  it("is not reported before anything is heard, even at the start of the track", async () => {
    let begin = (): void => undefined;
    whenOpen = new Promise((resolve) => {
      begin = resolve;
    });
    await playing(marked({ positionMs: 0 }));
    await tick(10);
    player.checkHealth({ hasOthers: false, threadLoad: 0 });
    expect(passed()).toEqual([]);
    begin();
    await tick(5);
    expect(passed()).toEqual(["1 reached"]);
  });

  it("of another track than the playing one is ignored", async () => {
    await playing([]);
    player.setMarkers(2, marked({ positionMs: 100 }));
    await tick(20);
    expect(passed()).toEqual([]);
  });
});

describe("a segment that is skipped", () => {
  const SEGMENT = { positionMs: 4000, skipToMs: 7000 };

  it("is left out to the frame, without a gap", async () => {
    await playing(marked(SEGMENT));
    await tick(420);
    expect(heard()).toEqual([...range(0, 199), ...range(350, LAST)]);
    expect(voice.received.slice(0, 350)).not.toContain(SILENCE);
    expect(passed()).toEqual(["1 reached"]);
    expect(Math.abs(epochOf(1) - leftEpochMs(350))).toBeLessThanOrEqual(FRAME_MS);
  });

  it("is left out although its target takes three seconds to be found", async () => {
    whenFound = new Promise((resolve) => clock.after(2900, resolve));
    await playing(marked(SEGMENT));
    await tick(420);
    expect(heard()).toEqual([...range(0, 199), ...range(350, LAST)]);
    expect(voice.received.slice(0, 350)).not.toContain(SILENCE);
  });

  it("is played until its target is found, when that takes too long", async () => {
    whenFound = new Promise((resolve) => clock.after(1200, resolve));
    await playing(marked({ positionMs: 1000, skipToMs: 7000 }));
    await tick(250);
    const numbers = heard();
    const jump = numbers.indexOf(350);
    expect(numbers[jump - 1]).toBeGreaterThan(55);
    expect(numbers).toEqual([...range(0, numbers[jump - 1]!), ...range(350, LAST)]);
    expect(voice.received.slice(0, 200)).not.toContain(SILENCE);
  });

  it("at the start of a track is not heard", async () => {
    await playing(marked({ positionMs: 0, skipToMs: 1000 }, { positionMs: 1060, skipToMs: 3000 }));
    await tick(400);
    expect(heard()).toEqual(range(150, LAST));
    expect(passed()).toEqual(["1 reached", "2 reached"]);
    expect(events.map(({ type }) => type)).not.toContain("log");
  });

  it("to the end of the track ends it there", async () => {
    await playing(marked({ positionMs: 2000, skipToMs: 9950 }));
    await tick(120);
    expect(heard()).toEqual(range(0, 99));
    expect(passed()).toEqual(["1 reached"]);
    expect(events.at(-1)).toMatchObject({ type: "trackEnded", reason: "finished" });
    expect(events.map(({ type }) => type)).not.toContain("log");
    expect(demuxers[0]?.seeks).toEqual([]);
  });

  it("to behind the end time ends the track", async () => {
    await playing(marked({ positionMs: 2000, skipToMs: 5000 }), { endMs: 4000 });
    await tick(120);
    expect(heard()).toEqual(range(0, 99));
    expect(events.at(-1)).toMatchObject({ type: "trackEnded", reason: "finished" });
  });

  it("and another one that touches it are one, and both are reached", async () => {
    await playing(
      marked({ positionMs: 6900, skipToMs: 8000 }, { positionMs: 4500 }, SEGMENT, { positionMs: 5000, skipToMs: 5500 }),
    );
    await tick(320);
    expect(heard()).toEqual([...range(0, 199), ...range(400, LAST)]);
    expect(passed()).toEqual(["3 reached", "2 bypassed", "4 reached", "1 reached"]);
  });

  it("is followed by others that are skipped as well", async () => {
    await playing(
      marked(
        { positionMs: 1000, skipToMs: 2000 },
        { positionMs: 2200, skipToMs: 5000 },
        { positionMs: 8000, skipToMs: 9000 },
      ),
    );
    await tick(350);
    expect(heard()).toEqual([...range(0, 49), ...range(100, 109), ...range(250, 399), ...range(450, LAST)]);
    expect(voice.received.slice(0, 250)).not.toContain(SILENCE);
  });

  it("is played when a seek leads into it, and skipped when a seek leads to its start", async () => {
    await playing(marked(SEGMENT));
    await tick(50);
    seek(5000);
    await tick(10);
    expect(passed()).toEqual(["1 bypassed"]);
    await tick(150);
    const from = heard().indexOf(250);
    expect(heard().slice(from)).toEqual(range(250, 250 + heard().length - from - 1));
    seek(4000, 2);
    await tick(10);
    expect(heard().at(-1)).toBeGreaterThan(350);
    expect(heard()).not.toContain(200);
    expect(passed()).toEqual(["1 bypassed", "1 reached"]);
  });

  it("is skipped again after a seek back, also when its target was being prepared", async () => {
    await playing(marked(SEGMENT));
    await tick(180);
    seek(3000);
    await tick(30);
    const from = heard().lastIndexOf(150);
    await tick(200);
    expect(heard().slice(from)).toEqual([...range(150, 199), ...range(350, 350 + heard().length - from - 51)]);
  });

  it("that playback is in when it is set is left at once, as late", async () => {
    await playing([]);
    await tick(100);
    player.setMarkers(1, marked({ positionMs: 1000, skipToMs: 6000 }, { positionMs: 3000 }));
    await tick(20);
    expect(passed()).toEqual(["1 late", "2 bypassed"]);
    const from = heard().indexOf(300);
    expect(heard()[from - 1]).toBeLessThan(104);
  });

  it("whose start is made and not yet heard when it is set is left out", async () => {
    await playing([]);
    await tick(100);
    const startMs = (heard().length + 2) * FRAME_MS;
    player.setMarkers(1, marked({ positionMs: startMs, skipToMs: 6000 }));
    await tick(20);
    const from = heard().indexOf(300);
    expect(heard().slice(from - 1, from)[0]).toBeLessThanOrEqual(startMs / FRAME_MS + 1);
    expect(passed()).toEqual(["1 reached"]);
  });

  it("is not skipped twice when markers are set while the jump is made and not yet heard", async () => {
    await playing(marked(SEGMENT));
    while (passed().length === 0) await tick(1);
    expect(heard().at(-1)).toBeLessThan(199);
    player.setMarkers(1, marked({ ...SEGMENT, isDone: true }, { positionMs: 7020 }));
    await tick(220);
    expect(heard()).toEqual([...range(0, 199), ...range(350, LAST)]);
    expect(passed()).toEqual(["1 reached", "2 reached"]);
  });

  it("that is removed while its target is being prepared is played, packet by packet", async () => {
    await playing(marked(SEGMENT));
    await tick(150);
    expect(demuxers[0]?.seeks).toEqual([7000]);
    player.setMarkers(1, []);
    await tick(370);
    expect(heard()).toEqual(range(0, LAST));
    expect(voice.received.slice(0, LAST)).not.toContain(SILENCE);
  });

  it("to near the end of a track that is shorter than stated ends it, and costs no more than a seek and back", async () => {
    for (const skipToMs of [9900, 10_050, 10_500]) {
      const from = voice.received.length;
      await playing(marked({ positionMs: 4000, skipToMs }), { lengthMs: 11_000 });
      await tick(260);
      expect(heardFrom(from)).toEqual(range(0, 199));
      expect(demuxers.at(-1)?.seeks.length).toBeLessThanOrEqual(2);
      expect(events.at(-1)).toMatchObject({ type: "trackEnded", reason: "finished" });
    }
  });

  it("behind the end time changes nothing about that", async () => {
    await playing(marked({ positionMs: 9000, skipToMs: 9950 }), { endMs: 2000 });
    await tick(120);
    expect(heard()).toEqual(range(0, 99));
    expect(events.map(({ type }) => type)).not.toContain("log");
  });

  it("is left behind by a seek back, and what lies between is not reached by that", async () => {
    await playing(marked({ positionMs: 2000 }, SEGMENT, { positionMs: 7200 }));
    await tick(215);
    expect(passed()).toEqual(["1 reached", "2 reached", "3 reached"]);
    let found = (): void => undefined;
    whenFound = new Promise((resolve) => {
      found = resolve;
    });
    seek(1000);
    await tick(5);
    player.prepare();
    found();
    await readAhead();
    player.checkHealth({ hasOthers: false, threadLoad: 0 });
    await tick(40);
    expect(passed()).toHaveLength(3);
    await tick(200);
    expect(passed().slice(3)).toEqual(["1 reached", "2 reached", "3 reached"]);
  });

  it.each(["refused", "unreadable"] as const)(
    "is played when its target is %s, and later ones are skipped",
    async (kind) => {
      damage = { atMs: 7000, kind };
      const markers = marked(SEGMENT, { positionMs: 6000, skipToMs: 7000 }, { positionMs: 8000, skipToMs: 9000 });
      await playing(markers);
      await tick(180);
      player.setMarkers(1, markers);
      await tick(300);
      expect(heard()).toEqual([...range(0, 399), ...range(450, LAST)]);
      expect(voice.received.slice(0, 450)).not.toContain(SILENCE);
      expect(passed()).toEqual(["1 reached", "2 reached", "3 reached"]);
      expect(events.map(({ type }) => type)).not.toContain("trackException");
      expect(demuxers.flatMap(({ seeks }) => seeks)).toHaveLength(3);
    },
  );

  it("is played behind a short silence when its target is never found, and a seek back tries again", async () => {
    damage = { atMs: 7000, kind: "hanging" };
    await playing(marked(SEGMENT));
    await tick(300);
    const missing = voice.received.slice(voice.received.indexOf(214), voice.received.indexOf(215)).length;
    expect(missing).toBeLessThan(30);
    expect(heard()).toEqual(range(0, heard().length - 1));
    expect(heard().length).toBeGreaterThan(250);
    damage = undefined;
    seek(3500);
    await tick(60);
    expect(heard().at(-1)).toBeGreaterThan(350);
  });

  it("just behind the start is left behind a short silence, when its target takes a while to be found", async () => {
    whenFound = new Promise((resolve) => clock.after(900, resolve));
    await playing(marked({ positionMs: 200, skipToMs: 7000 }));
    await tick(230);
    const jump = heard().indexOf(350);
    expect(jump).toBeGreaterThan(20);
    expect(jump).toBeLessThan(30);
    expect(heard()).toEqual([...range(0, jump - 1), ...range(350, LAST)]);
    expect(voice.received.indexOf(350)).toBeLessThan(50);
    expect(demuxers).toHaveLength(1);
  });

  it("just behind the start is played after four seconds, when its target is never found", async () => {
    damage = { atMs: 7000, kind: "hanging" };
    await playing(marked({ positionMs: 200, skipToMs: 7000 }));
    await tick(260);
    expect(heard()).toEqual(range(0, heard().length - 1));
    expect(heard().length).toBeGreaterThan(75);
    expect(logged()).toEqual([{ positionMs: 200, skipToMs: 7000, reason: expect.stringContaining("waited for") }]);
  });

  it.each(["removes it", "replaces it", "seeks"])(
    "whose target is refused while a client %s does not end the track",
    async (action) => {
      let refuse = (): void => undefined;
      whenFound = new Promise((_resolve, reject) => {
        refuse = () => reject(new NodeError("media-damaged", "the range was refused"));
      });
      await playing(marked(SEGMENT));
      await tick(150);
      expect(demuxers[0]?.seeks).toEqual([7000]);
      whenFound.catch(() => undefined);
      whenFound = Promise.resolve();
      if (action === "seeks") seek(8000);
      else player.setMarkers(1, action === "removes it" ? [] : marked({ positionMs: 5000, skipToMs: 8000 }));
      refuse();
      await tick(370);
      const first = heard().findIndex((number, index) => number !== index);
      const left = { "removes it": range(0, LAST), "replaces it": [...range(0, 249), ...range(400, LAST)] }[action];
      expect(heard()).toEqual(left ?? [...range(0, first - 1), ...range(400, LAST)]);
      expect(events.map(({ type }) => type)).not.toContain("trackException");
    },
  );

  it("whose target is refused is played when it is late, too", async () => {
    damage = { atMs: 6000, kind: "refused" };
    const segment = { positionMs: 1000, skipToMs: 6000 };
    await playing([]);
    await tick(100);
    player.setMarkers(1, marked(segment, { positionMs: 8000, skipToMs: 9000 }));
    await tick(100);
    player.setMarkers(1, marked({ ...segment, isDone: true }, { positionMs: 8000, skipToMs: 9000 }));
    await tick(270);
    expect(heard()).toEqual([...range(0, 399), ...range(450, LAST)]);
    expect(voice.received.slice(0, 450)).not.toContain(SILENCE);
    expect(passed()).toEqual(["1 late", "2 reached"]);
    expect(events.map(({ type }) => type)).not.toContain("trackException");
    expect(logged()).toMatchObject([{ skipToMs: 6000, reason: "the range was refused" }]);
  });

  it("and late is left while it is paused, and a seek into it afterwards plays it", async () => {
    const segment = { positionMs: 1000, skipToMs: 6000 };
    await playing([]);
    await tick(100);
    player.pause(true);
    await tick(10);
    player.setMarkers(1, marked(segment));
    await tick(10);
    player.pause(false);
    await tick(30);
    const first = heard().indexOf(300);
    expect(heard()).toEqual([...range(0, first - 1), ...range(300, 300 + heard().length - first - 1)]);
    expect(first).toBeLessThan(106);
    seek(1500);
    player.setMarkers(1, marked({ ...segment, isDone: true }));
    await tick(50);
    const from = heard().indexOf(75, first);
    expect(heard().slice(from)).toEqual(range(75, 75 + heard().length - from - 1));
  });

  it("and late ends the track when it goes to its end", async () => {
    await playing([]);
    await tick(100);
    player.setMarkers(1, marked({ positionMs: 1000, skipToMs: 9950 }));
    await tick(10);
    expect(heard()).toEqual(range(0, heard().length - 1));
    expect(heard().length).toBeLessThan(106);
    expect(passed()).toEqual(["1 late"]);
    expect(events.at(-1)).toMatchObject({ type: "trackEnded", reason: "finished" });
    expect(events.map(({ type }) => type)).not.toContain("log");
  });

  it("and late is left although the same markers are set again before its target is found", async () => {
    const segment = { positionMs: 1000, skipToMs: 6000 };
    await playing([]);
    await tick(100);
    whenFound = new Promise((resolve) => clock.after(400, resolve));
    player.setMarkers(1, marked(segment));
    await tick(5);
    player.setMarkers(1, marked({ ...segment, isDone: true }, { positionMs: 6100 }));
    await tick(240);
    const jump = heard().indexOf(300);
    expect(heard()).toEqual([...range(0, jump - 1), ...range(300, LAST)]);
    expect(demuxers.flatMap(({ seeks }) => seeks)).toEqual([6000]);
    expect(passed()).toEqual(["1 late", "2 reached"]);
  });

  it("is played when its target is refused, and so are seeks from then on", async () => {
    damage = { atMs: 7000, kind: "refused" };
    await playing(marked(SEGMENT));
    isSeekable = false;
    await tick(520);
    expect(demuxers).toHaveLength(2);
    expect(heard()).toEqual(range(0, LAST));
    expect(voice.received.slice(0, LAST)).not.toContain(SILENCE);
  });

  it("is played at once when it is removed while its target is never found", async () => {
    damage = { atMs: 7000, kind: "hanging" };
    await playing(marked(SEGMENT));
    await tick(150);
    player.setMarkers(1, []);
    await tick(370);
    expect(heard()).toEqual(range(0, LAST));
    expect(voice.received.slice(0, LAST)).not.toContain(SILENCE);
  });

  it("is left late although other markers are set meanwhile", async () => {
    whenFound = new Promise((resolve) => clock.after(1250, resolve));
    const late = { positionMs: 1000, skipToMs: 7000 };
    await playing(marked(late));
    await tick(58);
    expect(passed()).toEqual(["1 reached"]);
    player.setMarkers(1, marked({ ...late, isDone: true }, { positionMs: 7100 }));
    await tick(200);
    const jump = heard().indexOf(350);
    expect(heard()).toEqual([...range(0, heard()[jump - 1]!), ...range(350, LAST)]);
    expect(passed()).toEqual(["1 reached", "2 reached"]);
  });

  it("is skipped where it goes on behind another one into which a seek leads", async () => {
    await playing(marked({ positionMs: 1000, skipToMs: 3000 }, { positionMs: 2000, skipToMs: 4000 }));
    await tick(10);
    seek(1500);
    await tick(100);
    const from = heard().indexOf(75);
    expect(heard().slice(from, from + 40)).toEqual([...range(75, 99), ...range(200, 214)]);
    expect(passed()).toEqual(["1 bypassed", "2 reached"]);
  });

  it("frames that are made again around the jump change neither position nor outcomes", async () => {
    await playing(marked({ positionMs: 1000, skipToMs: 7000 }, { positionMs: 5000 }));
    for (let frame = 0; frame < 80; frame++) {
      await tick(1);
      player.prepare();
      player.onSendPathChanging();
      expect(Math.abs(positionNow() - (heard().at(-1) ?? -1) * FRAME_MS)).toBeLessThanOrEqual(2 * FRAME_MS);
    }
    expect(passed()).toEqual(["1 reached", "2 bypassed"]);
    expect(heard().at(-1)).toBeGreaterThan(350);
  });

  it("costs no second seek when other markers are set meanwhile", async () => {
    await playing(marked(SEGMENT));
    await tick(150);
    player.setMarkers(1, marked(SEGMENT, { positionMs: 7500 }));
    await tick(270);
    expect(demuxers[0]?.seeks).toEqual([7000]);
    expect(heard()).toEqual([...range(0, 199), ...range(350, LAST)]);
  });

  it("is played in an input that cannot seek", async () => {
    isSeekable = false;
    await playing(marked(SEGMENT));
    await tick(520);
    expect(heard()).toEqual(range(0, LAST));
    expect(passed()).toEqual(["1 reached"]);
  });

  it("a pause right at the jump loses and repeats nothing", async () => {
    await playing(marked({ positionMs: 1000, skipToMs: 7000 }));
    await tick(40);
    for (let pause = 0; pause < 12; pause++) {
      await tick(2);
      player.pause(true);
      await tick(8);
      player.pause(false);
    }
    await tick(160);
    expect(heard()).toEqual([...range(0, 49), ...range(350, LAST)]);
  });

  it("random segments are left out, whatever is paused, revoked and set meanwhile", async () => {
    const random = seededRandom(fuzzSeed());
    for (let round = 0; round < 12; round++) {
      const segments = range(1, 4).map(() => {
        const fromFrame = Math.floor(random() * 400);
        return { positionMs: fromFrame * FRAME_MS, skipToMs: (fromFrame + 1 + Math.floor(random() * 80)) * FRAME_MS };
      });
      const from = voice.received.length;
      events.length = 0;
      await playing(marked(...segments));
      while (!events.some(({ type }) => type === "trackEnded")) {
        await tick(1 + Math.floor(random() * 12));
        const action = random();
        if (action < 0.2) player.setMarkers(1, marked(...segments, { positionMs: 10, isDone: true }));
        else if (action < 0.4) player.onSendPathChanging();
        else if (action < 0.6) {
          player.pause(true);
          await tick(Math.floor(random() * 10));
          player.pause(false);
        }
      }
      const numbers = voice.received.slice(from).filter((number) => number !== SILENCE);
      expect(numbers).toEqual(leftOf(segments));
    }
  });

  it("random seeks, ends and markers break nothing, and the track ends", async () => {
    const random = seededRandom(fuzzSeed());
    const at = () => Math.floor(random() * LENGTH_MS);
    for (let round = 0; round < 12; round++) {
      events.length = 0;
      await playing([]);
      for (let action = 1; action < 40; action++) {
        const kind = random();
        const findMs = Math.floor(random() * 600);
        whenFound = random() < 0.7 ? Promise.resolve() : new Promise((resolve) => clock.after(findMs, resolve));
        const segments = range(1, 3).map(() => ({ positionMs: at(), skipToMs: at() }));
        const forward = segments.filter(({ positionMs, skipToMs }) => skipToMs > positionMs);
        if (kind < 0.4) player.setMarkers(1, marked(...forward, { positionMs: at() }));
        else if (kind < 0.8) seek(at(), action);
        else if (kind < 0.9) player.setEnd(1, at());
        else player.onSendPathChanging();
        await tick(Math.floor(random() * 30));
      }
      await tick(LENGTH_MS / FRAME_MS + 60);
      expect(events.filter(({ type }) => type === "trackEnded" || type === "trackException")).toEqual([
        expect.objectContaining({ reason: "finished" }),
      ]);
    }
  });

  it("the position is that of the listeners, also around the jump", async () => {
    await playing(marked({ positionMs: 1000, skipToMs: 7000 }));
    for (let frame = 0; frame < 80; frame++) {
      await tick(1);
      const { position } = player;
      const last = heard().at(-1);
      if (position === undefined || last === undefined) continue;
      const positionMs = position.positionMs + (clock.epochMs() - position.epochMs) * position.rate;
      expect(Math.abs(positionMs - (last + 1) * FRAME_MS)).toBeLessThanOrEqual(FRAME_MS);
    }
    expect(heard().at(-1)).toBeGreaterThan(350);
  });
});
