import { beforeEach, describe, expect, test } from "vitest";
import type { PlayableLink } from "../../../../src/bridge/playable-link.ts";
import { allowedSources, UNLIMITED } from "../../../../src/control/access/identity.ts";
import type { LoadResult } from "../../../../src/control/sources/load-result.ts";
import type { PluginFallback } from "../../../../src/control/sources/mirror-providers.ts";
import { Mirrors } from "../../../../src/control/sources/mirrors.ts";
import type { LoadOptions } from "../../../../src/control/sources/track-loader.ts";
import { ERROR_FAULTS, NodeError } from "../../../../src/errors.ts";
import type { Owner } from "../../../../src/lib/owners.ts";
import { createLogger } from "../../../../src/log/log.ts";
import { decodeTrack, type Track } from "../../../../src/track/track.ts";
import { UNKNOWN_LENGTH_MS } from "../../../../src/track/track-details.ts";
import type { TrackInfo } from "../../../../src/track/track-info.ts";
import { writeTracks } from "../../../../src/track/written-tracks.ts";
import { FakeClock } from "../../../support/fake-clock.ts";
import { settle } from "../../../support/fake-workers.ts";
import { buildTrack } from "../../../support/track-builder.ts";

const OWNER: Owner = ["key a", "key a, user 1"];
const PREFIXES: Readonly<Record<string, string>> = {
  ytsearch: "youtube",
  scsearch: "soundcloud",
  bcsearch: "bandcamp",
  ytmsearch: "youtube",
  spsearch: "spotify",
};
const LINK: PlayableLink = {
  kind: "link",
  url: "https://media.example/song",
  headers: {},
  container: undefined,
  expiresAtEpochMs: undefined,
  variant: undefined,
  rangeStep: undefined,
  egress: "machine",
  isOwnServer: false,
};
const NOT_FOUND = "The same recording was looked for elsewhere (scsearch, bcsearch) and not found.";
const VIDEO = trackOf("youtube", { title: "Artist - Song (Official Video)", author: "ArtistVEVO" });

let clock: FakeClock;
let list: PluginFallback[];
let answers: Map<string, LoadResult | Error | "never">;
let loads: { readonly identifier: string; readonly options: LoadOptions }[];
let allowed: readonly string[] | undefined;
let lines: string[];
let providers: string[];
let mirrored: string[];
/** By the identifier of the track. Default: a link. */
let links: Map<string, PlayableLink | Error | "never">;
let resolved: string[];
/** The user data with each. */
let given: unknown[];
let isrcs: (string | undefined | Error | "never")[];
let mirrors: Mirrors;

beforeEach(() => {
  clock = new FakeClock();
  list = [{ path: "plugins.youtube.fallback", sourceNames: ["youtube"], prefixes: ["scsearch", "bcsearch"] }];
  answers = new Map();
  loads = [];
  allowed = undefined;
  lines = [];
  [providers, mirrored, links, resolved, isrcs, given] = [[], [], new Map(), [], [], []];
  mirrors = createMirrors();
});

function createMirrors(): Mirrors {
  return new Mirrors({
    loader: {
      get mirroredNames() {
        return mirrored;
      },
      playableInput: ({ info, encoded, userData }) => ({
        kind: "site",
        track: { sourceName: info.sourceName, encoded, userData },
      }),
      load: (identifier, options) => {
        loads.push({ identifier, options });
        const answer = answers.get(identifier.split(":")[0] ?? "") ?? { kind: "empty" };
        return settled(answer);
      },
      claimantOf: (identifier) => PREFIXES[identifier.split(":")[0] ?? ""],
    },
    links: {
      link: ({ track }) => {
        const { identifier } = decodeTrack(track.encoded).info;
        resolved.push(identifier);
        given.push(track.userData);
        return settled(links.get(identifier) ?? LINK);
      },
      isrcOf: () => settled(isrcs.shift()),
    },
    list: () => list,
    providers,
    allowedFor: () => {
      return allowed && allowedSources({ name: "a", limits: { ...UNLIMITED, sources: new Set(allowed) } });
    },
    clock,
    logger: createLogger((level, message) => lines.push(`${level} ${message}`)),
  });
}

/** Nobody who never answers listens to a signal. */
function settled<Value>(answer: Value | Error | "never"): Promise<Value> {
  if (answer === "never") return new Promise(() => undefined);
  return answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer);
}

