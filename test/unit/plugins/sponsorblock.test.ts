import { createHash } from "node:crypto";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { chapterEntry, SponsorBlockSite, sponsorEntry } from "../../../lab/sites/sponsorblock.ts";
import { SPONSORBLOCK_MANIFEST } from "../../../plugins/sponsorblock/manifest.ts";
import sponsorblock from "../../../plugins/sponsorblock/plugin.ts";
import type { OwnNodeEvent, PlayerWish, WishResults } from "../../../src/bridge/plugin-players.ts";
import { NodeError } from "../../../src/errors.ts";
import type { PlainTree } from "../../../src/lib/plain-tree.ts";
import type { Json, MarkerEvent, TrackMarker } from "../../../src/plugin-api/plugin.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { PluginBench } from "../../support/plugin-bench.ts";
import { buildTrack } from "../../support/track-builder.ts";

const VIDEO = "dQw4w9WgXcQ";
const PATH = "/v4/sessions/:sessionId/players/:guildId/sponsorblock/categories";
const GUILD = { sessionId: "s", guildId: "7" };
const TRACK = buildTrack({ sourceName: "youtube", identifier: VIDEO, length: 200_000 });
const SPONSOR = { category: "sponsor", start: 12_500, end: 31_000 };

let site: SponsorBlockSite;
let bench: PluginBench;
/** What the node has: it plays the track of `playing`, and keeps what it is asked to. */
let kept: Json | undefined;
let playing: NonNullable<NonNullable<WishResults["state"]>["player"]>["playing"];
let markers: readonly TrackMarker[] | undefined;
let setCount: number;
/** How often the plugin has asked for the state. */
let stateCount: number;
/** The session has ended. */
let isOver: boolean;
/** The session has no memory left. */
let isFull: boolean;

beforeEach(async () => {
  site = await SponsorBlockSite.start();
  site.setVideo(VIDEO, [sponsorEntry()]);
  [kept, markers, setCount, stateCount] = [["sponsor"], undefined, 0, 0];
  playing = { playId: 1, track: TRACK, mirror: undefined, positionMs: 0 };
  [isOver, isFull] = [false, false];
  await start();
});
afterEach(async () => {
  bench.close();
  await site.close();
});

async function start(options: PlainTree = {}): Promise<void> {
  bench?.close();
  bench = await PluginBench.start(sponsorblock, { options, hosts: site.hosts, players: carryOut });
}

function carryOut(wish: PlayerWish): WishResults[keyof WishResults] {
  if (wish.kind === "state") stateCount++;
  if (wish.kind === "state") return { kept, player: { isPaused: false, volume: 100, playing } };
  if (wish.kind === "keep" && isOver) return false;
  if (wish.kind === "keep") kept = wish.json === undefined ? undefined : JSON.parse(wish.json);
  if (wish.kind !== "setMarkers") return true;
  if (wish.playId !== playing?.playId) return undefined;
  if (isFull) throw new NodeError("memory-exhausted", "the session needs more");
  markers = wish.markers;
  setCount++;
  return playing.positionMs;
}

function trackEvent(type: "trackStarted" | "trackMirrored"): OwnNodeEvent {
  const { playId, track, mirror } = playing ?? expect.fail("nothing plays");
  return { type, ...GUILD, playId, track, mirror };
}

async function startTrack(): Promise<void> {
  await bench.tell(trackEvent("trackStarted"));
}

/** Starts the track, whose markers are set some time later. */
async function untilSet(count = 1): Promise<void> {
  await expect.poll(() => setCount).toBe(count);
}

async function pass(index: number, outcome: MarkerEvent["outcome"]): Promise<void> {
  const note = markers?.[index]?.note ?? null;
  await bench.tell({ type: "markerPassed", ...GUILD, playId: 1, note, outcome, epochMs: 0 });
}

function sent(): object[] {
  return bench.sent.map(({ eventType, members }) => ({ type: eventType, ...members }));
}

/** Nothing is under way in the plugin any more: the answers of the site take no time. */
async function settled(): Promise<void> {
  await bench.serve(PATH, { segments: GUILD });
}

function serve(method: "GET" | "PUT" | "DELETE", categories?: readonly string[]) {
  return bench.serve(PATH, { method, segments: GUILD, ...(categories && { body: { categories } }) });
}

