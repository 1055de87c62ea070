import { describe, expect, it } from "vitest";
import type { PlayableInput } from "../../../../src/bridge/playable-input.ts";
import { NodeError } from "../../../../src/errors.ts";
import type { ContainerInfo, Demuxer } from "../../../../src/media/demux/demuxer.ts";
import type { AudioStream } from "../../../../src/media/format/packet.ts";
import type { ByteSource } from "../../../../src/media/input/byte-source.ts";
import type { OpenedInput } from "../../../../src/media/input/open-input.ts";
import type { PlaylistTarget } from "../../../../src/media/input/playlist.ts";
import type { ContainerHints } from "../../../../src/media/probe/open-demuxer.ts";
import { TrackOpener } from "../../../../src/media/probe/track-opener.ts";
import { FakeClock } from "../../../support/fake-clock.ts";
import { MemoryByteSource } from "../../../support/memory-byte-source.ts";
import { ScriptedDemuxer } from "../../../support/scripted-demuxer.ts";
import { createTrackBudget } from "../../../support/track-budgets.ts";

const STREAM: AudioStream = {
  codec: "opus",
  sampleRateHz: 48_000,
  channelCount: 2,
  description: undefined,
  pcm: undefined,
};
const SILENT_STATION = { name: undefined, description: undefined, url: undefined, streamTitle: undefined };
const FOREVER = new Promise<never>(() => undefined);

/** The content at an address. */
interface Content {
  readonly list?: PlaylistTarget;
  /** Address after redirects. */
  readonly url?: string;
  /** Default 1 MB. */
  readonly sizeBytes?: number;
  /** Default true. */
  readonly isRandomAccess?: boolean;
  readonly error?: NodeError;
  readonly station?: ReturnType<OpenedInput["station"]>;
  readonly info?: Partial<ContainerInfo>;
  readonly open?: (() => Promise<Demuxer>) | undefined;
  /** What `open` does when the server is asked without a range. */
  readonly openBare?: () => Promise<Demuxer>;
}

function http(name: string): Extract<PlayableInput, { kind: "http" }> {
  return { kind: "http", url: `http://media.example/${name}`, container: undefined };
}

function link(name: string, title?: string): PlaylistTarget {
  return { kind: "link", input: http(name), title };
}

const alternatives = ["loop", "good"].map((name) => ({ input: http(name), title: undefined }));

/** An opener over named contents, with everything it opened. */
function setup(contents: Readonly<Record<string, Content>>) {
  const clock = new FakeClock();
  const sources: MemoryByteSource[] = [];
  const demuxers: ScriptedDemuxer[] = [];
  const hints: ContainerHints[] = [];
  const readAheads: number[] = [];
  const signals: AbortSignal[] = [];
  const contentOf = (input: PlayableInput): Content =>
    contents["url" in input ? (input.url.split("/").at(-1) ?? "") : "path" in input ? input.path : "site"] ?? {};
  let opening: Content = {};
  const makeDemuxer = (source?: ByteSource): Demuxer => {
    const demuxer = new ScriptedDemuxer({ stream: STREAM, packets: [] });
    Object.assign(demuxer.info, opening.info);
    const close = demuxer.close.bind(demuxer);
    demuxer.close = () => {
      close();
      source?.close();
    };
    demuxers.push(demuxer);
    return demuxer;
  };
  const opener = new TrackOpener({
    clock,
    readAheadMs: 10_000,
    openInput: async (input, { signal, isBare = false }) => {
      signals.push(signal);
      const content = contentOf(input);
      opening = isBare ? { ...content, open: content.openBare } : content;
      if (opening.error !== undefined) throw opening.error;
      const source = Object.assign(
        new MemoryByteSource(new Uint8Array(content.sizeBytes ?? 1_000_000), {
          mimeType: "audio/test",
          isRandomAccess: content.isRandomAccess ?? true,
        }),
        {
          aimReadAhead: (sizeBytes: number) => readAheads.push(sizeBytes),
        },
      );
      sources.push(source);
      return {
        source,
        url: input.kind === "http" ? (opening.url ?? input.url) : undefined,
        station: () => contentOf(input).station,
        isPart: content.openBare !== undefined && !isBare,
      };
    },
    readPlaylist: async (input) => contentOf(input).list,
    openHls: async () => opening.open?.() ?? makeDemuxer(),
    openDemuxer: async (source, hint) => {
      hints.push(hint);
      return opening.open?.() ?? makeDemuxer(source);
    },
  });
  const areAllClosed = (): boolean => [...sources, ...demuxers].every(({ isClosed }) => isClosed);
  return { opener, clock, sources, demuxers, hints, readAheads, signals, areAllClosed };
}