function trackOf(sourceName: string, info: Partial<TrackInfo> = {}) {
  return buildTrack({ sourceName, title: "Song", author: "Artist", length: 200_000, ...info });
}

function search(...infos: Partial<TrackInfo>[]): LoadResult {
  return { kind: "search", tracks: writeTracks(infos.map((info) => trackOf("soundcloud", info))) };
}

/** Of a site with music, one result. */
function result(sourceName: string, identifier: string, more: Partial<Track> = {}): LoadResult {
  return { kind: "search", tracks: writeTracks([{ ...trackOf(sourceName, { identifier }), ...more }]) };
}

/** The source and identifier, or the sentence that says where it was looked for. */
async function find(track = VIDEO, tried: ReturnType<typeof trackOf>[] = []) {
  const { mirror, ...missed } = await mirrors.find(track, {
    owner: OWNER,
    tried,
    signal: new AbortController().signal,
  });
  if (mirror === undefined) return "missText" in missed ? missed.missText : "";
  return [mirror.track.info.sourceName, mirror.track.info.identifier];
}

describe("the reasons to look elsewhere", () => {
  test("a track that its source, its media or its plugin keeps from starting is looked for elsewhere", () => {
    const reasons = Object.keys(ERROR_FAULTS).filter((code) => mirrors.isFor(VIDEO, { code }));
    expect(reasons).toEqual(
      expect.arrayContaining([
        "site-unavailable",
        "site-busy",
        "site-changed",
        "site-unreachable",
        "plugin-lost",
        "link-refused",
        "input-http-status",
        "media-unknown-format",
      ]),
    );
    for (const code of [
      "key-forbidden",
      "load-busy",
      "worker-busy",
      "track-crashes-worker",
      "internal",
      "worker-lost",
    ]) {
      expect(reasons).not.toContain(code);
    }
  });

  test("a stream, and a track of a source without a fallback, are not looked for", () => {
    const code = "site-unavailable";
    expect(mirrors.isFor(trackOf("youtube", { isStream: true }), { code })).toBe(false);
    expect(mirrors.isFor(trackOf("soundcloud"), { code })).toBe(false);
    list = [];
    expect(mirrors.isFor(VIDEO, { code })).toBe(false);
  });
});