describe("the manifest", () => {
  test("is what the plugin registers", () => {
    const { routes, aliases, isListening } = bench.manifest;
    const plain = (value: unknown) => JSON.parse(JSON.stringify(value));
    expect(plain({ routes, aliases, isListening })).toEqual(
      plain({ routes: SPONSORBLOCK_MANIFEST.routes, aliases: SPONSORBLOCK_MANIFEST.aliases, isListening: true }),
    );
  });

  test("unknown categories of an operator are refused with those that there are", async () => {
    await expect(start({ categories: ["sponsor", "adverts"] })).rejects.toThrow(
      /^plugins\.sponsorblock\.categories\[1\]: expected one of sponsor, selfpromo, /,
    );
  });
});

describe("categories", () => {
  test("are set, read and removed as in Lavalink's plugin", async () => {
    kept = undefined;
    expect(await serve("GET")).toEqual({ kind: "served", status: 404, message: "Guild not found" });
    expect(await serve("PUT", ["intro", "sponsor", "intro"])).toEqual({ kind: "served", status: 200 });
    expect(await serve("GET")).toEqual({ kind: "served", status: 200, json: ["sponsor", "intro"] });
    expect(await serve("DELETE")).toEqual({ kind: "served", status: 200 });
    expect(await serve("GET")).toMatchObject({ status: 404 });
  });

  test("that could not be kept, as the session has ended meanwhile, are not said to be set", async () => {
    isOver = true;
    expect(await serve("PUT", ["intro"])).toEqual({ kind: "served", status: 404, message: "Session not found" });
    expect(await serve("DELETE")).toEqual({ kind: "served", status: 200 });
  });

  test("take effect at once on what plays, and so does their removal", async () => {
    kept = undefined;
    await startTrack();
    await settled();
    expect(site.requests).toEqual([]);
    await serve("PUT", ["sponsor"]);
    await untilSet();
    expect(markers).toHaveLength(1);
    expect(sent()).toEqual([{ type: "SegmentsLoaded", segments: [SPONSOR] }]);
    await serve("DELETE");
    await untilSet(2);
    expect(markers).toEqual([]);
  });

  test("of the configuration are used where a client has set none, and not where it has set an empty list", async () => {
    expect(bench.lines).toEqual([]);
    await start({ categories: ["sponsor"] });
    expect(bench.lines).toMatchObject([
      { level: "info", message: expect.stringMatching(/^option categories: .*Poru/) },
    ]);
    kept = undefined;
    await startTrack();
    await untilSet();
    expect(markers).toHaveLength(1);
    await serve("PUT", []);
    await untilSet(2);
    expect(markers).toEqual([]);
  });

  test("that are set while segments load count, and the segments are told once", async () => {
    site.setVideo(VIDEO, [sponsorEntry(), sponsorEntry({ category: "intro", segment: [0, 5] })]);
    await startTrack();
    await serve("PUT", ["intro"]);
    await untilSet();
    await settled();
    expect(sent()).toEqual([{ type: "SegmentsLoaded", segments: [{ category: "intro", start: 0, end: 5000 }] }]);
    expect(setCount).toBe(1);
  });
});