const never = new AbortController().signal;

/** Reads until its source is closed. */
async function untilClosed(source: () => MemoryByteSource | undefined): Promise<never> {
  while (source()?.isClosed !== true) await new Promise((next) => setImmediate(next));
  throw new NodeError("input-closed", "reading from an input that was closed");
}

const budget = createTrackBudget();

describe("opening an input for playback", () => {
  it("opening an input passes hints to the demuxer's opener, and leaves the source to the demuxer", async () => {
    const { opener, sources, hints } = setup({ "song.mp3": { url: "http://cdn.example/a/real.ogg?x=1" } });
    const { demuxer } = await opener.open({ ...http("song.mp3"), container: "ogg" }, { signal: never, budget });
    expect(hints).toMatchObject([
      { mimeType: "audio/test", fileName: "/a/real.ogg", container: "ogg", isLengthNeeded: false },
    ]);
    expect(sources[0]?.isClosed).toBe(false);
    demuxer.close();
    expect(sources[0]?.isClosed).toBe(true);
  });

  it("opening an input follows lists that lead to lists and keeps only the last source open", async () => {
    const { opener, sources } = setup({ a: { list: link("b") }, b: { list: link("c") } });
    await opener.open(http("a"), { signal: never, budget });
    expect(sources.map(({ isClosed }) => isClosed)).toEqual([true, true, false]);
  });

  it("opening an input follows five lists, and gives up at the sixth with every source closed", async () => {
    const chain = (count: number) =>
      Object.fromEntries(
        Array.from({ length: count }, (_, index) => [String(index), { list: link(String(index + 1)) }]),
      );
    await expect(setup(chain(5)).opener.open(http("0"), { signal: never, budget })).resolves.toBeDefined();
    const tooLong = setup(chain(6));
    await expect(tooLong.opener.open(http("0"), { signal: never, budget })).rejects.toMatchObject({
      code: "input-redirects",
    });
    expect(tooLong.areAllClosed()).toBe(true);
    const loop = setup({ a: { list: link("a") } });
    await expect(loop.opener.open(http("a"), { signal: never, budget })).rejects.toMatchObject({
      code: "input-redirects",
    });
  });

  it("opening an input tries the next address of a list when one cannot be opened", async () => {
    const list: PlaylistTarget = { kind: "link", input: http("dead"), title: undefined, alternatives };
    const gone = { error: new NodeError("input-not-found", "nothing there") };
    const { opener, sources, demuxers } = setup({ a: { list }, dead: gone, loop: { list: link("loop") } });
    expect((await opener.open(http("a"), { signal: never, budget })).demuxer).toBe(demuxers[0]);
    expect(sources.filter(({ isClosed }) => !isClosed)).toHaveLength(1);
    const allDead = setup({ a: { list }, dead: gone, loop: gone, good: gone });
    await expect(allDead.opener.open(http("a"), { signal: never, budget })).rejects.toThrow("nothing there");
  });

  it("opening an input opens HLS by its address and closes the source opened to recognise it", async () => {
    const url = new URL("http://media.example/a");
    const { opener, sources, demuxers } = setup({ a: { list: { kind: "hls", url, originUrl: url } } });
    expect((await opener.open(http("a"), { signal: never, budget })).demuxer).toBe(demuxers[0]);
    expect(sources.map(({ isClosed }) => isClosed)).toEqual([true]);
  });

  it("opening an input passes on why it cannot be opened", async () => {
    const error = new NodeError("input-not-found", "nothing there");
    await expect(setup({ a: { error } }).opener.open(http("a"), { signal: never, budget })).rejects.toBe(error);
  });

  it("opening an input closes the source when its content cannot be played", async () => {
    const error = new NodeError("media-unknown-format", "no music");
    const { opener, areAllClosed } = setup({ a: { open: () => Promise.reject(error) } });
    await expect(opener.open(http("a"), { signal: never, budget })).rejects.toBe(error);
    expect(areAllClosed()).toBe(true);
  });

  it("opening an input closes the source of a track that is given up while its head is read", async () => {
    const { opener, sources } = setup({ a: { open: () => FOREVER } });
    const abort = new AbortController();
    void opener.open(http("a"), { signal: abort.signal, budget });
    await expect.poll(() => sources.length).toBe(1);
    await new Promise((next) => setImmediate(next));
    expect(sources[0]?.isClosed).toBe(false);
    abort.abort();
    expect(sources[0]?.isClosed).toBe(true);
  });

  it("the source of a track that was given up while it was opened is closed", async () => {
    const { opener, sources } = setup({ a: { open: () => FOREVER } });
    const abort = new AbortController();
    void opener.open(http("a"), { signal: abort.signal, budget });
    abort.abort();
    await expect.poll(() => sources[0]?.isClosed).toBe(true);
  });

  it("opening an input aims the read-ahead by size and length, never below 64 KiB", async () => {
    // A megabyte: of 40 s a quarter, of 400 s too little.
    const { opener, readAheads } = setup({
      a: { info: { lengthMs: 40_000 } },
      b: { info: { lengthMs: 400_000 } },
      c: {},
    });
    for (const name of ["a", "b", "c"]) await opener.open(http(name), { signal: never, budget });
    expect(readAheads).toEqual([250_000, 65_536]);
  });
});