describe("the search", () => {
  test("the first result that is the same recording is chosen", async () => {
    answers.set("scsearch", search({ identifier: "live", title: "Song (Live)" }, { identifier: "right" }));
    expect(await find()).toEqual(["soundcloud", "right"]);
    // Not behind the loads of its client.
    const owner = ["key a", "key a, links"];
    expect(loads).toMatchObject([{ identifier: "scsearch:artist song", options: { owner } }]);
  });

  test("a result with the same ISRC goes before those that only look the same", async () => {
    answers.set(
      "scsearch",
      search({ identifier: "first" }, { identifier: "right", isrc: "GBARL9300135", title: "S." }),
    );
    expect(await find(trackOf("youtube", { isrc: "GBARL9300135" }))).toEqual(["soundcloud", "right"]);
  });

  test("the next fallback is asked when one finds nothing, fails or is refused", async () => {
    answers.set("bcsearch", { kind: "track", track: trackOf("bandcamp", { identifier: "b" }) });
    for (const answer of [search(), new NodeError("key-forbidden", "no"), undefined]) {
      if (answer === undefined) answers.delete("scsearch");
      else answers.set("scsearch", answer);
      expect(await find()).toEqual(["bandcamp", "b"]);
    }
  });

  test("nothing is found: the client is told what was asked", async () => {
    expect(await find()).toBe(NOT_FOUND);
  });

  test("a miss is logged, unless it is known, or its account has many; a failure is for debugging", async () => {
    const look = (owner: Owner, title: string) =>
      mirrors.find(trackOf("youtube", { title }), { owner, tried: [], signal: new AbortController().signal });
    expect(await look(OWNER, "0")).toMatchObject({ isLogged: true });
    expect(await look(OWNER, "0")).toMatchObject({ isLogged: false });
    answers.set("scsearch", new NodeError("site-busy", "busy"));
    for (let count = 1; count < 20; count++) await look(OWNER, String(count));
    expect(await look(OWNER, "more")).toMatchObject({ isLogged: false });
    expect(await look(["key b"], "more")).toMatchObject({ isLogged: true });
    expect(new Set(lines)).toEqual(new Set(["debug search for a mirror failed"]));
  });

  test("tracks are counted by the sources from which they were heard", () => {
    mirrored = ["spotify"];
    mirrors.count(VIDEO, trackOf("soundcloud"));
    mirrors.count(VIDEO, trackOf("soundcloud"));
    mirrors.count(trackOf("spotify"), undefined);
    expect([mirrors.fallbackCounts, mirrors.mirrorCounts]).toEqual([
      [{ from: "youtube", to: "soundcloud", count: 2 }],
      [{ from: "spotify", to: "none", count: 1 }],
    ]);
  });

  test("only ten results are compared", async () => {
    const others = Array.from({ length: 10 }, (_, index) => ({ title: `Other ${index}` }));
    answers.set("scsearch", search(...others, { identifier: "eleventh" }));
    expect(await find()).toEqual(expect.stringContaining("not found"));
  });

  test("what was tried before is not chosen again", async () => {
    answers.set("scsearch", search({ identifier: "one" }, { identifier: "two" }));
    expect(await find(VIDEO, [trackOf("soundcloud", { identifier: "one" })])).toEqual(["soundcloud", "two"]);
  });

  test("a stream is never chosen, nor a track of the source that failed", async () => {
    answers.set("scsearch", search({ isStream: true, length: UNKNOWN_LENGTH_MS }));
    answers.set("bcsearch", { kind: "track", track: trackOf("youtube") });
    expect(await find()).toEqual(expect.stringContaining("not found"));
    list = [{ path: "p", sourceNames: ["youtube"], prefixes: ["ytsearch"] }];
    expect(await find()).toEqual(expect.stringContaining("not found"));
    expect(loads.map(({ identifier }) => identifier)).not.toContain("ytsearch:artist song");
  });

  test("a key plays only from the sources that it may use", async () => {
    answers.set("scsearch", search({ identifier: "sc" }));
    answers.set("bcsearch", { kind: "track", track: trackOf("bandcamp", { identifier: "b" }) });
    allowed = ["youtube", "bandcamp"];
    expect(await find()).toEqual(["bandcamp", "b"]);
    expect(loads.map(({ identifier, options }) => [identifier, options.allowed?.names])).toEqual([
      ["bcsearch:artist song", ["bandcamp", "youtube"]],
    ]);
    // A search of one source that answers with the tracks of another.
    answers.set("bcsearch", search({ identifier: "sc" }));
    mirrors = createMirrors();
    expect(await find()).toEqual(expect.stringContaining("not found"));
  });

  test("a source that does not answer leaves half of the 10 s to the other one", async () => {
    answers.set("scsearch", "never");
    answers.set("bcsearch", { kind: "track", track: trackOf("bandcamp", { identifier: "b" }) });
    const finding = find();
    await settle();
    clock.advance(4999);
    expect(loads).toHaveLength(1);
    clock.advance(1);
    expect(await finding).toEqual(["bandcamp", "b"]);
  });

  test("prefixes that cannot be asked leave all of the 10 s to the one that can", async () => {
    answers.set("scsearch", "never");
    allowed = ["youtube", "soundcloud"];
    // Its own source, an unknown one, and one that the key may not use, on both sides.
    const prefixes = ["ytsearch", "scsaerch", "scsearch", "bcsearch"];
    list = [{ path: "p", sourceNames: ["youtube"], prefixes }];
    const finding = find();
    await settle();
    clock.advance(10_000);
    expect(await finding).toContain("; scsearch could not be searched (no answer within 10.0 s)");
  });

  test("all searches together take 10 s at most", async () => {
    answers.set("scsearch", "never");
    answers.set("bcsearch", "never");
    const finding = find();
    await settle();
    clock.advance(5000);
    await settle();
    expect(loads).toHaveLength(2);
    clock.advance(4999);
    let isOver = false;
    void finding.then(() => (isOver = true));
    clock.advance(0);
    expect(isOver).toBe(false);
    clock.advance(1);
    const reason = "could not be searched (no answer within 5.0 s)";
    expect(await finding).toBe(`The same recording was not found: scsearch ${reason}; bcsearch ${reason}.`);
  });

  test("the client is told what could not be searched, and why", async () => {
    answers.set("scsearch", new NodeError("site-busy", "too many requests"));
    expect(await find()).toBe(
      "The same recording was looked for elsewhere (bcsearch) and not found; scsearch could not be searched (too many " +
        "requests).",
    );
    allowed = ["youtube", "bandcamp"];
    expect(await find()).toMatch(/; scsearch could not be searched \(this key may not use soundcloud\)\.$/);
    list = [{ path: "p", sourceNames: ["youtube"], prefixes: ["scsaerch"] }];
    expect(await find()).toBe(
      "The same recording was not found: scsaerch could not be searched (no source has this prefix, or its source is off).",
    );
  });

  test("a search whose player has no use for it any more is ended", async () => {
    answers.set("scsearch", "never");
    const abort = new AbortController();
    const finding = mirrors.find(VIDEO, { owner: OWNER, tried: [], signal: abort.signal });
    await settle();
    abort.abort(new Error("stopped"));
    await expect(finding).rejects.toThrow("stopped");
    expect(loads).toHaveLength(1);
  });
});

