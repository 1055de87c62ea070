// Links that are good from one address only. Linux lets every address of 127.0.0.0/8 be sent from, so the site sees it.

import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { finishedHls } from "../../../../lab/media-server/hls.ts";
import { MediaServer } from "../../../../lab/media-server/media-server.ts";
import type { Egress } from "../../../../src/bridge/playable-link.ts";
import { silentLogger } from "../../../../src/log/log.ts";
import { HlsDemuxer } from "../../../../src/media/demux/hls/hls-demuxer.ts";
import { HttpClient } from "../../../../src/media/input/http-client.ts";
import { openInput } from "../../../../src/media/input/open-input.ts";
import { OutboundGuard } from "../../../../src/network/outbound-guard.ts";
import { OutgoingRoutes } from "../../../../src/network/outgoing-routes.ts";
import { FakeClock } from "../../../support/fake-clock.ts";
import { FakeRoutePlanner } from "../../../support/fake-route-planner.ts";
import { fakeSegment, openFakeSegment } from "../../../support/fake-segments.ts";
import { createInputDeps, hurry, inputSettings, patternBytes } from "../../../support/input-builders.ts";
import { linkTo, ScriptedLinks, SITE_INPUT } from "../../../support/scripted-links.ts";

const FILE = patternBytes(700_000);
const [FIRST, SECOND, THIRD, FOURTH] = ["127.16.0.1", "127.16.0.2", "127.16.0.3", "127.16.0.4"] as const;

let clock: FakeClock;
let planner: FakeRoutePlanner;
let site: MediaServer;
const cleanups: (() => unknown)[] = [];

beforeEach(async () => {
  clock = new FakeClock();
  planner = FakeRoutePlanner.loopback(5);
  const segments = [0, 1, 2].map((index) => fakeSegment(`${index}.ts`, { startMs: index * 1000 }));
  site = await MediaServer.start({ files: { song: FILE, ...finishedHls(segments) } });
  cleanups.push(() => site.close());
});
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

/** Links with these egress addresses, one after the other. */
function links(...egresses: readonly Egress[]): ScriptedLinks {
  return new ScriptedLinks((nth) => {
    const egress = egresses[nth] ?? "machine";
    return linkTo(`${site.url}/song`, { egress, variant: "the song" });
  });
}

function depsWith({ requestLink }: ScriptedLinks, egress: Egress = "blocks") {
  const guard = new OutboundGuard(["127.0.0.0/8"]);
  const routes = new OutgoingRoutes({
    guard,
    clock,
    logger: silentLogger,
    retriesMax: 3,
    isTriggeredBySearch: true,
    resolveTimeoutMs: 5000,
    requestRoute: planner.requestRoute,
    send: planner.send,
  });
  const client = new HttpClient({ guard, settings: inputSettings.http, clock, routes, egress });
  cleanups.push(() => client.close());
  return { ...createInputDeps({ clock, requestLink }), client };
}

async function open(scripted: ScriptedLinks) {
  const { source } = await hurry(clock, openInput(SITE_INPUT, depsWith(scripted)));
  cleanups.push(() => source.close());
  return source;
}

function senders(): string[] {
  return site.requests.map(({ from }) => from);
}

test.each<[string, Egress, string]>([
  ["that address", { address: FOURTH }, FOURTH],
  ["any of the blocks", "blocks", FIRST],
  ["the machine's own", "machine", "127.0.0.1"],
])("a link's bytes are fetched from the link's egress: %s", async (_what, egress, sender) => {
  const source = await open(links(egress));
  expect(Buffer.compare(await source.read(0, 1000), FILE.subarray(0, 1000))).toBe(0);
  expect(senders()).toEqual([sender]);
});

test.each<[string, Egress, string]>([
  ["the blocks", "blocks", FIRST],
  ["the machine's own address", "machine", "127.0.0.1"],
])("an input that is not a link is fetched from %s, as the client is configured", async (_what, egress, sender) => {
  const deps = depsWith(links(), egress);
  const input = { kind: "http", url: `${site.url}/song`, container: undefined } as const;
  const { source } = await hurry(clock, openInput(input, deps));
  source.close();
  expect(senders()).toEqual([sender]);
});

describe("a link whose address is barred", () => {
  test("a barred address before a link is used causes no request with it, and a new link is requested", async () => {
    planner.send({ type: "routeFailed", address: FIRST, reason: "banned" });
    const scripted = links({ address: FIRST }, { address: THIRD });
    await open(scripted);
    expect(scripted.reasons).toEqual(["start", "refused 429"]);
    expect(senders()).toEqual([THIRD]);
  });

  test("a barred address in the middle of a track continues it at the same byte with a link for another address", async () => {
    const scripted = links({ address: FIRST }, { address: SECOND });
    const source = await open(scripted);
    site.ban(FIRST);
    expect(Buffer.compare(await hurry(clock, source.read(600_000, 1000)), FILE.subarray(600_000, 601_000))).toBe(0);
    expect(scripted.reasons).toEqual(["start", "refused 429"]);
    expect(planner.failed).toEqual([FIRST]);
    expect(senders().at(-1)).toBe(SECOND);
  });

  test("a second barred address requests a third link, but not links without end", async () => {
    for (const address of [FIRST, SECOND]) site.ban(address);
    await open(links({ address: FIRST }, { address: SECOND }, { address: THIRD }));
    expect(senders()).toEqual([FIRST, SECOND, THIRD]);
    expect(planner.failed).toEqual([FIRST, SECOND]);

    const barred = links(...new Array(9).fill({ address: FIRST }));
    await expect(hurry(clock, openInput(SITE_INPUT, depsWith(barred)))).rejects.toMatchObject({ code: "link-refused" });
    expect(barred.reasons).toEqual(["start", "refused 429", "refused 429", "refused 429"]);
  });

  test("a playlist and its segments are fetched from the link's egress, and continue from another one", async () => {
    const hls = new ScriptedLinks((nth) =>
      linkTo(`${site.url}/index.m3u8`, { egress: { address: nth === 0 ? FIRST : SECOND } }),
    );
    const deps = depsWith(hls);
    const { source, url = "", link } = await hurry(clock, openInput(SITE_INPUT, deps));
    source.close();
    const demuxer = await hurry(clock, HlsDemuxer.open(new URL(url), { ...deps, link, openSegment: openFakeSegment }));
    cleanups.push(() => demuxer.close());
    expect(new Set(senders())).toEqual(new Set([FIRST]));
    const askedCount = site.requests.length;
    site.ban(FIRST);
    let count = 0;
    while ((await hurry(clock, demuxer.next())) !== undefined) count += 1;
    expect(count).toBeGreaterThan(2);
    expect(hls.reasons).toEqual(["start", "refused 429"]);
    expect(
      senders()
        .slice(askedCount)
        .filter((from) => from === FIRST),
    ).toHaveLength(1);
    expect(site.requests.at(-1)).toMatchObject({ path: "/2.ts", from: SECOND });
  });
});
