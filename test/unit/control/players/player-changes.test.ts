import { beforeEach, expect, test } from "vitest";
import type { PositionReport } from "../../../../src/bridge/position-report.ts";
import type { VoiceCredentials } from "../../../../src/bridge/voice-credentials.ts";
import { DeadlyTracks } from "../../../../src/control/players/deadly-tracks.ts";
import { Player } from "../../../../src/control/players/player.ts";
import type { PlayerIntent } from "../../../../src/control/players/player-intent.ts";
import type { PlayerUpdate } from "../../../../src/control/players/player-update.ts";
import { SharedIncidents } from "../../../../src/control/players/shared-incidents.ts";
import { UpdateTimer } from "../../../../src/control/players/update-timer.ts";
import { silentLogger } from "../../../../src/log/log.ts";
import { FakeClock } from "../../../support/fake-clock.ts";
import { FakeWorkers, settle } from "../../../support/fake-workers.ts";
import { EMPTY_UPDATE } from "../../../support/session-builders.ts";
import { buildTrack } from "../../../support/track-builder.ts";

const CREDENTIALS: VoiceCredentials = { token: "t1", endpoint: "voice.example:443", sessionId: "s", channelId: "9" };

let clock: FakeClock;
let workers: FakeWorkers;
let player: Player;
/** What a store would have: the snapshot of the last change, taken once the change was complete. */
let stored: PlayerIntent | undefined;
let changeCount: number;

/** A player that plays in a voice channel, at 10 s, after a second in which it has announced all changes. */
beforeEach(async () => {
  changeCount = 0;
  clock = new FakeClock();
  workers = new FakeWorkers(clock);
  player = new Player({
    guildId: "1",
    userId: "42",
    sessionId: "session",
    account: "address test",
    sink: { send: () => undefined },
    workers,
    tracks: {
      load: () => Promise.reject(new Error("no loads in this test")),
      playableInput: ({ info }) => ({ kind: "http", url: info.identifier, container: "mp3" }),
    },
    updateTimer: new UpdateTimer({ clock, intervalMs: 5000 }),
    clock,
    onChanged: () => {
      changeCount += 1;
    },
    logger: silentLogger,
    deadlyTracks: new DeadlyTracks(),
    sharedIncidents: new SharedIncidents({ clock, logger: silentLogger }),
    voiceConnectTimeoutMs: 5000,
  });
  await connect();
  await play({ positionMs: 9000 });
  report(9000);
  takeMove();
  report(10_000);
});

function update(change: Partial<PlayerUpdate>): Promise<void> {
  return player.update({ ...EMPTY_UPDATE, ...change }, { isReplacing: true });
}

function play(more: Partial<PlayerUpdate> = {}): Promise<void> {
  return update({ trackChange: { kind: "play", track: buildTrack() }, ...more });
}

async function connect(voice = CREDENTIALS): Promise<void> {
  const connected = update({ voice });
  await settle();
  await workers.reply("connectVoice", { isConnected: true });
  await connected;
}

function report(positionMs: number, more: Partial<PositionReport> = {}): void {
  const { trackId } = workers.last("play");
  const seekId = workers.all("seek").at(-1)?.seekId ?? 0;
  const base = { playerId: workers.playerId, trackId, seekId, positionMs, epochMs: clock.epochMs(), rate: 1 };
  workers.say({ type: "position", report: { ...base, ...more } });
}

/** Whether a change was announced since the last call; if so, it is stored. */
function takeChange(): boolean {
  const wasChanged = changeCount > 0;
  changeCount = 0;
  if (wasChanged) stored = player.snapshot();
  return wasChanged;
}

/** The same of changes that the worker reports: they are announced within a second, and none is pending then. */
function takeMove(): boolean {
  clock.advance(1000);
  return takeChange();
}

/** What the store's snapshot says of now. */
function storedMs(): number {
  const { positionMs = 0, epochMs = 0, rate = 0 } = stored?.track ?? {};
  return positionMs + (clock.epochMs() - epochMs) * rate;
}

const UPDATES: readonly (readonly [string, Partial<PlayerUpdate>])[] = [
  ["a pause", { isPaused: true }],
  ["a seek", { positionMs: 20_000 }],
  ["an end time", { endTimeMs: 25_000 }],
  ["user data", { userData: { who: "me" } }],
  ["a volume", { volume: 7 }],
  ["filters", { filters: { volume: 0.5 } }],
  ["another track", { trackChange: { kind: "play", track: buildTrack({ title: "Next" }) } }],
  ["a stop", { trackChange: { kind: "stop" } }],
];

test.each(UPDATES)("%s is a change, and the snapshot has it", async (_name, change) => {
  const before = player.snapshot();
  await update(change);
  expect(takeChange()).toBe(true);
  expect(stored).not.toEqual(before);
});

test("other voice values and the close of the connection are changes", async () => {
  await connect({ ...CREDENTIALS, token: "t2" });
  expect([takeChange(), stored?.voice?.credentials.token]).toEqual([true, "t2"]);
  workers.say({ type: "voiceClosed", voiceId: 2, code: 4014, reason: "", isByRemote: true });
  expect([takeChange(), stored?.voice?.isClosed]).toEqual([true, true]);
});