describe("the track of a source without audio", () => {
  const TRACK = trackOf("spotify", { identifier: "4uLU", isrc: "GB-ARL-93-00135" });
  const asked = () => loads.map(({ identifier }) => identifier);

  beforeEach(() => {
    mirrored = ["spotify"];
    list = [];
  });

  test("it is looked for at once, unless it is a preview or a stream", () => {
    expect(mirrors.isNeeded(TRACK)).toBe(true);
    expect(mirrors.isNeeded({ ...TRACK, pluginInfo: { isPreview: true } })).toBe(false);
    expect(mirrors.isNeeded(trackOf("spotify", { isStream: true }))).toBe(false);
    expect(mirrors.isNeeded(VIDEO)).toBe(false);
  });

  test("without configured providers it is looked for by ISRC, then by title and artist, wherever there is music", async () => {
    answers.set("bcsearch", result("bandcamp", "b"));
    expect(await find(TRACK)).toEqual(["bandcamp", "b"]);
    expect(asked()).toEqual([
      'ytmsearch:"GBARL9300135"',
      "ytmsearch:artist song",
      "ytsearch:artist song",
      "scsearch:artist song",
      "bcsearch:artist song",
    ]);
  });

  test("nobody has it: where was looked", async () => {
    expect(await find(trackOf("spotify"))).toBe(
      "The same recording was looked for elsewhere (ytmsearch, ytsearch, scsearch, bcsearch) and not found.",
    );
  });

  test("configured providers replace those, and those without a value are left out", async () => {
    providers = ["dzisrc:%ISRC%", "scsearch:%TITLE% %ALBUM% by %AUTHOR%", "bcsearch"];
    mirrors = createMirrors();
    await find({ ...trackOf("spotify"), pluginInfo: { albumName: "First" } });
    expect(asked()).toEqual(["scsearch:Song First by Artist", "bcsearch:artist song"]);
  });

  test.each([
    ["https://evil.example/a.mp3", "scsearch:https evil.example a.mp3"],
    ["x@www.youtube.com/watch?v=1", "scsearch:x www.youtube.com watch v 1"],
    ['a" OR "b\r\n%ISRC%', "scsearch:a OR b ISRC"],
    ["夜に駆ける \u202E(Live)", "scsearch:夜に駆ける Live"],
    ["x".repeat(9000), `scsearch:${"x".repeat(150)}`],
  ])("a title is no more than words of a search: %j", async (title, identifier) => {
    providers = ["scsearch:%TITLE%"];
    mirrors = createMirrors();
    await find(trackOf("spotify", { title }));
    expect(asked()).toEqual([identifier]);
  });

  test("of one search, the best match that can be played is chosen, with the reasons", async () => {
    const isrc = "GBARL9300135";
    answers.set("scsearch", search({ identifier: "good" }, { identifier: "best", isrc }));
    const { mirror } = await mirrors.find(TRACK, { owner: OWNER, tried: [], signal: new AbortController().signal });
    expect(mirror).toMatchObject({
      track: { info: { identifier: "best" } },
      provider: "scsearch:%QUERY%",
      score: expect.any(Number),
      reasons: expect.arrayContaining([expect.any(String)]),
    });
    expect(resolved).toEqual(["best"]);
  });

  test("previews, and tracks of other sources without audio, are no candidates", async () => {
    mirrored = ["spotify", "charts"];
    answers.set("ytsearch", result("soundcloud", "part", { pluginInfo: { isPreview: true } }));
    answers.set("scsearch", result("charts", "c"));
    answers.set("bcsearch", { kind: "track", track: trackOf("bandcamp", { length: 30_000 }) });
    expect(await find(TRACK)).toContain("not found");
    expect(resolved).toEqual([]);
  });

  test("a result that its site does not give, or gives in part only, is passed over for the next", async () => {
    answers.set("ytmsearch", search({ identifier: "drm" }, { identifier: "part" }, { identifier: "whole" }));
    links.set("drm", new NodeError("site-unavailable", "protected by DRM"));
    links.set("part", { ...LINK, isPreview: true } as PlayableLink);
    expect(await find(TRACK)).toEqual(["soundcloud", "whole"]);
    expect(resolved).toEqual(["drm", "part", "whole"]);
  });

  test("a provider whose results are all refused is passed over, and the client is told why", async () => {
    const refusal = new NodeError("site-unavailable", "HTTP 404");
    for (const identifier of ["1", "2", "3", "4"]) links.set(identifier, refusal);
    const found = search(...["1", "2", "3", "4"].map((identifier) => ({ identifier })));
    answers.set("ytmsearch", found);
    answers.set("scsearch", found);
    answers.set("ytsearch", new NodeError("site-changed", "a challenge page instead of results"));
    answers.set("bcsearch", result("bandcamp", "b"));
    expect(await find(TRACK)).toEqual(["bandcamp", "b"]);
    // A handful of each search, and what was refused once is not asked again.
    expect(resolved).toEqual(["1", "2", "3", "4", "b"]);
    answers.delete("bcsearch");
    expect(await find(trackOf("spotify"))).toBe(
      "The same recording was looked for elsewhere (ytmsearch, scsearch, bcsearch) and not found; what ytmsearch has " +
        "could not be played (HTTP 404); ytsearch could not be searched (a challenge page instead of results); what " +
        "scsearch has could not be played (HTTP 404).",
    );
  });

  test("a result that no node could decode is passed over", async () => {
    // Tracks of that name have other fields than this one.
    answers.set("ytsearch", result("youtube", "y"));
    answers.set("scsearch", search({ identifier: "sc" }));
    expect(await find(TRACK)).toEqual(["soundcloud", "sc"]);
  });

  test("a site that does not give a link in 5 s is passed over", async () => {
    answers.set("bcsearch", search({ identifier: "slow" }, { identifier: "quick" }));
    links.set("slow", "never");
    const finding = find(TRACK);
    for (let provider = 0; provider < 5; provider++) await settle();
    clock.advance(4999);
    await settle();
    expect(resolved).toEqual(["slow"]);
    clock.advance(1);
    expect(await finding).toEqual(["soundcloud", "quick"]);
  });

  test("a provider has its share of the time for its search and all links together", async () => {
    answers.set("ytmsearch", search({ identifier: "1" }, { identifier: "2" }, { identifier: "3" }));
    for (const identifier of ["1", "2", "3"]) links.set(identifier, "never");
    answers.set("scsearch", search({ identifier: "quick" }));
    const finding = find(TRACK);
    // A fifth for the ISRC; a quarter of the rest for the same prefix with words.
    for (let part = 0; part < 2; part++) {
      await settle();
      clock.advance(2000);
    }
    expect(await finding).toEqual(["soundcloud", "quick"]);
    expect(resolved).toEqual(["1", "2", "quick"]);
  });

  test("a share is no less than 2 s, and who is left without time is not asked", async () => {
    for (const prefix of ["ytmsearch", "ytsearch", "scsearch", "bcsearch"]) answers.set(prefix, "never");
    const { signal } = new AbortController();
    const finding = mirrors.find(TRACK, { owner: OWNER, tried: [], signal, untilMs: 4000 });
    for (let part = 0; part < 2; part++) {
      await settle();
      clock.advance(1999);
      await settle();
      expect(loads).toHaveLength(part + 1);
      clock.advance(1);
    }
    const { missText } = { missText: "", ...(await finding) };
    expect(missText).toContain("; ytsearch could not be searched (no time was left); scsearch could");
    expect(loads).toHaveLength(2);
  });

  test("a provider that does not answer leaves time to the others, one behind an open breaker all of it", async () => {
    answers.set("ytmsearch", new NodeError("site-unreachable", "youtube is left alone for a while"));
    answers.set("ytsearch", "never");
    answers.set("scsearch", search({ identifier: "sc" }));
    const finding = find(TRACK);
    await settle();
    // A third of 10 s.
    clock.advance(3333);
    expect(resolved).toEqual([]);
    clock.advance(1);
    expect(await finding).toEqual(["soundcloud", "sc"]);
  });

  test("a search that has to be over earlier is", async () => {
    for (const prefix of ["ytmsearch", "ytsearch", "scsearch", "bcsearch"]) answers.set(prefix, "never");
    const { signal } = new AbortController();
    const finding = mirrors.find(trackOf("spotify"), { owner: OWNER, tried: [], signal, untilMs: 4000 });
    for (let second = 1; second <= 4; second++) {
      await settle();
      clock.advance(1000);
    }
    expect(await finding).toMatchObject({ mirror: undefined });
  });

  test("a failure that another source might not have is a reason to look for the next", () => {
    expect(mirrors.isFor(TRACK, { code: "input-http-status" }, { hasMirror: true })).toBe(true);
    const codes = Object.keys(ERROR_FAULTS).filter((code) => mirrors.isFor(TRACK, { code }, { hasMirror: true }));
    expect(codes).toEqual(
      expect.arrayContaining([
        "codec-unavailable",
        "input-changed",
        "media-not-seekable",
        "playlist-empty",
        "input-read-too-large",
        "track-crashes-worker",
        "track-too-costly",
      ]),
    );
    const others = ["key-forbidden", "memory-exhausted", "load-busy", "worker-lost", "internal", "address-refused"];
    expect(codes.filter((code) => others.includes(code) || code.startsWith("node-"))).toEqual([]);
  });

  test("a track that only leads to one of them is looked for, too", async () => {
    const track = trackOf("radio");
    expect(mirrors.isFor(track, { code: "site-unavailable" })).toBe(false);
    expect(mirrors.isFor(track, { code: "mirror-needed" })).toBe(true);
    answers.set("scsearch", search({ identifier: "sc" }));
    expect(await find(track)).toEqual(["soundcloud", "sc"]);
  });

  test("there is nothing to look for, or nowhere to look: the client is told", async () => {
    providers = ['ytmsearch:"%ISRC%"'];
    mirrors = createMirrors();
    const start = "The same recording was not found:";
    expect(await find(trackOf("spotify"))).toBe(`${start} ytmsearch could not be searched (the track has no ISRC).`);
    mirrored = ["spotify", "youtube", "soundcloud", "bandcamp"];
    mirrors = createMirrors();
    expect(await find(TRACK)).toBe(`${start} no source that could have it is on.`);
  });

  test("its fallback is asked after the providers", async () => {
    providers = ["scsearch"];
    list = [{ path: "plugins.spotify.fallback", sourceNames: ["spotify"], prefixes: ["bcsearch:%TITLE%"] }];
    mirrors = createMirrors();
    await find(TRACK);
    expect(asked()).toEqual(["scsearch:artist song", "bcsearch:Song"]);
  });

  describe("without an ISRC", () => {
    const PLAIN = trackOf("spotify", { identifier: "plain" });

    test("its source is asked for it, once", async () => {
      isrcs = ["GBARL9300135", "never"];
      await find(PLAIN);
      expect(asked()[0]).toBe('ytmsearch:"GBARL9300135"');
      await find(PLAIN, [trackOf("soundcloud")]);
      expect(asked()[5]).toBe('ytmsearch:"GBARL9300135"');
    });

    test.each([new NodeError("site-busy", "busy"), undefined, "wrong"])("it is done without: %s", async (answer) => {
      isrcs = [answer];
      await find(PLAIN);
      expect(asked()).toHaveLength(4);
    });

    test("a source that could not say it is asked again", async () => {
      isrcs = [new NodeError("load-busy", "busy"), "GBARL9300135"];
      await find(PLAIN, [trackOf("soundcloud")]);
      await find(PLAIN, [trackOf("soundcloud")]);
      expect(asked()[4]).toBe('ytmsearch:"GBARL9300135"');
    });

    test("its source has 3 s", async () => {
      isrcs = ["never"];
      const finding = find(PLAIN);
      await settle();
      clock.advance(2999);
      expect(loads).toEqual([]);
      clock.advance(1);
      await finding;
      expect(loads).toHaveLength(4);
    });
  });

  describe("that was looked for before", () => {
    test("it is played from there again for a day, if its site still gives it", async () => {
      answers.set("scsearch", search({ identifier: "one" }, { identifier: "two" }));
      await find(TRACK);
      const before = loads.length;
      expect(await find(TRACK)).toEqual(["soundcloud", "one"]);
      expect([loads.length, resolved]).toEqual([before, ["one", "one"]]);
      links.set("one", new NodeError("site-unavailable", "gone"));
      expect(await find(TRACK)).toEqual(["soundcloud", "two"]);
      links.clear();
      clock.advance(24 * 3_600_000);
      expect(await find(TRACK)).toEqual(["soundcloud", "one"]);
    });

    test("a mirror that has failed since is not chosen again", async () => {
      answers.set("scsearch", search({ identifier: "one" }, { identifier: "two" }));
      await find(TRACK);
      expect(await find(TRACK, [trackOf("soundcloud", { identifier: "one" })])).toEqual(["soundcloud", "two"]);
      expect(await find(TRACK)).toEqual(["soundcloud", "two"]);
    });

    test("a key that may not use its source does not get it, and does not take it from others", async () => {
      answers.set("scsearch", search({ identifier: "sc" }));
      await find(TRACK);
      allowed = ["spotify", "bandcamp"];
      expect(await find(TRACK)).toContain("this key may not use soundcloud");
      allowed = undefined;
      const before = loads.length;
      expect(await find(TRACK)).toEqual(["soundcloud", "sc"]);
      expect(loads).toHaveLength(before);
    });

    test("what only this client can or cannot play is no choice for others", async () => {
      answers.set("scsearch", search({ identifier: "sc" }));
      answers.set("bcsearch", result("bandcamp", "b"));
      allowed = ["spotify", "bandcamp"];
      expect(await find(TRACK)).toEqual(["bandcamp", "b"]);
      allowed = undefined;
      expect(await find(TRACK)).toEqual(["soundcloud", "sc"]);
      const token = { ...TRACK, userData: { "oauth-token": "wrong" } };
      const other = { ...token, info: { ...TRACK.info, identifier: "other" } };
      await find(other, [trackOf("soundcloud", { identifier: "sc" })]);
      expect(await find({ ...other, userData: {} })).toEqual(["soundcloud", "sc"]);
      for (const [track, code] of [
        [token, "site-unavailable"],
        [TRACK, "load-busy"],
      ] as const) {
        links.set("sc", new NodeError(code, "no"));
        expect(await find(track)).toEqual(["bandcamp", "b"]);
        links.clear();
        const before = loads.length;
        expect(await find(TRACK)).toEqual(["soundcloud", "sc"]);
        expect(loads).toHaveLength(before);
      }
    });

    test.each([
      ["nothing else", [], "sc"],
      ["another song of a source that it may not use", [trackOf("bandcamp", { title: "Else" })], "sc"],
      ["the same of a source that it may not use", [trackOf("bandcamp", { identifier: "b" })], "later"],
    ])("what a limited key finds is a choice for all unless its limit decides: %s", async (_what, before, found) => {
      allowed = ["spotify", "youtube", "soundcloud"];
      const tracks = writeTracks([...before, trackOf("soundcloud", { identifier: "sc" })]);
      answers.set("scsearch", { kind: "search", tracks });
      expect(await find(TRACK)).toEqual(["soundcloud", "sc"]);
      allowed = undefined;
      answers.set("scsearch", search({ identifier: "later" }));
      expect(await find(TRACK)).toEqual(["soundcloud", found]);
    });

    test("user data without a token decides nothing: a dead choice is forgotten, and the next one is kept", async () => {
      const track = { ...TRACK, userData: { requester: { id: "42" }, "oauth-token": null } };
      answers.set("scsearch", search({ identifier: "one" }, { identifier: "two" }));
      expect(await find(track)).toEqual(["soundcloud", "one"]);
      links.set("one", new NodeError("site-unavailable", "gone"));
      expect(await find(track)).toEqual(["soundcloud", "two"]);
      links.clear();
      expect(await find(TRACK)).toEqual(["soundcloud", "two"]);
    });

    test("user data goes to the site that is asked for a link", async () => {
      answers.set("scsearch", search({ identifier: "sc" }));
      await find({ ...TRACK, userData: { "oauth-token": "mine" } });
      await find({ ...TRACK, userData: { "oauth-token": "yours" } });
      expect(given).toEqual([{ "oauth-token": "mine" }, { "oauth-token": "yours" }]);
    });

    test("its site has 2 s to give the link again", async () => {
      answers.set("scsearch", search({ identifier: "one" }, { identifier: "two" }));
      await find(TRACK);
      links.set("one", "never");
      const before = loads.length;
      const finding = find(TRACK, [trackOf("bandcamp", { identifier: "b" })]);
      await settle();
      clock.advance(1999);
      await settle();
      expect(loads).toHaveLength(before);
      links.delete("one");
      clock.advance(1);
      expect(await finding).toEqual(["soundcloud", "one"]);
      expect(loads.length).toBeGreaterThan(before);
    });

    test("one that has failed is looked for again, a later choice stays", async () => {
      answers.set("scsearch", search({ identifier: "one" }));
      const { signal } = new AbortController();
      const { mirror } = await mirrors.find(TRACK, { owner: OWNER, tried: [], signal });
      mirrors.forget(TRACK, trackOf("soundcloud", { identifier: "earlier" }));
      const before = loads.length;
      await find(TRACK);
      expect(loads).toHaveLength(before);
      mirrors.forget(TRACK, mirror?.track ?? VIDEO);
      await find(TRACK);
      expect(loads.length).toBeGreaterThan(before);
    });

    test("that nobody has it is known for ten minutes", async () => {
      const missText = await find(TRACK);
      const before = loads.length;
      expect([await find(TRACK), loads.length]).toEqual([missText, before]);
      clock.advance(10 * 60_000);
      await find(TRACK);
      expect(loads.length).toBe(2 * before);
    });

    test("that a provider failed, or had nothing to play, is not", async () => {
      answers.set("scsearch", new NodeError("site-busy", "busy"));
      await find(TRACK);
      answers.set("scsearch", search({ identifier: "sc" }));
      links.set("sc", new NodeError("site-busy", "busy"));
      await find(TRACK);
      links.clear();
      expect(await find(TRACK)).toEqual(["soundcloud", "sc"]);
    });

    test("a track that claims to be it, with the title of another, is another", async () => {
      answers.set("scsearch", search({ identifier: "sc" }));
      await find(TRACK);
      expect(await find(trackOf("spotify", { identifier: "4uLU", title: "Else", isrc: null }))).toContain("not found");
    });
  });

  describe("at the start", () => {
    test("each source is named with what it is played from", () => {
      expect(mirrors.mirrored).toEqual([
        { name: "spotify", prefixes: ["ytmsearch", "ytsearch", "scsearch", "bcsearch"] },
      ]);
    });

    test("providers that lead nowhere are named; the built-in ones replace them when none is left", () => {
      providers = ["dzisrc:%ISRC%", "spsearch:%QUERY%", "https://x.example/%QUERY%", "(a map)", "scsearch:%QUERY%"];
      mirrors = createMirrors();
      mirrors.warnOfUnknown();
      const start = "warn plugins.lavasrc.providers:";
      const skipped = [
        `${start} dzisrc:%ISRC% is skipped: no source has this search prefix, or the source that has it is off. Turn that source on, or remove it`,
        `${start} spsearch:%QUERY% is skipped: spotify has no audio itself. Remove it`,
        `${start} https://x.example/%QUERY% is skipped: expected a search prefix, alone or with %ISRC%, %QUERY%, %TITLE%, %AUTHOR% or %ALBUM% behind it, of at most 200 characters. Remove it`,
        `${start} (a map) is skipped: expected a search prefix, alone or with %ISRC%, %QUERY%, %TITLE%, %AUTHOR% or %ALBUM% behind it, of at most 200 characters. Remove it`,
      ];
      expect(lines.splice(0)).toEqual(skipped);
      expect(mirrors.mirrored).toEqual([{ name: "spotify", prefixes: ["scsearch"] }]);
      providers = ["dzisrc:%ISRC%"];
      mirrors = createMirrors();
      mirrors.warnOfUnknown();
      expect(lines.splice(0)).toEqual([
        skipped[0],
        `${start} none of them can be used here; used instead: ytmsearch, ytsearch, scsearch, bcsearch`,
      ]);
      mirrored = [];
      mirrors.warnOfUnknown();
      expect(lines).toEqual([]);
    });
  });
});

test("a prefix that leads nowhere is a warning that names it", () => {
  list = [
    { path: "plugins.youtube.fallback", sourceNames: ["youtube"], prefixes: ["scsearch", "scsaerch", "ytsearch"] },
  ];
  mirrors.warnOfUnknown();
  expect(lines).toEqual([
    "warn plugins.youtube.fallback: scsaerch has no effect: no source has this search prefix, or the source that has it is off",
    "warn plugins.youtube.fallback: ytsearch has no effect: it searches youtube, whose tracks it is for",
  ]);
});
