import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { OpusCacheAnswer, OpusCacheEvent, OpusCacheRequest } from "../../../../src/bridge/opus-cache.ts";
import type { PlayableInput } from "../../../../src/bridge/playable-input.ts";
import type { ByteSource } from "../../../../src/media/input/byte-source.ts";
import { ENTRY_HEAD_BYTES } from "../../../../src/media/opus-cache/entry-file.ts";
import { EntryRecorder } from "../../../../src/media/opus-cache/entry-recorder.ts";
import { OpusCache } from "../../../../src/media/opus-cache/opus-cache.ts";
import type { OpenedTrack, OpeningWork } from "../../../../src/media/probe/track-opener.ts";
import { ScriptedDemuxer } from "../../../support/scripted-demuxer.ts";
import { createOpusSong, PCM_SONG } from "../../../support/takeable-songs.ts";
import { createTrackBudget } from "../../../support/track-budgets.ts";

const INPUT = { kind: "http", url: "https://files.example/song.mp3", container: undefined } as const;
const OPUS = { complexity: 10, encoder: "tonearm", bitrateBps: 128_000 } as const;
const BYTES = Uint8Array.from({ length: 10_000 }, (_, at) => at % 256);
const LENGTH_MS = 4000;

let folder: string;
let answer: OpusCacheAnswer | Error;
let requests: OpusCacheRequest[];
let events: OpusCacheEvent[];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "tonearm-cached-"));
  answer = { kind: "none" };
  requests = [];
  events = [];
});
afterEach(() => rmSync(folder, { recursive: true }));

interface Given {
  readonly input?: PlayableInput;
  readonly url?: string;
  readonly bytes?: Uint8Array;
  readonly source?: Partial<ByteSource>;
  readonly opus?: { readonly complexity: number; readonly encoder: "tonearm" | "libopus"; readonly bitrateBps: number };
  readonly complexity?: number;
  readonly track?: Partial<OpenedTrack>;
  readonly work?: Partial<OpeningWork>;
}

function sourceOf({ bytes = BYTES, source }: Given): ByteSource {
  return {
    sizeBytes: bytes.length,
    isRandomAccess: true,
    mimeType: undefined,
    version: '"1"',
    read: async (at, length) => bytes.subarray(at, at + length),
    readBuffered: (at, length) => bytes.subarray(at, at + length),
    close: () => undefined,
    ...source,
  };
}

async function openTrack(given: Given = {}): Promise<OpenedTrack> {
  const { input = INPUT, url = input.kind === "http" ? input.url : undefined, opus = OPUS } = given;
  const demuxer = new ScriptedDemuxer(PCM_SONG);
  const file = { input, url, source: sourceOf(given) };
  const cache = new OpusCache({
    openTrack: async () => ({ demuxer, isStation: false, file, ...given.track }),
    opus,
    request: async (request) => {
      requests.push(request);
      if (answer instanceof Error) throw answer;
      return answer;
    },
    send: (event) => events.push(event),
    complexity: () => given.complexity ?? opus.complexity,
  });
  const signal = new AbortController().signal;
  const begin = { lengthMs: LENGTH_MS, isUnchanged: true, isWhole: true };
  return cache.open(input, { signal, budget: createTrackBudget(), ...begin, ...given.work });
}

async function keyOf(given: Given = {}): Promise<string | undefined> {
  requests = [];
  await openTrack(given);
  return requests[0]?.key;
}

function siteTrack(encoded: string): PlayableInput {
  return { kind: "site", track: { sourceName: "soundcloud", encoded, userData: {} } };
}

/** An entry for that key. */
async function writeEntry(key: string): Promise<string> {
  const path = join(folder, `${key}.opus`);
  const { packets } = await createOpusSong();
  await new Promise<void>((resolve) => {
    const recorder = new EntryRecorder({
      key,
      path,
      bytesMax: 1_000_000,
      nextSlice: async () => undefined,
      isSame: () => true,
      send: () => resolve(),
    });
    for (const { data } of packets) recorder.add(data);
    recorder.finish((LENGTH_MS / 1000) * 48_000);
  });
  return path;
}

