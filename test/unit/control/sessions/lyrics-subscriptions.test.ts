// Lyrics as a player plays them: found or not once for each track, then each line when it is heard.

import { beforeEach, expect, test } from "vitest";
import type { FoundLyrics } from "../../../../src/bridge/plugin-extensions.ts";
import { LyricsSubscriptions } from "../../../../src/control/sessions/lyrics-subscriptions.ts";
import { silentLogger } from "../../../../src/log/log.ts";
import type { Track } from "../../../../src/track/track.ts";
import { settle } from "../../../support/fake-workers.ts";
import { buildTrack } from "../../../support/track-builder.ts";
import { WatchedPlayer } from "../../../support/watched-player.ts";

const TRACK = buildTrack({ title: "Harbour" });
const LINES = [1000, 2000, 3000].map((timestamp) => ({ timestamp, duration: 500, line: `at ${timestamp}` }));
const LYRICS: FoundLyrics = { sourceName: "lrclib", provider: "LRCLIB", text: "…", lines: LINES };

let watched: WatchedPlayer;
let subscriptions: LyricsSubscriptions;
let asked: { readonly title: string; readonly isSourceSkipped: boolean; readonly signal: AbortSignal }[];
let find: (track: Track) => Promise<FoundLyrics | undefined>;

beforeEach(() => {
  watched = new WatchedPlayer();
  asked = [];
  find = async () => LYRICS;
  subscriptions = new LyricsSubscriptions({
    sessions: watched.sessions,
    allowedFor: () => undefined,
    logger: silentLogger,
    lyrics: {
      find: (track, { isSourceSkipped, signal }) => {
        asked.push({ title: track.info.title, isSourceSkipped, signal });
        return find(track);
      },
    },
  });
  watched.onEvent = (event) => subscriptions.onEvent(event);
});

async function subscribe(isSourceSkipped = false): Promise<void> {
  subscriptions.subscribe(watched.session, watched.player, { isSourceSkipped });
  await settle();
}

function line(lineIndex: number, skipped = false): object {
  return { type: "LyricsLineEvent", lineIndex, line: { ...LINES[lineIndex], plugin: {} }, skipped };
}

const FOUND = {
  type: "LyricsFoundEvent",
  lyrics: { ...LYRICS, lines: LINES.map((found) => ({ ...found, plugin: {} })), plugin: {} },
};

test("the lyrics of what plays are sent at once, and each line with whether it was passed over", async () => {
  await watched.play(TRACK);
  await subscribe(true);
  expect(asked).toMatchObject([{ title: "Harbour", isSourceSkipped: true }]);
  expect(watched.sent).toEqual([FOUND]);
  watched.pass([1000], "late");
  watched.pass([2000]);
  watched.pass([3000], "bypassed");
  expect(watched.sent.slice(1)).toEqual([line(0, true), line(1), line(2, true)]);
});

test("each track has its own lyrics, and no line of the one before is sent", async () => {
  await watched.update({ volume: 100 });
  await subscribe();
  expect(asked).toEqual([]);
  await watched.play(TRACK);
  await settle();
  find = async () => undefined;
  await watched.play(buildTrack({ title: "Low Tide" }));
  await settle();
  find = async () => ({ ...LYRICS, lines: null });
  await watched.play(buildTrack({ title: "Without times" }));
  await settle();
  find = () => Promise.reject(new Error("busy"));
  await watched.play(buildTrack({ title: "Busy" }));
  await settle();
  expect(watched.sent).toEqual([FOUND, ...Array(3).fill({ type: "LyricsNotFoundEvent" })]);
  expect(asked.map(({ title }) => title)).toEqual(["Harbour", "Low Tide", "Without times", "Busy"]);
});

test("lyrics that come when another track plays are not sent, and are not waited for", async () => {
  let answer = (_lyrics: FoundLyrics | undefined): void => undefined;
  find = () => new Promise((resolve) => (answer = resolve));
  await watched.play(TRACK);
  await subscribe();
  const first = answer;
  await watched.play(buildTrack({ title: "Low Tide" }));
  expect(asked.map(({ signal }) => signal.aborted)).toEqual([true, false]);
  first(LYRICS);
  await settle();
  expect(watched.sent).toEqual([]);
  answer(undefined);
  await settle();
  expect(watched.sent).toEqual([{ type: "LyricsNotFoundEvent" }]);
});

test("a subscription that is ended sends nothing more, and its markers are gone", async () => {
  await watched.play(TRACK);
  await subscribe();
  subscriptions.unsubscribe(watched.session, watched.player);
  expect(watched.markers).toEqual([]);
  await watched.play(TRACK);
  await settle();
  expect(asked).toHaveLength(1);
  subscriptions.unsubscribe(watched.session, watched.player);
});

test("subscribing twice sends each line once", async () => {
  await watched.play(TRACK);
  await subscribe();
  await subscribe();
  watched.pass([1000]);
  expect(watched.sent).toEqual([FOUND, FOUND, line(0)]);
});

test("a subscription ends with its player, and its memory is given back", async () => {
  await watched.play(TRACK);
  const before = watched.session.memory.usedBytes;
  await subscribe();
  expect(watched.session.memory.usedBytes).toBeGreaterThan(before);
  await watched.destroy();
  expect(watched.session.memory.usedBytes).toBeLessThan(before);
  await watched.play(TRACK);
  await settle();
  expect(asked).toHaveLength(1);
  expect(watched.session.memory.usedBytes).toBe(before);
});

test("of very many lines the first thousand are sent at their times", async () => {
  find = async () => ({
    ...LYRICS,
    lines: Array.from({ length: 1200 }, (_, timestamp) => ({ timestamp, duration: null, line: "" })),
  });
  await watched.play(TRACK);
  await subscribe();
  expect(watched.markers).toHaveLength(1000);
});
