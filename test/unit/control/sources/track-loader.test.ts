import { beforeEach, describe, expect, test } from "vitest";
import { allowedSources, UNLIMITED } from "../../../../src/control/access/identity.ts";
import type { Source, SourceAnswer, SourceRequest } from "../../../../src/control/sources/source.ts";
import { TrackLoader } from "../../../../src/control/sources/track-loader.ts";
import { NodeError } from "../../../../src/errors.ts";
import { FakeClock } from "../../../support/fake-clock.ts";
import { settle } from "../../../support/fake-workers.ts";
import { buildTrack } from "../../../support/track-builder.ts";

type Answers = Record<string, SourceAnswer | (() => Promise<SourceAnswer>)>;

const BY_SOMEBODY = { owner: ["somebody"], signal: new AbortController().signal };

let clock: FakeClock;
let asked: string[];

beforeEach(() => {
  clock = new FakeClock();
  asked = [];
});

function source(name: string, answers: Answers): Source {
  return {
    name,
    isClaimed: (identifier) => Object.hasOwn(answers, identifier),
    load: async ({ identifier }: SourceRequest) => {
      asked.push(`${name} ${identifier}`);
      const answer = answers[identifier];
      return typeof answer === "function" ? answer() : answer;
    },
    playableInput: (track) => ({ kind: "http", url: `${name}:${track.info.identifier}`, container: undefined }),
  };
}

function loader(...sources: Source[]): TrackLoader {
  return new TrackLoader({ listSources: () => sources, clock });
}

function reference(identifier: string): Extract<SourceAnswer, { kind: "reference" }> {
  return { kind: "reference", identifier, title: undefined };
}