test("the end of a track is a change", () => {
  workers.say({ type: "trackEnded", trackId: 1, reason: "finished" });
  expect([takeChange(), stored?.track]).toEqual([true, undefined]);
});

test("reports of a track that only plays on are no changes", () => {
  for (let count = 0; count < 20; count++) {
    clock.advance(500);
    report(10_000 + (count + 1) * 500);
  }
  expect([storedMs(), player.snapshot().track?.positionMs]).toEqual([20_000, 20_000]);
  expect(takeMove()).toBe(false);
});

test("a report after a long silence that is where the track was to be is no change", () => {
  clock.advance(8000);
  report(18_000);
  expect(takeMove()).toBe(false);
});

test.each([
  ["250 ms off is no change", 250, false],
  ["-250 ms off is no change", -250, false],
  ["251 ms off is a change", 251, true],
  ["-251 ms off is a change", -251, true],
])("a position that is %s", (_name, offMs, isJump) => {
  clock.advance(500);
  report(10_500 + offMs);
  expect(takeMove()).toBe(isJump);
});

test("a stall, its end and another speed are changes", () => {
  clock.advance(500);
  report(10_500, { rate: 0 });
  expect([takeMove(), stored?.track?.rate]).toEqual([true, 0]);
  clock.advance(3000);
  report(10_500, { rate: 0 });
  expect(takeMove()).toBe(false);
  report(10_500, { rate: 1 });
  expect([takeMove(), stored?.track?.rate]).toEqual([true, 1]);
  report(11_500, { rate: 1.25 });
  expect([takeMove(), stored?.track?.rate]).toEqual([true, 1.25]);
  clock.advance(800);
  expect(storedMs()).toBe(13_750);
});

test("a storm of stalls is a change once a second, and the last one is as the track is then", () => {
  for (let count = 1; count <= 500; count++) {
    clock.advance(20);
    report(10_000 + count * 10, { rate: count % 2 });
  }
  expect(changeCount).toBe(9);
  expect([takeMove(), stored?.track]).toMatchObject([true, { positionMs: 15_000, rate: 0 }]);
  expect(takeMove()).toBe(false);
});

test("a request is announced at once, also soon after a stall", async () => {
  report(10_000, { rate: 0 });
  expect(takeChange()).toBe(false);
  await update({ volume: 7 });
  expect([takeChange(), stored?.volume, stored?.track?.rate]).toEqual([true, 7, 0]);
});

test("a pause and its end are changes, and the reports between them are not", async () => {
  await update({ isPaused: true });
  expect([takeChange(), stored?.track?.rate]).toEqual([true, 0]);
  report(10_000, { rate: 0 });
  clock.advance(500);
  report(10_000, { rate: 0 });
  expect(takeMove()).toBe(false);
  await update({ isPaused: false });
  expect([takeChange(), stored?.track?.rate]).toEqual([true, 1]);
});

test("a track that has started and is not audible yet counts as playing, and its first audio is a change", async () => {
  await play({ positionMs: 5000 });
  expect([takeChange(), stored?.track]).toMatchObject([true, { positionMs: 5000, rate: 1 }]);
  for (let count = 0; count < 4; count++) {
    clock.advance(500);
    report(5000, { rate: 0 });
  }
  expect(takeMove()).toBe(false);
  expect(player.snapshot().track).toMatchObject({ positionMs: 5000, epochMs: clock.epochMs(), rate: 1 });
  report(5000);
  expect([takeMove(), storedMs()]).toEqual([true, 6000]);
});

test("a track that has started without voice, or paused, does not count as playing", async () => {
  workers.say({ type: "voiceClosed", voiceId: 1, code: 4014, reason: "", isByRemote: true });
  await play();
  expect(player.snapshot().track?.rate).toBe(0);
  await connect();
  expect(player.snapshot().track?.rate).toBe(1);
  await play({ isPaused: true });
  expect(player.snapshot().track?.rate).toBe(0);
});

test("a seek is seen where it leads to, and reports from before it are no changes", async () => {
  await update({ positionMs: 20_000 });
  expect([takeChange(), stored?.track?.positionMs]).toEqual([true, 20_000]);
  report(10_100, { seekId: 0 });
  expect(takeMove()).toBe(false);
});

test("a lost worker is no change of a track that plays on elsewhere, and its first audio there is one", () => {
  clock.advance(500);
  workers.lose();
  clock.advance(1000);
  workers.start();
  expect(takeMove()).toBe(false);
  expect(player.snapshot().track).toMatchObject({ positionMs: 10_500, rate: 1 });
  report(10_500);
  expect([takeMove(), storedMs()]).toEqual([true, 11_500]);
});

test("a player that is being destroyed has no changes any more", () => {
  report(10_000, { rate: 0 });
  const { pendingCount } = clock;
  void player.destroy();
  expect(clock.pendingCount).toBe(pendingCount);
  expect([player.toJson().track, takeMove()]).toEqual([null, false]);
});