describe("the key of an entry", () => {
  it("is the same for the same track, whatever user and password its address names", async () => {
    const key = await keyOf();
    expect(key).toMatch(/^[0-9a-f]{64}$/);
    expect(await keyOf()).toBe(key);
    expect(await keyOf({ input: { ...INPUT, url: "https://me:secret@files.example/song.mp3" } })).toBe(key);
  });

  it.each<readonly [string, Given]>([
    ["an address", { input: { ...INPUT, url: "https://files.example/song.mp3?id=2" } }],
    ["a server", { input: { ...INPUT, url: "https://other.example/song.mp3" } }],
    ["a kind of input", { input: { kind: "local", path: INPUT.url, container: undefined } }],
    ["a version of the file", { source: { version: '"2"' } }],
    ["a size", { bytes: new Uint8Array([...BYTES, 0]) }],
    ["a beginning", { bytes: BYTES.with(4095, 0) }],
    ["a bit rate", { opus: { ...OPUS, bitrateBps: 96_000 } }],
    ["an encoder", { opus: { ...OPUS, encoder: "libopus" } }],
  ])("differs with %s", async (_name, given) => {
    expect(await keyOf(given)).not.toBe(await keyOf());
    expect(requests.length).toBe(1);
  });

  it("of a site's track does not depend on the signature of its link, but on where that leads", async () => {
    const given = { input: siteTrack("QAAA"), url: "https://cdn.example/a.mp3?sig=1" };
    const key = await keyOf(given);
    expect(await keyOf({ ...given, url: "https://cdn.example/a.mp3?sig=2" })).toBe(key);
    expect(await keyOf({ ...given, url: "https://evil.example/a.mp3?sig=1" })).not.toBe(key);
    expect(await keyOf({ ...given, input: siteTrack("QBBB") })).not.toBe(key);
  });
});

describe("the cache is not asked for", () => {
  it.each<readonly [string, Given]>([
    ["a track that begins with filters or another volume", { work: { isUnchanged: false } }],
    ["a stream without a length", { work: { lengthMs: undefined } }],
    ["a track of more than an hour", { work: { lengthMs: 3_600_001 } }],
    ["a station", { track: { isStation: true } }],
    ["HLS", { track: { file: undefined } }],
    ["a file of unknown size", { source: { sizeBytes: undefined } }],
    ["a file that does not say when it changes", { source: { version: undefined } }],
    ["a file whose beginning is gone", { source: { readBuffered: () => undefined } }],
  ])("%s", async (_name, given) => {
    await openTrack(given);
    expect(requests).toEqual([]);
  });

  it("Opus", async () => {
    await openTrack({ track: { demuxer: new ScriptedDemuxer(await createOpusSong()) } });
    expect(requests).toEqual([]);
  });
});

describe("what is to be written", () => {
  it("is reserved for tracks that begin at their first sample, with encoders as configured", async () => {
    await openTrack();
    await openTrack({ work: { isWhole: false } });
    const libopus = { ...OPUS, encoder: "libopus" } as const;
    await openTrack({ opus: libopus });
    await openTrack({ opus: libopus, complexity: 5 });
    expect(requests.map(({ reservedBytes }) => reservedBytes > 0)).toEqual([true, false, true, false]);
  });

  it("is recorded with the track's frames", async () => {
    answer = { kind: "write", path: join(folder, "x.part") };
    const { demuxer } = await openTrack();
    expect(demuxer.recorder?.isEmpty).toBe(true);
  });

  it("is given up when the track is closed before a frame was made", async () => {
    answer = { kind: "write", path: join(folder, "x.part") };
    const abort = new AbortController();
    await openTrack({ work: { signal: abort.signal } });
    abort.abort();
    await new Promise((next) => setImmediate(next));
    expect(events).toEqual([{ type: "opusCacheWritten", path: join(folder, "x.part"), sizeBytes: undefined }]);
  });
});

describe("an entry", () => {
  it("is played instead of the track, which is closed", async () => {
    const key = (await keyOf()) ?? "";
    answer = { kind: "entry", path: await writeEntry(key) };
    const own = new ScriptedDemuxer(PCM_SONG);
    const { demuxer } = await openTrack({ track: { demuxer: own } });
    expect(demuxer.stream.codec).toBe("opus");
    expect(demuxer.info.lengthMs).toBe(LENGTH_MS);
    expect(own.isClosed).toBe(true);
    expect(events).toEqual([]);
    demuxer.close();
  });

  it.each<readonly [string, (path: string) => void]>([
    ["is cut short", (path) => writeFileSync(path, readFileSync(path).subarray(0, -1))],
    ["is empty", (path) => writeFileSync(path, "")],
    ["is another one's", (path) => writeFileSync(path, readFileSync(path).fill(120, 90, 91))],
    [
      "has changed in the middle",
      (path) => writeFileSync(path, readFileSync(path).fill(1, ENTRY_HEAD_BYTES + 500, ENTRY_HEAD_BYTES + 501)),
    ],
    ["is gone", (path) => rmSync(path)],
  ])("that %s is reported, and the track itself is played", async (_name, damage) => {
    const key = (await keyOf()) ?? "";
    const path = await writeEntry(key);
    damage(path);
    answer = { kind: "entry", path };
    const { demuxer } = await openTrack();
    expect(demuxer.stream.codec).toBe("pcm");
    expect(events).toEqual([{ type: "opusCacheDamaged", key, reason: expect.any(String) }]);
  });

  it("is not waited for by a track whose cache does not answer", async () => {
    answer = new Error("the Opus cache did not answer");
    const { demuxer } = await openTrack();
    expect(demuxer.stream.codec).toBe("pcm");
    expect(demuxer.recorder).toBeUndefined();
  });
});