describe("loading an identifier", () => {
  const found: SourceAnswer = { kind: "track", track: buildTrack() };

  test("the first source that has an answer wins", async () => {
    const tracks = loader(source("a", {}), source("b", { x: found }), source("c", { x: { kind: "empty" } }));
    expect(await tracks.load("x", BY_SOMEBODY)).toBe(found);
    expect(asked).toEqual(["a x", "b x"]);
    expect(tracks.sourceNames).toEqual(["a", "b", "c"]);
  });

  test("a source that knows the identifier and finds nothing ends the search", async () => {
    expect(
      await loader(source("a", { x: { kind: "empty" } }), source("b", { x: found })).load("x", BY_SOMEBODY),
    ).toEqual({
      kind: "empty",
    });
  });

  test("a source that may not be used is not asked, and its identifiers are refused", async () => {
    const tracks = loader(source("a", { x: found }), source("b", { x: found, y: reference("x") }));
    const limits = { ...UNLIMITED, sources: new Set(["b"]) };
    const load = (identifier: string) =>
      tracks.load(identifier, { ...BY_SOMEBODY, allowed: allowedSources({ name: "bot", limits }) });
    const refusal = { code: "key-forbidden", message: "the key bot may not play from a" };
    await expect(load("x")).rejects.toMatchObject(refusal);
    await expect(load("y")).rejects.toMatchObject(refusal);
    expect(await load("z")).toEqual({ kind: "empty" });
    expect(asked).toEqual(["b y", "b z"]);
  });

  test("a source that is absent refuses what only `http` would take, and what others claim is none of its business", async () => {
    const names: string[] = [];
    const absent = {
      refusing: (identifier: string, { present }: { readonly present: readonly string[] }) => {
        names.push(`${identifier} ${present.join()}`);
        return identifier === "link" ? { name: "off", reason: "off is off: set off.enabled: true" } : undefined;
      },
      reasonOf: (name: string) => (name === "off" ? "off is off" : undefined),
    };
    const sources = [source("http", { link: found, other: found }), source("a", { mine: found })];
    const tracks = new TrackLoader({ listSources: () => sources, absent, clock });
    const onSource = (name: string) => names.push(name);
    const load = (identifier: string) => tracks.load(identifier, { ...BY_SOMEBODY, onSource });
    expect(await load("link")).toMatchObject({
      kind: "error",
      error: { code: "source-unavailable", severity: "common", message: "off is off: set off.enabled: true" },
    });
    expect(await load("other")).toBe(found);
    expect(await load("mine")).toBe(found);
    expect(await load("nothing")).toEqual({ kind: "empty" });
    expect(names).toEqual(["link a", "off", "other a", "http", "a", "nothing a"]);
    expect(() => tracks.playableInput(buildTrack({ sourceName: "off" }))).toThrow(
      /not available on this node: off is off$/,
    );
  });

  test("an identifier that no source knows gives an empty result", async () => {
    expect(await loader(source("a", {})).load("ytsearch:abc", BY_SOMEBODY)).toEqual({ kind: "empty" });
  });

  test.each<[string, Answers]>([
    ["leads nowhere", { b: { kind: "empty" } }],
    ["is unknown", {}],
    ["fails", { b: () => Promise.reject(new NodeError("input-unreachable", "no such host")) }],
    ["is a playlist of dead ones", { b: { ...reference("e"), alternatives: [{ identifier: "f", title: undefined }] } }],
  ])("the next reference of a playlist is asked when the first %s", async (_what, answers) => {
    const alternatives = ["c", "d"].map((identifier) => ({ identifier, title: undefined }));
    const list: SourceAnswer = { kind: "reference", identifier: "b", title: undefined, alternatives };
    expect(await loader(source("s", { ...answers, a: list, c: found })).load("a", BY_SOMEBODY)).toBe(found);
    expect(asked.slice(0, 2)).toEqual(["s a", "s b"]);
    expect(asked.at(-1)).toBe("s c");
  });

  test("a playlist of which no reference can be loaded reports the first failure", async () => {
    const fails = (name: string) => () => Promise.reject(new NodeError("input-unreachable", name));
    const list: SourceAnswer = { ...reference("b"), alternatives: [{ identifier: "c", title: undefined }] };
    const tracks = loader(source("s", { a: list, b: fails("first"), c: fails("second") }));
    expect(await tracks.load("a", BY_SOMEBODY)).toMatchObject({ kind: "error", error: { message: "first" } });
  });

  test("playlists that name each other many times are asked a bounded number of times", async () => {
    const alternatives = Array.from({ length: 9 }, () => ({ identifier: "a", title: undefined }));
    const tracks = loader(source("s", { a: { ...reference("a"), alternatives } }));
    expect(await tracks.load("a", BY_SOMEBODY)).toEqual({ kind: "empty" });
    expect(asked).toHaveLength(16);
  });

  test("a reference is asked of all sources again", async () => {
    const tracks = loader(source("a", { z: found }), source("b", { x: reference("y"), y: reference("z") }));
    expect(await tracks.load("x", BY_SOMEBODY)).toBe(found);
    expect(asked).toEqual(["a x", "b x", "a y", "b y", "a z"]);
  });

  test.each([
    [5, "track"],
    [6, "empty"],
  ])("after %i references the answer is %s", async (hops, kind) => {
    const answers: Answers = { [`x${hops}`]: found };
    for (let hop = 0; hop < hops; hop++) answers[`x${hop}`] = reference(`x${hop + 1}`);
    expect((await loader(source("a", answers)).load("x0", BY_SOMEBODY)).kind).toBe(kind);
  });

  test("a failure is an error result with the real message", async () => {
    const fail = () => Promise.reject(new NodeError("media-unknown-format", "this is no known audio format"));
    expect(await loader(source("a", { x: fail })).load("x", BY_SOMEBODY)).toMatchObject({
      kind: "error",
      error: { code: "media-unknown-format", message: "this is no known audio format", severity: "common" },
    });
  });

  test("20 s are enough for everybody", async () => {
    const result = loader(source("a", { x: () => new Promise(() => undefined) })).load("x", BY_SOMEBODY);
    await settle();
    clock.advance(20_000);
    expect(await result).toMatchObject({ kind: "error", error: { code: "load-timeout", severity: "suspicious" } });
  });

  test("a load that times out names the source that was asked last", async () => {
    const result = loader(source("a", {}), source("b", { x: () => new Promise(() => undefined) }), source("c", {}));
    const loading = result.load("x", BY_SOMEBODY);
    await settle();
    clock.advance(20_000);
    const message = "looking the track up took more than 20 s; b was asked last";
    expect(await loading).toMatchObject({ kind: "error", error: { message } });
  });

  test("an aborted load is rejected, and asks no further source", async () => {
    const abort = new AbortController();
    let answer: (answer: SourceAnswer) => void = () => undefined;
    const slow = () => new Promise<SourceAnswer>((resolve) => (answer = resolve));
    const result = loader(source("a", { x: slow }), source("b", {})).load("x", {
      ...BY_SOMEBODY,
      signal: abort.signal,
    });
    await settle();
    abort.abort(new NodeError("player-destroyed", "gone"));
    await expect(result).rejects.toMatchObject({ code: "player-destroyed" });
    answer(reference("y"));
    await settle();
    expect(asked).toEqual(["a x"]);
  });

  test("a load that had to yield says so; its share counts by the end of the host's name", async () => {
    const answers: ((answer: SourceAnswer) => void)[] = [];
    const slow = () => new Promise<SourceAnswer>((resolve) => answers.push(resolve));
    const names = Array.from({ length: 257 }, (_, index) => `http://name${index}.wild.example/x`);
    const tracks = loader(source("a", Object.fromEntries(names.map((name) => [name, slow]))));
    const results = names.map((name) => tracks.load(name, BY_SOMEBODY));
    for (let step = 0; step < 10; step++) {
      await settle();
      clock.advance(100);
    }
    await settle();
    expect(answers).toHaveLength(256);
    expect(await tracks.load("http://elsewhere.example/x", BY_SOMEBODY)).toEqual({ kind: "empty" });
    clock.advance(1000);
    await settle();
    expect(answers).toHaveLength(257);
    expect(await results[0]).toMatchObject({ kind: "error", error: { code: "load-busy", severity: "suspicious" } });
  });
});

describe("playing a track", () => {
  test("its source says how", () => {
    const input = loader(source("http", {})).playableInput(buildTrack({ identifier: "i" }));
    expect(input).toMatchObject({ url: "http:i" });
  });

  test("a track of a source that is not there is refused by name", () => {
    expect(() => loader(source("http", {})).playableInput(buildTrack({ sourceName: "deezer" }))).toThrow(
      "the source of this track is not available on this node: deezer",
    );
  });

  test("a source name that a client made up is cut in the error", () => {
    const track = buildTrack({ sourceName: "x".repeat(60_000) });
    expect(() => loader().playableInput(track)).toThrow(/: x{64}$/);
  });
});