describe("asking", () => {
  test("the server learns only the start of the hash, and its answer serves all clients", async () => {
    await startTrack();
    await untilSet();
    kept = ["intro"];
    await startTrack();
    await untilSet(2);
    expect(site.requests).toHaveLength(1);
    const [{ path, query }] = site.requests as [(typeof site.requests)[0]];
    const hash = createHash("sha256").update(VIDEO).digest("hex");
    expect(path).toBe(`/api/skipSegments/${hash.slice(0, 4)}`);
    expect(JSON.parse(query.get("categories") ?? "")).toContain("sponsor");
    expect([...query.values()].join()).not.toContain(VIDEO);
  });

  test("another server is asked where one is configured", async () => {
    bench.close();
    bench = await PluginBench.start(sponsorblock, { options: { server: `${site.url}/` }, players: carryOut });
    await startTrack();
    await untilSet();
    expect(markers).toHaveLength(1);
  });

  test.each<[string, Partial<(typeof TRACK)["info"]>]>([
    ["of another source", { sourceName: "soundcloud", uri: "https://soundcloud.com/a/b" }],
    ["that is a stream", { isStream: true }],
    ["with an id that is none", { identifier: "../../etc" }],
  ])("nobody is asked about a track %s", async (_what, info) => {
    playing = { playId: 1, mirror: undefined, positionMs: 0, track: buildTrack({ ...TRACK.info, ...info }) };
    await startTrack();
    await settled();
    expect(site.requests).toEqual([]);
    expect(setCount).toBe(0);
  });

  test.each([
    ["https://www.youtube.com/watch?v=dQw4w9WgXcQ&t=3", 1],
    ["https://youtu.be/dQw4w9WgXcQ", 1],
    ["https://youtube.com.evil.example/watch?v=dQw4w9WgXcQ", 0],
  ])("of a track that another source has from %s", async (uri, count) => {
    playing = { playId: 1, mirror: undefined, positionMs: 0, track: buildTrack({ sourceName: "ytdlp", uri }) };
    await startTrack();
    await expect.poll(() => site.requests.length).toBe(count);
  });

  test("the video that plays in place of the client's track counts, from when it plays", async () => {
    const track = buildTrack({ sourceName: "spotify", identifier: "1" });
    playing = { playId: 1, track, mirror: undefined, positionMs: 0 };
    await startTrack();
    playing = { playId: 1, track, mirror: TRACK, positionMs: 0 };
    await bench.tell(trackEvent("trackMirrored"));
    await untilSet();
    expect(markers).toMatchObject([{ positionMs: 12_500, skipToMs: 31_000 }]);
    playing = { playId: 1, track, mirror: buildTrack({ sourceName: "soundcloud" }), positionMs: 0 };
    await bench.tell(trackEvent("trackMirrored"));
    await untilSet(2);
    expect(markers).toEqual([]);
  });

  test("segments that come when another video plays under the track's name are not set", async () => {
    const mirror = buildTrack({ sourceName: "youtube", identifier: "anotherone0" });
    const restore = site.fail(() => {
      playing = { playId: 1, track: TRACK, mirror, positionMs: 0 };
      return site.answer(site.requests.at(-1) ?? expect.fail()) ?? {};
    });
    await startTrack();
    await expect.poll(() => playing?.mirror).toBe(mirror);
    restore();
    await expect.poll(() => stateCount).toBe(2);
    await settled();
    expect(setCount).toBe(0);
  });

  test("segments that come when another track plays are not set", async () => {
    const { track } = playing ?? expect.fail();
    const restore = site.fail(() => {
      playing = { playId: 2, track: buildTrack(), mirror: undefined, positionMs: 0 };
      return site.answer(site.requests.at(-1) ?? expect.fail()) ?? {};
    });
    await startTrack();
    await expect.poll(() => playing?.playId).toBe(2);
    restore();
    playing = { playId: 3, track, mirror: undefined, positionMs: 0 };
    await startTrack();
    await untilSet();
    expect(sent()).toHaveLength(1);
  });

  test("a server that does not answer is given up after 4 s, and then left alone", async () => {
    const clock = new FakeClock();
    bench.close();
    bench = await PluginBench.start(sponsorblock, { hosts: site.hosts, players: carryOut, clock });
    site.fail("hang");
    await serve("PUT", ["sponsor"]);
    await expect.poll(() => site.requests.length).toBe(1);
    clock.advance(4000);
    await untilSet();
    await serve("PUT", ["sponsor"]);
    await untilSet(2);
    expect(site.requests).toHaveLength(1);
    expect(markers).toEqual([]);
  });

  test("where the session has no memory left, that is a warning and no error of the plugin", async () => {
    isFull = true;
    await startTrack();
    await expect
      .poll(() => bench.lines.filter(({ level }) => level === "warn" || level === "error"))
      .toMatchObject([
        { level: "warn", message: "segments could not be set", fields: { reason: "the session needs more" } },
      ]);
    expect(sent()).toEqual([]);
  });

  test("a server that refuses everything is left alone after five requests, with a warning", async () => {
    site.fail({ status: 403 });
    for (let count = 1; count <= 7; count++) {
      await serve("PUT", ["sponsor"]);
      await untilSet(count);
    }
    expect(site.requests).toHaveLength(5);
    expect(bench.lines.filter(({ level }) => level === "warn")).toMatchObject([
      { message: expect.stringContaining("circuit breaker opened for sponsorblock/segments") },
    ]);
  });

  test.each<[string, Parameters<SponsorBlockSite["fail"]>[0]]>([
    ["404", { status: 404, text: "Not Found" }],
    ["500", { status: 500, text: "oops" }],
    ["no JSON", { text: "<html>" }],
    ["an object", { json: { segments: [] } }],
    ["a cut connection", "cut"],
  ])("after %s the track plays on without segments, and no error is in the log", async (_what, outcome) => {
    site.fail(outcome);
    await serve("PUT", ["sponsor"]);
    await untilSet();
    expect(markers).toEqual([]);
    expect(sent()).toEqual([]);
    expect(bench.lines.filter(({ level }) => level === "error")).toEqual([]);
  });
});

