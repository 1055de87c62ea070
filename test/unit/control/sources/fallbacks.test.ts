import { beforeEach, describe, expect, test } from "vitest";
import { allowedSources, UNLIMITED } from "../../../../src/control/access/identity.ts";
import { Fallbacks, type PluginFallback } from "../../../../src/control/sources/fallbacks.ts";
import type { LoadResult } from "../../../../src/control/sources/load-result.ts";
import type { LoadOptions } from "../../../../src/control/sources/track-loader.ts";
import { ERROR_FAULTS, NodeError } from "../../../../src/errors.ts";
import type { Owner } from "../../../../src/lib/owners.ts";
import { createLogger } from "../../../../src/log/log.ts";
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
};
const NOT_FOUND = "The same recording was looked for elsewhere (scsearch, bcsearch) and not found.";
const VIDEO = trackOf("youtube", { title: "Artist - Song (Official Video)", author: "ArtistVEVO" });

let clock: FakeClock;
let list: PluginFallback[];
let answers: Map<string, LoadResult | Error | "never">;
let loads: { readonly identifier: string; readonly options: LoadOptions }[];
let allowed: readonly string[] | undefined;
let lines: string[];
let fallbacks: Fallbacks;

beforeEach(() => {
  clock = new FakeClock();
  list = [{ path: "plugins.youtube.fallback", sourceNames: ["youtube"], prefixes: ["scsearch", "bcsearch"] }];
  answers = new Map();
  loads = [];
  allowed = undefined;
  lines = [];
  fallbacks = new Fallbacks({
    loader: {
      load: (identifier, options) => {
        loads.push({ identifier, options });
        const answer = answers.get(identifier.split(":")[0] ?? "") ?? { kind: "empty" };
        if (answer instanceof Error) return Promise.reject(answer);
        return answer === "never"
          ? new Promise((_resolve, reject) =>
              options.signal.addEventListener("abort", () => reject(options.signal.reason)),
            )
          : Promise.resolve(answer);
      },
      claimantOf: (identifier) => PREFIXES[identifier.split(":")[0] ?? ""],
    },
    list: () => list,
    allowedFor: () => {
      return allowed && allowedSources({ name: "a", limits: { ...UNLIMITED, sources: new Set(allowed) } });
    },
    clock,
    logger: createLogger((level, message) => lines.push(`${level} ${message}`)),
  });
});

function trackOf(sourceName: string, info: Partial<TrackInfo> = {}) {
  return buildTrack({ sourceName, title: "Song", author: "Artist", length: 200_000, ...info });
}

function search(...infos: Partial<TrackInfo>[]): LoadResult {
  return { kind: "search", tracks: writeTracks(infos.map((info) => trackOf("soundcloud", info))) };
}

/** The source and identifier, or the sentence that says where it was looked for. */
async function find(track = VIDEO, tried: ReturnType<typeof trackOf>[] = []) {
  const result = await fallbacks.find(track, { owner: OWNER, tried, signal: new AbortController().signal });
  return result.track === undefined ? result.missText : [result.track.info.sourceName, result.track.info.identifier];
}

describe("the reasons to look elsewhere", () => {
  test("a track that its source, its media or its plugin keeps from starting is looked for elsewhere", () => {
    const reasons = Object.keys(ERROR_FAULTS).filter((code) => fallbacks.isFor(VIDEO, { code }));
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
    expect(fallbacks.isFor(trackOf("youtube", { isStream: true }), { code })).toBe(false);
    expect(fallbacks.isFor(trackOf("soundcloud"), { code })).toBe(false);
    list = [];
    expect(fallbacks.isFor(VIDEO, { code })).toBe(false);
  });
});

describe("the search", () => {
  test("the first result that is the same recording is chosen, and counted", async () => {
    answers.set("scsearch", search({ identifier: "live", title: "Song (Live)" }, { identifier: "right" }));
    expect(await find()).toEqual(["soundcloud", "right"]);
    expect(loads).toMatchObject([{ identifier: "scsearch:artist song", options: { owner: OWNER } }]);
    expect(fallbacks.counts).toEqual([{ from: "youtube", to: "soundcloud", count: 1 }]);
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

  test("nothing is found: the client is told what was asked, and that counts", async () => {
    expect(await find()).toBe(NOT_FOUND);
    expect(fallbacks.counts).toEqual([{ from: "youtube", to: "none", count: 1 }]);
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
    expect(await find()).toEqual(expect.stringContaining("not found"));
  });

  test("a source that does not answer leaves half of the 20 s to the other one", async () => {
    answers.set("scsearch", "never");
    answers.set("bcsearch", { kind: "track", track: trackOf("bandcamp", { identifier: "b" }) });
    const finding = find();
    await clock.advance(9999);
    expect(loads).toHaveLength(1);
    await clock.advance(1);
    expect(await finding).toEqual(["bandcamp", "b"]);
  });

  test("prefixes that cannot be asked leave all of the 20 s to the one that can", async () => {
    answers.set("scsearch", "never");
    allowed = ["youtube", "soundcloud"];
    // Its own source, an unknown one, and one that the key may not use, on both sides.
    const prefixes = ["ytsearch", "scsaerch", "scsearch", "bcsearch"];
    list = [{ path: "p", sourceNames: ["youtube"], prefixes }];
    const finding = find();
    await clock.advance(20_000);
    expect(await finding).toContain("; scsearch could not be searched (no answer within 20.0 s)");
  });

  test("all searches together take 20 s at most", async () => {
    answers.set("scsearch", "never");
    answers.set("bcsearch", "never");
    const finding = find();
    await clock.advance(10_000);
    await settle();
    expect(loads).toHaveLength(2);
    await clock.advance(9999);
    let isOver = false;
    void finding.then(() => (isOver = true));
    await clock.advance(0);
    expect(isOver).toBe(false);
    await clock.advance(1);
    const reason = "could not be searched (no answer within 10.0 s)";
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
    const finding = fallbacks.find(VIDEO, { owner: OWNER, tried: [], signal: abort.signal });
    abort.abort(new Error("stopped"));
    await expect(finding).rejects.toThrow("stopped");
    expect(loads).toHaveLength(1);
    expect(fallbacks.counts).toEqual([]);
  });
});

test("a prefix that leads nowhere is a warning that names it", () => {
  list = [
    { path: "plugins.youtube.fallback", sourceNames: ["youtube"], prefixes: ["scsearch", "scsaerch", "ytsearch"] },
  ];
  fallbacks.warnOfUnknown();
  expect(lines).toEqual([
    "warn plugins.youtube.fallback: scsaerch has no effect: no source has this search prefix, or the source that has it is off",
    "warn plugins.youtube.fallback: ytsearch has no effect: it searches youtube, whose tracks it is for",
  ]);
});