describe("probing an input", () => {
  it("a probe that was given up before it begins passes its reason on to the input", async () => {
    const { opener, signals } = setup({ a: {} });
    const reason = new Error("given up");
    await opener.probe(http("a"), { signal: AbortSignal.abort(reason), budget }).catch(() => undefined);
    expect(signals.map((signal) => signal.reason)).toEqual([reason]);
  });

  it("a probe describes the input and closes everything", async () => {
    const info = {
      title: "Title",
      author: "Author",
      isrc: "DE1234567890",
      artworkUrl: "http://a/b.png",
      lengthMs: 1234,
    };
    const { opener, hints, areAllClosed } = setup({ a: { info } });
    const result = await opener.probe(http("a"), { signal: never, budget });
    expect(result).toEqual({ kind: "track", container: "test", location: undefined, isSeekable: true, ...info });
    expect(hints[0]?.isLengthNeeded).toBe(true);
    expect(areAllClosed()).toBe(true);
  });

  it("a probe reports where redirects led, and only then", async () => {
    const { opener } = setup({ a: { url: "http://cdn.example/real" }, b: {} });
    expect(await opener.probe(http("a"), { signal: never, budget })).toMatchObject({
      location: "http://cdn.example/real",
    });
    expect(await opener.probe(http("b"), { signal: never, budget })).toMatchObject({ location: undefined });
    const odd = { kind: "http", url: "http://MEDIA.example/b", container: undefined } as const;
    expect(
      await setup({ b: { url: "http://media.example/b" } }).opener.probe(odd, { signal: never, budget }),
    ).toMatchObject({
      location: undefined,
    });
    expect(
      await opener.probe({ kind: "local", path: "/song", container: undefined }, { signal: never, budget }),
    ).toMatchObject({
      location: undefined,
    });
  });

  it.each([
    [{ name: "Radio", description: "All day", url: "http://r/" }, {}, ["All day", "Radio"]],
    [{ name: "Radio", url: "http://r/" }, {}, ["http://r/", "Radio"]],
    [{ name: "Radio", description: "All day" }, { title: "Tag", author: "Tagger" }, ["Tag", "Tagger"]],
    [undefined, {}, [undefined, undefined]],
  ])("a probe names a station by its own information, tags first (%o, %o)", async (said, info, [title, author]) => {
    const station = said && { ...SILENT_STATION, ...said };
    expect(await setup({ a: { station, info } }).opener.probe(http("a"), { signal: never, budget })).toMatchObject({
      title,
      author,
    });
  });

  it("a probe does not follow a list: it reports the target and its title", async () => {
    const { opener, sources } = setup({ a: { list: link("b", "First") } });
    expect(await opener.probe(http("a"), { signal: never, budget })).toEqual({
      kind: "reference",
      input: http("b"),
      title: "First",
    });
    expect(sources.map(({ isClosed }) => isClosed)).toEqual([true]);
  });

  it("a probe follows a list to entries that its cookies go to, and keeps the list's address", async () => {
    const others = [{ input: http("loop"), title: "Of the list" }];
    const contents: Record<string, Content> = {
      a: { list: { kind: "link", input: http("dead"), title: "First", alternatives: others } },
      dead: { error: new NodeError("input-http-status", "HTTP 403") },
      loop: { list: link("b") },
    };
    for (const path of ["/", "/elsewhere/"]) {
      const own = createTrackBudget();
      own.cookies.note(new URL("http://media.example/a"), { "set-cookie": `k=1; Path=${path}` }, 0);
      if (path === "/") own.cookies.headerFor(new URL("http://media.example/b"), { own: undefined, nowMs: 0 });
      const { opener, areAllClosed } = setup(contents);
      const result = await opener.probe(http("a"), { signal: never, budget: own });
      const followed = { kind: "track", title: "Of the list", location: undefined };
      expect(result).toMatchObject(path === "/" ? followed : { kind: "reference", input: http("dead") });
      expect(areAllClosed()).toBe(true);
    }
  });

  it("a probe reports a list as it is when nothing in it can be loaded with its cookies either", async () => {
    const own = createTrackBudget();
    own.cookies.note(new URL("http://media.example/a"), { "set-cookie": "k=1" }, 0);
    const { opener } = setup({ a: { list: link("b") }, b: { error: new NodeError("input-not-found", "no") } });
    expect(await opener.probe(http("a"), { signal: never, budget: own })).toMatchObject({ kind: "reference" });
  });

  it("a probe is empty when nothing is there", async () => {
    const { opener } = setup({ a: { error: new NodeError("input-not-found", "no") } });
    expect(await opener.probe(http("a"), { signal: never, budget })).toEqual({ kind: "empty" });
  });

  it("a probe fails with the reason when there are too many redirects", async () => {
    const error = new NodeError("input-redirects", "more than 20 redirects");
    const { opener } = setup({ a: { error } });
    await expect(opener.probe(http("a"), { signal: never, budget })).rejects.toBe(error);
  });

  const unknownFormat = new NodeError("media-unknown-format", "no music");
  const fail = (error: Error) => (): Promise<never> => Promise.reject(error);

  it("an unknown format that came as a range is opened once more without one", async () => {
    const { opener, sources } = setup({
      a: { open: fail(unknownFormat), openBare: async () => new ScriptedDemuxer({ stream: STREAM, packets: [] }) },
    });
    expect(await opener.probe(http("a"), { signal: never, budget })).toMatchObject({ kind: "track" });
    expect(sources.map(({ isClosed }) => isClosed)).toEqual([true, false]);
  });

  it("an unknown format is reported as it was found when the second opening fails too", async () => {
    const openBare = fail(new NodeError("input-http-status", "HTTP 400"));
    const { opener, areAllClosed } = setup({ a: { open: fail(unknownFormat), openBare } });
    await expect(opener.probe(http("a"), { signal: never, budget })).rejects.toBe(unknownFormat);
    expect(areAllClosed()).toBe(true);
  });

  it.each([
    ["song.mp3", unknownFormat, 2],
    ["list.m3u8?token=1", unknownFormat, 2],
    ["list.m3u", new NodeError("playlist-empty", "no address"), 2],
    ["page.html", unknownFormat, 1],
    ["page.php", unknownFormat, 1],
    ["page", unknownFormat, 1],
  ])("what is at %s instead of media is asked for once more if a file was named", async (name, error, count) => {
    const { opener, sources } = setup({ [name]: { open: fail(error) } });
    await opener.probe(http(name), { signal: never, budget }).catch(() => undefined);
    expect(sources).toHaveLength(count);
  });

  it("an answer without a byte is asked for once more wherever it came from", async () => {
    const { opener, sources } = setup({ page: { open: fail(unknownFormat), sizeBytes: 0 } });
    expect(await opener.probe(http("page"), { signal: never, budget })).toMatchObject({ kind: "track" });
    expect(sources).toHaveLength(2);
  });

  const makeDemuxer = async () => new ScriptedDemuxer({ stream: STREAM, packets: [] });

  it("a file whose end is cut off is probed without its length", async () => {
    const error = new NodeError("input-interrupted", "the server dropped the connection");
    const contents: Record<string, Content> = {};
    const { opener, hints, sources } = setup(contents);
    contents.a = { open: () => (hints.at(-1)?.isLengthNeeded === true ? fail(error)() : makeDemuxer()) };
    expect(await opener.probe(http("a"), { signal: never, budget })).toMatchObject({ kind: "track" });
    contents.a = { open: fail(error) };
    await expect(opener.open(http("a"), { signal: never, budget })).rejects.toBe(error);
    expect(sources).toHaveLength(3);
  });

  it("a file that takes more than 6 s to say its length is probed without it", async () => {
    const contents: Record<string, Content> = {};
    const { opener, clock, sources, hints } = setup(contents);
    contents.a = {
      open: () => (hints.at(-1)?.isLengthNeeded === true ? untilClosed(() => sources[0]) : makeDemuxer()),
    };
    const result = opener.probe(http("a"), { signal: never, budget });
    await expect.poll(() => hints.length).toBe(1);
    clock.advance(5_999);
    expect(sources[0]?.isClosed).toBe(false);
    clock.advance(1);
    expect(await result).toMatchObject({ kind: "track" });
    expect(clock.pendingCount).toBe(0);
  });

  it("a file that can only be read forwards, or is local, has the whole time of a probe", async () => {
    for (const [input, isRandomAccess] of [
      [http("a"), false],
      [{ kind: "local", path: "a", container: undefined }, true],
    ] as const) {
      const contents: Record<string, Content> = {};
      const { opener, clock, sources } = setup(contents);
      contents.a = { open: () => untilClosed(() => sources[0]), isRandomAccess };
      const result = opener.probe(input, { signal: never, budget }).catch((error) => error.code);
      await expect.poll(() => sources.length).toBe(1);
      clock.advance(14_999);
      expect(sources[0]?.isClosed).toBe(false);
      clock.advance(1);
      expect(await result).toBe("load-timeout");
    }
  });

  it("other failures of a range are not tried again", async () => {
    const error = new NodeError("media-damaged", "broken");
    const { opener, sources } = setup({ a: { open: fail(error), openBare: fail(unknownFormat) } });
    await expect(opener.probe(http("a"), { signal: never, budget })).rejects.toBe(error);
    expect(sources).toHaveLength(1);
  });

  it("a probe keeps the original address when a request needed a cookie from it", async () => {
    const cookies = createTrackBudget();
    const site = new URL("http://media.example/");
    cookies.cookies.note(site, { "set-cookie": "n=v" }, 0);
    for (const isSent of [false, true]) {
      if (isSent) cookies.cookies.headerFor(site, { own: undefined, nowMs: 0 });
      const { opener } = setup({ a: { url: "http://media.example/moved" } });
      const result = await opener.probe(http("a"), { signal: never, budget: cookies });
      expect(result).toMatchObject({ location: isSent ? undefined : "http://media.example/moved" });
    }
  });

  it("a probe passes other failures on and closes the source", async () => {
    const error = new NodeError("media-unknown-format", "no music");
    const { opener, areAllClosed, clock } = setup({ a: { open: () => Promise.reject(error) } });
    await expect(opener.probe(http("a"), { signal: never, budget })).rejects.toBe(error);
    expect(areAllClosed()).toBe(true);
    expect(clock.pendingCount).toBe(0);
  });

  it("a probe ends after 15 s: the source is closed and the error says so, whatever the reading said", async () => {
    const contents: Record<string, Content> = {};
    const { opener, clock, sources } = setup(contents);
    contents.a = {
      open: () => untilClosed(() => sources.at(-1)),
    };
    const result = opener.probe(http("a"), { signal: never, budget });
    const failure = expect(result).rejects.toMatchObject({
      code: "load-timeout",
      message: "probing the track took more than 15000 ms",
      cause: { code: "input-closed" },
    });
    await expect.poll(() => sources.length).toBe(1);
    clock.advance(6_000);
    await expect.poll(() => sources.length).toBe(2);
    clock.advance(8_999);
    expect(sources[1]?.isClosed).toBe(false);
    clock.advance(1);
    await failure;
  });

  it("a probe ends when it is cancelled: the source is closed", async () => {
    const { opener, sources, clock } = setup({ a: { open: () => FOREVER } });
    const abort = new AbortController();
    void opener.probe(http("a"), { signal: abort.signal, budget }).catch(() => undefined);
    await expect.poll(() => sources.length).toBe(1);
    await new Promise((next) => setImmediate(next));
    abort.abort();
    expect(sources[0]?.isClosed).toBe(true);
    expect(clock.pendingCount).toBe(2);
  });
});
