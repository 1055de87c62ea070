// Compares with a real node's answers for the same kinds of files and servers (fixtures/golden/rest.jsonl), rule by
// rule: the same names, titles and flags. Lengths differ, as the files do, and some answers are better on purpose: see
// `isBetter`.

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { readRestCases } from "../../support/golden.ts";
import { readMediaFixture } from "../../support/media-fixture.ts";
import { UpstreamTestEnvironment } from "../../support/upstream-test-environment.ts";

const FILES: Readonly<Record<string, string>> = {
  "tone.mp3": "cbr.mp3",
  "tone44.mp3": "cbr.mp3",
  "tone-noxing.mp3": "cbr-noxing.mp3",
  "notags.mp3": "cbr-noxing.mp3",
  "tone.m4a": "aac.m4a",
  "tone-frag.m4a": "aac-frag.mp4",
  "tone.webm": "opus.webm",
  "tone.opus": "opus.ogg",
  "tone.ogg": "opus.ogg",
  "tone-vorbis.ogg": "vorbis.ogg",
  "tone-vorbis.webm": "vorbis.webm",
  "tone.flac": "plain.flac",
  "tone.mka": "aac.mka",
  "tone.aac": "aac.aac",
  "tone.ts": "aac.mpegts",
  "hls1.ts": "aac.mpegts",
  "hls2.ts": "aac.mpegts",
};

/** An answer as far as both must agree. */
interface Answered {
  readonly loadType: string;
  readonly data: {
    readonly info: Readonly<Record<string, unknown>>;
    readonly pluginInfo: unknown;
  } | null;
}

interface RecordedCase {
  readonly name: string;
  readonly identifier: string;
  readonly answer: Answered;
}

const CASES = readRestCases().flatMap(({ name, steps }): RecordedCase[] => {
  const [step] = steps;
  const identifier = new URL(step?.request.path ?? "/", "http://node.example").searchParams.get("identifier") ?? "";
  const file = /^http:\/\/127\.0\.0\.1:808[89]\/(?:[a-z]+\/)?([\w.-]+)$/.exec(identifier)?.[1] ?? "";
  // A loop of redirects is recorded as empty; we say what is wrong.
  const isKnown = Object.hasOwn(FILES, file) || /^(40[34]|416|500)$/.test(file);
  return isKnown && /^load(range|-http)-/.test(name) ? [{ name, identifier, answer: step?.response.json }] : [];
});

let upstream: UpstreamTestEnvironment;

beforeAll(async () => {
  const files = Object.entries(FILES).map(([name, fixture]) => [name, readMediaFixture(fixture)]);
  upstream = await UpstreamTestEnvironment.start({ files: Object.fromEntries(files) });
});
afterAll(() => upstream.close());

/** Addresses without the port, which is another each time. */
function withoutPort(value: unknown): Answered {
  return JSON.parse(JSON.stringify(value).replaceAll(/127\.0\.0\.1:\d+/g, "127.0.0.1"));
}

/** Our answer has a length and is seekable where the recorded node saw a stream. */
function isBetter(ours: Readonly<Record<string, unknown>>, theirs: Readonly<Record<string, unknown>>): boolean {
  return theirs.isStream === true && ours.isStream === false && ours.isSeekable === true;
}

describe("recorded answers", () => {
  it("there are recorded answers to compare with", () => {
    expect(CASES.length).toBeGreaterThan(30);
  });

  it.concurrent.each(CASES)("$name", async ({ identifier, answer }) => {
    const { body } = await upstream.bot.load(identifier.replace(/^http:\/\/[^/]+/, upstream.url("").slice(0, -1)));
    const ours = withoutPort(body);
    const theirs = withoutPort(answer);
    expect(ours.loadType).toBe(theirs.loadType);
    if (ours.loadType !== "track" || ours.data === null || theirs.data === null) return;
    const { length: ourLength, ...ourInfo } = ours.data.info;
    const { length: _length, isrc: _isrc, title, author, ...theirInfo } = theirs.data.info;
    const flags = isBetter(ourInfo, theirInfo) ? { isStream: false, isSeekable: true } : {};
    expect(ourInfo).toMatchObject({ ...theirInfo, ...flags });
    expect(ours.data.pluginInfo).toEqual(theirs.data.pluginInfo);
    // The fixtures have the names of the recorded files; files without tags are called the same in both.
    if (!/plain|noxing|notags|tone\.flac/.test(identifier)) expect(ourInfo).toMatchObject({ title, author });
    if (ourInfo.isStream === true) expect(ourLength).toBe(Number(2n ** 63n - 1n));
    else expect(ourLength).toBeGreaterThan(900);
  });
});
