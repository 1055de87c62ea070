import { afterEach, expect, it } from "vitest";
import { countedSong, opusPacketNumber } from "../../../../lab/media-files/counted-song.ts";
import { type Answer, plainPlan, statusPlan } from "../../../../lab/media-server/answer-plan.ts";
import { finishedHls } from "../../../../lab/media-server/hls.ts";
import { type LoggedRequest, MediaServer } from "../../../../lab/media-server/media-server.ts";
import type { SiteLink } from "../../../../src/bridge/playable-link.ts";
import { HlsDemuxer } from "../../../../src/media/demux/hls/hls-demuxer.ts";
import { openInput } from "../../../../src/media/input/open-input.ts";
import { readPlaylist } from "../../../../src/media/input/playlist.ts";
import { openDemuxer } from "../../../../src/media/probe/open-demuxer.ts";
import { TrackOpener } from "../../../../src/media/probe/track-opener.ts";
import { FakeClock } from "../../../support/fake-clock.ts";
import { createInputDeps, hurry } from "../../../support/input-builders.ts";
import { linkTo, ScriptedLinks, SITE_INPUT } from "../../../support/scripted-links.ts";

const SONG = countedSong({ seconds: 8 });
const signal = new AbortController().signal;

let cleanups: (() => unknown)[] = [];

afterEach(async () => {
  for (const cleanup of cleanups.reverse()) await cleanup();
  cleanups = [];
});

async function start(answer: (request: LoggedRequest) => Answer | undefined, changes: Partial<SiteLink> = {}) {
  const server = await MediaServer.start({ script: answer });
  const clock = new FakeClock();
  const links = new ScriptedLinks((nth) => linkTo(`${server.url}/${nth}`, { variant: `r${nth}`, ...changes }));
  const deps = createInputDeps({ clock, requestLink: links.requestLink });
  const containers: (string | undefined)[] = [];
  const opener = new TrackOpener({
    openInput: (input, work) => openInput(input, { ...deps, ...work }),
    readPlaylist,
    openHls: (url, work) => HlsDemuxer.open(url, { ...deps, ...work, openSegment: openDemuxer }),
    openDemuxer,
    onContainer: (container) => containers.push(container),
    clock,
    readAheadMs: 10_000,
  });
  cleanups.push(
    () => server.close(),
    () => deps.client.close(),
  );
  const work = { signal, budget: deps.budget };
  return { opener, clock, links, work, server, containers };
}

it("a probe of a plugin's track finds the media behind its link, and does not reveal the address", async () => {
  const { opener, clock, links, work, containers } = await start(
    ({ path }) =>
      path === "/0" ? statusPlan(302, { location: "/signed?token=secret" }) : plainPlan(SONG, "audio/ogg"),
    { container: "ogg" },
  );
  const result = await hurry(clock, opener.probe(SITE_INPUT, work));
  expect(result).toMatchObject({
    kind: "track",
    container: "ogg",
    lengthMs: expect.closeTo(8_000, -2),
    isSeekable: true,
  });
  expect(result).toMatchObject({ location: undefined });
  expect(JSON.stringify(result)).not.toContain("secret");
  expect([links.reasons, containers]).toEqual([["start"], ["ogg"]]);
});

it("a probe of a plugin's track whose HLS is refused once finds it through the next link", async () => {
  const files = finishedHls([{ name: "s", bytes: SONG, seconds: 8 }]);
  const { opener, clock, links, work } = await start(({ path }) => {
    if (path === "/0") return statusPlan(403);
    const name = path === "/1" ? "index.m3u8" : path.slice(1);
    const bytes = Buffer.from(files[name] as string); // Buffer.from accepts either; its overloads do not show it.
    return plainPlan(bytes, undefined);
  });
  const result = await hurry(clock, opener.probe(SITE_INPUT, work));
  expect(result).toMatchObject({ kind: "track", container: "m3u|hls-outer", lengthMs: 8_000, location: undefined });
  expect(links.reasons).toEqual(["start", "refused 403"]);
});

it("a link to a list of links leads to the listed address, without the link's headers", async () => {
  const { opener, clock, work, server } = await start(
    ({ path }) => plainPlan(path === "/song" ? SONG : Buffer.from("#EXTM3U\n/song\n"), undefined),
    { headers: { cookie: "a=b" } },
  );
  const result = await hurry(clock, opener.probe(SITE_INPUT, work));
  const input = { kind: "http", url: `${server.url}/song`, container: undefined };
  expect(result).toEqual({ kind: "reference", input, title: undefined });
  (await hurry(clock, opener.open(SITE_INPUT, work))).demuxer.close();
  expect(server.requests.map(({ path, headers }) => [path, headers.cookie])).toEqual([
    ["/0", "a=b"],
    ["/1", "a=b"],
    ["/song", undefined],
  ]);
});

it("an opening starts again when the link changes to another file in the middle of its head", async () => {
  const { opener, clock, links, work } = await start(({ path, earlierRequests }) => {
    if (path === "/1") return plainPlan(countedSong({ seconds: 8, firstNumber: 5_000 }), undefined);
    if (earlierRequests > 0) return statusPlan(403);
    return { ...plainPlan(SONG, undefined), fault: { kind: "cut", afterBytes: 40 } };
  });
  const { demuxer } = await hurry(clock, opener.open(SITE_INPUT, work));
  const packet = await hurry(clock, demuxer.next());
  expect(opusPacketNumber(packet?.data ?? new Uint8Array(5))).toBe(5_000);
  expect(links.reasons).toEqual(["start", "refused 403"]);
  demuxer.close();
});

it("a plugin's track that keeps refusing its own links is given up", async () => {
  const { opener, clock, links, work } = await start(({ earlierRequests }) =>
    earlierRequests > 0 ? statusPlan(403) : { ...plainPlan(SONG, undefined), fault: { kind: "cut", afterBytes: 40 } },
  );
  const opening = hurry(clock, opener.open(SITE_INPUT, work));
  await expect(opening).rejects.toMatchObject({ code: "link-refused" });
  expect(links.requests.length).toBe(4);
});
