// Timed markers as the main thread holds them: what a worker gets, and what those hear who have set them.

import { beforeEach, expect, it } from "vitest";
import type { PassedMarker } from "../../../../src/bridge/markers.ts";
import { DeadlyTracks } from "../../../../src/control/players/deadly-tracks.ts";
import { Player } from "../../../../src/control/players/player.ts";
import type { MarkerRequest } from "../../../../src/control/players/player-markers.ts";
import { SharedIncidents } from "../../../../src/control/players/shared-incidents.ts";
import { UpdateTimer } from "../../../../src/control/players/update-timer.ts";
import { ByteBudget } from "../../../../src/lib/byte-budget.ts";
import { createLogger } from "../../../../src/log/log.ts";
import { FakeClock } from "../../../support/fake-clock.ts";
import { FakeWorkers } from "../../../support/fake-workers.ts";
import { EMPTY_UPDATE } from "../../../support/session-builders.ts";
import { buildTrack } from "../../../support/track-builder.ts";

const LINES = [
  { id: 10, positionMs: 1000 },
  { id: 20, positionMs: 2000 },
  { id: 30, positionMs: 3000 },
];

let clock: FakeClock;
let workers: FakeWorkers;
let player: Player;
let told: string[];
let logged: string[];

beforeEach(async () => {
  clock = new FakeClock();
  workers = new FakeWorkers(clock);
  told = [];
  logged = [];
  const logger = createLogger((_level, message) => logged.push(message));
  player = new Player({
    guildId: "1234567890123456789",
    userId: "42",
    sessionId: "session",
    account: "address test",
    sink: { send: () => undefined },
    workers,
    tracks: {
      load: () => Promise.reject(new Error("nothing is loaded here")),
      playableInput: () => ({ kind: "http", url: "http://site.example/song.mp3", container: "mp3" }),
    },
    updateTimer: new UpdateTimer({ clock, intervalMs: 5000 }),
    clock,
    memory: new ByteBudget({ owner: "the session", limitBytes: 100_000 }),
    logger,
    deadlyTracks: new DeadlyTracks(),
    sharedIncidents: new SharedIncidents({ clock, logger }),
    voiceConnectTimeoutMs: 5000,
  });
  await play();
});

function play(): Promise<void> {
  return player.update({ ...EMPTY_UPDATE, trackChange: { kind: "play", track: buildTrack() } }, { isReplacing: true });
}

function set(markers: readonly MarkerRequest[], group = "lines"): boolean {
  return player.setMarkers(group, markers, (id, outcome) => told.push(`${group} ${id} ${outcome}`));
}

/** What the worker has been told last: position, and whether it is done. */
function sent(): string[] {
  return workers.last("setMarkers").markers.map(({ positionMs, isDone }) => `${positionMs}${isDone ? " done" : ""}`);
}

/** The worker has passed the markers at these positions. */
function pass(positionsMs: readonly number[], outcome: PassedMarker["outcome"] = "reached", seekId = 0): void {
  const { trackId, markers } = workers.last("setMarkers");
  const passed = positionsMs.map((positionMs) => {
    const { id } = markers.find((marker) => marker.positionMs === positionMs)!;
    return { id, outcome, epochMs: clock.epochMs() };
  });
  workers.say({ type: "markersPassed", trackId, seekId, passed });
}

it("markers of several groups go to the worker together, and what becomes of each is reported to its group", () => {
  expect(set(LINES)).toBe(true);
  set([{ id: 10, positionMs: 1500, skipToMs: 1800 }], "segments");
  expect(workers.last("setMarkers")).toMatchObject({ trackId: 1 });
  expect(sent()).toEqual(["1000", "2000", "3000", "1500"]);
  pass([1000, 1500]);
  expect(told).toEqual(["lines 10 reached", "segments 10 reached"]);
});

it("a group that is set again replaces itself only", () => {
  set(LINES);
  set([{ id: 1, positionMs: 1500 }], "segments");
  pass([1000]);
  told = [];
  set([{ id: 40, positionMs: 4000 }]);
  expect(told).toEqual([]);
  expect(sent()).toEqual(["4000", "1500"]);
  set([]);
  expect(sent()).toEqual(["1500"]);
});

it("another worker continues with what was passed, and nothing is reported twice", () => {
  set(LINES);
  pass([1000]);
  workers.lose();
  workers.start();
  expect(workers.commands.slice(-2).map(({ type }) => type)).toEqual(["play", "setMarkers"]);
  expect(sent()).toEqual(["1000 done", "2000", "3000"]);
  pass([1000, 2000], "late");
  expect(told).toEqual(["lines 10 reached", "lines 20 late"]);
});

it("markers behind the target of a seek are ahead again, also those that its worker passed before it knew", async () => {
  set(LINES);
  pass([1000, 2000]);
  await player.update({ ...EMPTY_UPDATE, positionMs: 1500 }, { isReplacing: true });
  pass([3000]);
  told = [];
  pass([2000, 3000], "reached", 1);
  expect(told).toEqual(["lines 20 reached", "lines 30 reached"]);
  workers.lose();
  workers.start();
  expect(sent()).toEqual(["1000 done", "2000 done", "3000 done"]);
});

it("a marker that was passed while a seek to behind it was on its way is not passed again", async () => {
  set(LINES);
  await player.update({ ...EMPTY_UPDATE, positionMs: 2500 }, { isReplacing: true });
  pass([1000, 2000]);
  set([{ id: 1, positionMs: 1500 }], "segments");
  expect(sent()).toEqual(["1000 done", "2000 done", "3000", "1500"]);
  pass([2000], "late", 1);
  expect(told).toEqual(["lines 10 reached", "lines 20 reached"]);
});

it("markers end with their track", async () => {
  set(LINES);
  pass([1000]);
  await play();
  expect(told).toEqual(["lines 10 reached"]);
  expect(workers.commands.at(-1)).toMatchObject({ type: "play", trackId: 2 });
  workers.say({ type: "markersPassed", trackId: 1, seekId: 0, passed: [{ id: 2, outcome: "reached", epochMs: 0 }] });
  expect(told).toHaveLength(1);
  workers.say({ type: "trackEnded", trackId: 2, reason: "finished" });
  expect(set(LINES)).toBe(false);
  expect(workers.all("setMarkers")).toHaveLength(1);
});

it("a skip that does not lead forward is none", () => {
  set([
    { id: 1, positionMs: 1000, skipToMs: 1000 },
    { id: 2, positionMs: 1000, skipToMs: 1001 },
  ]);
  expect(workers.last("setMarkers").markers.map(({ skipToMs }) => skipToMs)).toEqual([undefined, 1001]);
});

it.each([
  [[{ id: 1, positionMs: Number.NaN }], "positions of markers are milliseconds of track time, 0 or more"],
  [[{ id: 1, positionMs: 0, skipToMs: -1 }], "positions of markers are milliseconds of track time, 0 or more"],
  [Array.from({ length: 1498 }, (_, id) => ({ id, positionMs: id })), "a track can have 1500 markers; these make 1501"],
])("refused markers leave the group as it is", (markers, message) => {
  set(LINES);
  expect(() => set(markers, "more")).toThrow(message);
  expect(sent()).toEqual(["1000", "2000", "3000"]);
});

it("a listener that throws is logged, and the others hear of theirs", () => {
  player.setMarkers("broken", [{ id: 1, positionMs: 500 }], () => {
    throw new Error("broken");
  });
  set(LINES);
  pass([500, 1000]);
  expect(told).toEqual(["lines 10 reached"]);
  expect(logged).toEqual(["a marker could not be reported: unexpected error"]);
});