describe("segments", () => {
  test("only those of the categories that are skipped are told and set, in their order", async () => {
    kept = ["sponsor", "intro"];
    site.setVideo(VIDEO, [
      sponsorEntry({ segment: [100, 200] }),
      sponsorEntry({ segment: [20.25, 40.0004] }),
      sponsorEntry({ segment: [0, 10], category: "intro" }),
      sponsorEntry({ segment: [50, 60], category: "outro" }),
      sponsorEntry({ segment: [61, 62], actionType: "mute" }),
      sponsorEntry({ segment: [0, 0], actionType: "full" }),
    ]);
    await startTrack();
    await untilSet();
    const segments = [
      { category: "intro", start: 0, end: 10_000 },
      { category: "sponsor", start: 20_250, end: 40_000 },
      { category: "sponsor", start: 100_000, end: 200_000 },
    ];
    expect(sent()).toEqual([{ type: "SegmentsLoaded", segments }]);
    expect(markers).toMatchObject(segments.map(({ start, end }) => ({ positionMs: start, skipToMs: end })));
  });

  test("entries of wrong types are left out", async () => {
    const wrong = [
      { segment: "12" },
      { segment: [1] },
      { segment: ["1", "2"] },
      { segment: [5, 4] },
      { segment: [-1, 4] },
      { segment: [1, 1e300] },
      { segment: [null, 4] },
      { category: 7 },
      { category: "__proto__" },
      { actionType: {} },
    ];
    const entries = [null, ...wrong.map(sponsorEntry), sponsorEntry()];
    site.fail({ json: [null, 7, { videoID: VIDEO }, { videoID: VIDEO, segments: entries }] });
    await startTrack();
    await untilSet();
    expect(sent()).toEqual([{ type: "SegmentsLoaded", segments: [SPONSOR] }]);
  });

  test("of 10,000 the first hundred are taken", async () => {
    site.setVideo(
      VIDEO,
      Array.from({ length: 10_000 }, (_, index) => sponsorEntry({ segment: [10_000 - index, 10_000.5 - index] })),
    );
    await startTrack();
    await untilSet();
    expect(markers).toHaveLength(100);
    expect(markers?.[0]).toMatchObject({ positionMs: 1000 });
  });

  test("SegmentSkipped tells of each that is skipped, also from its middle, and of no other", async () => {
    site.setVideo(VIDEO, [sponsorEntry({ segment: [1, 2] }), sponsorEntry({ segment: [3, 10] }), sponsorEntry()]);
    if (playing !== undefined) playing = { ...playing, positionMs: 5000 };
    await startTrack();
    await untilSet();
    await pass(0, "late");
    await pass(1, "late");
    await pass(2, "bypassed");
    await pass(2, "reached");
    const skipped = [{ category: "sponsor", start: 3000, end: 10_000 }, SPONSOR];
    expect(sent().slice(1)).toEqual(skipped.map((segment) => ({ type: "SegmentSkipped", segment })));
  });
});

describe("chapters", () => {
  const FIRST = { name: "Arrival", start: 0, end: 60_000, duration: 60_000 };
  const SECOND = { name: "Departure", start: 60_000, end: 90_500, duration: 30_500 };

  beforeEach(async () => {
    site.setVideo(VIDEO, [
      chapterEntry("Departure", [60, 90.5]),
      chapterEntry(" ", [1, 2]),
      chapterEntry("Arrival", [0, 60]),
    ]);
    await startTrack();
    await untilSet();
  });

  test("are told, and each when it starts", async () => {
    expect(sent()).toEqual([{ type: "ChaptersLoaded", chapters: [FIRST, SECOND] }]);
    await pass(1, "reached");
    expect(sent().slice(1)).toEqual([{ type: "ChapterStarted", chapter: SECOND }]);
  });

  test("after a seek only the one that is heard has started", async () => {
    if (playing !== undefined) playing = { ...playing, positionMs: 70_000 };
    await pass(0, "late");
    await pass(1, "bypassed");
    await expect.poll(sent).toHaveLength(2);
    expect(sent().slice(1)).toEqual([{ type: "ChapterStarted", chapter: SECOND }]);
  });
});
