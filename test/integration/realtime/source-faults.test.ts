// Faults of sites, on a whole node: each fails the load that caused the request, with an error that describes the
// answer, within its bound; a song of another source that plays at the same time is not affected.

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { RadioBrowserSite } from "../../../lab/sites/radio-browser.ts";
import type { SiteFault, SiteOutcome } from "../../../lab/sites/site-server.ts";
import { SoundCloudSite } from "../../../lab/sites/soundcloud.ts";
import { numbered } from "../../../lab/sites/youtube/library.ts";
import { playlistAnswer, playlistVideoRenderer } from "../../../lab/sites/youtube/shapes.ts";
import { YoutubeSite } from "../../../lab/sites/youtube.ts";
import type { Bot, LoadView } from "../../../lab/test-environment/bot.ts";
import type { TestEnvironment } from "../../../lab/test-environment/test-environment.ts";
import { FOLLOWED_VERSION } from "../../../plugins/youtube/manifest.ts";
import { createLogger, type LogFields, type LogLevel } from "../../../src/log/log.ts";
import { ControlSong } from "../../support/control-song.ts";
import { startSiteTestEnvironment } from "../../support/site-test-environment.ts";
import { type ExceptionView, pathsIn } from "../../support/upstream-test-environment.ts";

const PAGE = "https://soundcloud.com/stand-ins";
const API = "https://api-v2.soundcloud.com";
const INNERTUBE = "https://www.youtube.com/youtubei/v1";
const FIFTY_MEGABYTES = Buffer.alloc(50 * 1024 * 1024, "[");
/** Made before anything plays: it blocks this thread for a while. */
const ITEMS = Array.from({ length: 100_000 }, (_, index) => playlistVideoRenderer(numbered(index)));
const LARGE_LIST = playlistAnswer("WEB", { title: "All", token: undefined, items: ITEMS }, false);
const HUNDRED_THOUSAND = Buffer.from(JSON.stringify(LARGE_LIST));

/** Longer than the node's own pause. */
const RETRY_AFTER_MS = 20 * 60_000;
/** How far the clocks of two threads may differ. */
const CLOCKS_MS = 100;

interface Line {
  readonly level: LogLevel;
  readonly message: string;
  readonly fields: LogFields;
}

interface SourceView {
  readonly name: string;
  readonly loads: { readonly failed: number; readonly lastError: { readonly message: string } | null };
  readonly backends: readonly { readonly name: string; readonly state: string; readonly openUntilMs: number | null }[];
}

let soundcloud: SoundCloudSite;
let youtube: YoutubeSite;
let radio: RadioBrowserSite;
let env: TestEnvironment;
let bot: Bot;
let control: ControlSong;
const lines: Line[] = [];
const cleanups: (() => void)[] = [];

beforeAll(async () => {
  [soundcloud, youtube, radio] = [
    await SoundCloudSite.start(),
    await YoutubeSite.start(),
    await RadioBrowserSite.start(),
  ];
  const args = [
    "--plugins.soundcloud.listEntriesMax=1000",
    "--plugins.youtube.playlistPages=50",
    "--metrics.prometheus.enabled=true",
    "--metrics.prometheus.endpoint=/inner/metrics",
  ];
  env = await startSiteTestEnvironment([soundcloud, youtube, radio], args, {
    logger: createLogger((level, message, fields) => void lines.push({ level, message, fields })),
  });
  bot = await env.connectBot();
  control = await ControlSong.start(env, radio);
});
afterAll(async () => {
  await control.stop();
  env.discord.assertClean();
  await env.close();
  for (const site of [soundcloud, youtube, radio]) await site.close();
});

afterEach(async () => {
  for (const repair of cleanups.splice(0)) repair();
  await control.expectUnharmed();
});

/** Nothing that one story has left in caches and breakers is for the next. */
async function restartPlugin(name: string): Promise<void> {
  expect((await bot.request("POST", `/v4/tonearm/plugins/${name}/reload`)).status).toBe(200);
}

async function load(identifier: string): Promise<LoadView> {
  const { status, body } = await bot.load(identifier);
  expect(status).toBe(200);
  return body;
}

async function health(name: string): Promise<SourceView> {
  const { body } = await bot.request<SourceView[]>("GET", "/v4/tonearm/sources");
  return body.find((source) => source.name === name)!; // all are listed
}

/** Checks the error in the protocol's form, and the same error in the operator's view. */
async function expectReported(sourceName: string, identifier: string, expected: Partial<ExceptionView>): Promise<void> {
  const body = await load(identifier);
  expect(body.loadType).toBe("error");
  const error = body.data as ExceptionView; // protocol-v4.md section 3.5
  expect(Object.keys(error)).toEqual(["message", "severity", "cause", "causeStackTrace"]);
  expect(error).toMatchObject({ cause: expect.stringMatching(/^\w+Error: /), ...expected });
  expect(pathsIn(error)).toEqual([]);
  expect((await health(sourceName)).loads.lastError?.message).toBe(error.message.slice(0, 300));
}

function circle(url: string): SiteOutcome {
  return { status: 307, headers: { location: url } };
}

const SOUNDCLOUD_FAULTS: [what: string, fault: SiteFault, severity: string, message: string][] = [
  ["401", { at: /resolve/, outcome: { status: 401 } }, "suspicious", "soundcloud: SoundCloud answered HTTP 401: "],
  ["403", { at: /resolve/, outcome: { status: 403 } }, "common", "SoundCloud answered HTTP 403: it may be private or "],
  ["503", { at: /resolve/, outcome: { status: 503 } }, "suspicious", `soundcloud: ${API}/resolve answered HTTP 503`],
  ["a cut", { at: /resolve/, outcome: "cut" }, "suspicious", `soundcloud: ${API}/resolve cannot be reached: `],
  [
    "a page where JSON was meant",
    { at: /resolve/, outcome: { text: "<!doctype html>" } },
    "suspicious",
    `soundcloud: ${API} answered a page where JSON was expected`,
  ],
  [
    "50 MB",
    { at: /resolve/, outcome: { bytes: FIFTY_MEGABYTES } },
    "suspicious",
    `soundcloud: ${API}/resolve sent more than 8388608 bytes`,
  ],
  [
    "redirects in a circle",
    { at: /resolve/, outcome: circle(`${API}/resolve`) },
    "suspicious",
    `soundcloud: ${API}/resolve goes through more than 5 redirects`,
  ],
];

describe("soundcloud answers", () => {
  beforeEach(() => restartPlugin("soundcloud"));

  it.each(SOUNDCLOUD_FAULTS)(
    "soundcloud answers %s: the load fails with an error that says so",
    async (_, fault, severity, message) => {
      cleanups.push(soundcloud.server.fail(fault));
      await expectReported("soundcloud", `${PAGE}/song`, { severity, message: expect.stringContaining(message) });
    },
  );

  it("soundcloud changes its page after the client id expired: the load fails with an error that says so", async () => {
    const { clientId } = soundcloud;
    soundcloud.clientId = [...clientId].reverse().join("");
    cleanups.push(() => {
      soundcloud.clientId = clientId;
    });
    cleanups.push(soundcloud.server.fail({ at: /^soundcloud\.com\/$/, outcome: { text: "<html>New!</html>" } }));
    const reason = "neither the page nor its 0 scripts have one";
    await expectReported("soundcloud", `${PAGE}/song`, {
      message: expect.stringContaining(`soundcloud: no client id can be read from soundcloud.com (${reason}); set the`),
      severity: "suspicious",
    });
  });

  it("soundcloud answers that it has found nothing: the result is empty", async () => {
    expect(await load("scsearch:nothing of the kind")).toEqual({ loadType: "empty", data: null });
  });

  it("soundcloud answers pages that link in a circle: each is read once", async () => {
    const next = `${API}/users/1/likes?offset=0&limit=200&linked_partitioning=1`;
    const collection = [{ kind: "like", track: soundcloud.tracks.get(11) }];
    cleanups.push(soundcloud.server.fail({ at: /likes/, outcome: { json: { collection, next_href: next } } }));
    const { data } = await load(`${PAGE}/likes`);
    expect((data as { tracks: unknown[] }).tracks).toHaveLength(2);
  });

  it("soundcloud answers a set of 100,000: as many tracks are found as the operator allows", async () => {
    const ids = Array.from({ length: 100_000 }, (_, index) => 100 + (index % 120));
    soundcloud.addSet(`${PAGE}/sets/endless`, 903, ids);
    expect(await load(`${PAGE}/sets/endless`)).toMatchObject({
      loadType: "playlist",
      data: { tracks: { length: 1000 }, pluginInfo: { totalTracks: 100_000 } },
    });
  });
});

const YOUTUBE_FAULTS: [what: string, outcome: SiteOutcome, severity: string, cause: string][] = [
  ["401", { status: 401 }, "suspicious", "Invalid status code for search response: 401"],
  ["403", { status: 403 }, "suspicious", "Invalid status code for search response: 403"],
  ["503", { status: 503 }, "suspicious", "Invalid status code for search response: 503"],
  ["a page where JSON was meant", { text: "<!doctype html>" }, "suspicious", "the search response of YouTube is no"],
  ["50 MB", { bytes: FIFTY_MEGABYTES }, "suspicious", `${INNERTUBE}/search sent more than 8388608 bytes`],
  [
    "redirects in a circle",
    circle(`${INNERTUBE}/search`),
    "suspicious",
    `${INNERTUBE}/search goes through more than 5 redirects`,
  ],
];

describe("youtube answers", () => {
  beforeEach(() => restartPlugin("youtube"));

  it.each(YOUTUBE_FAULTS)(
    "youtube answers %s: the load fails with the error of each client",
    async (_, outcome, severity, cause) => {
      cleanups.push(youtube.fail({ at: /\/search$/, outcome }));
      const head = `(yts.version: ${FOLLOWED_VERSION}) All clients failed to load the item.`;
      await expectReported("youtube", "ytsearch:song", {
        severity,
        cause: expect.stringContaining(`SourceError: ${cause}`),
        message: expect.stringContaining(`${head}\n\nClient [WEB] failed: ${cause}`),
      });
    },
  );

  it.each([
    ["that it has found nothing", "nothing"],
    ["a search of another make", "new shape"],
  ])("youtube answers %s: the result is empty", async (_, words) => {
    expect(await load(`ytsearch:${words}`)).toEqual({ loadType: "empty", data: null });
  });

  it("youtube answers a video in an unknown form: the load fails with an error that says so", async () => {
    cleanups.push(youtube.fail({ at: /\/player$/, outcome: { json: { novelty: true } } }));
    const message = expect.stringMatching(/^youtube: .+\[VISIONOS\] failed: No playability status block\./s);
    await expectReported("youtube", "song0000001", { severity: "suspicious", message });
  });

  it("youtube answers 5,000 entries: all are found where the operator allows them", async () => {
    expect(await load("PLmany")).toMatchObject({ loadType: "playlist", data: { tracks: { length: 5000 } } });
  });

  it("youtube answers pages that link in a circle: each is read once", async () => {
    expect(await load("PLcircle")).toMatchObject({ loadType: "playlist", data: { tracks: { length: 200 } } });
  });

  it("youtube answers 100,000 entries at once: the load fails with an error that says so", async () => {
    cleanups.push(youtube.fail({ at: /\/browse$/, outcome: { bytes: HUNDRED_THOUSAND } }));
    const message = expect.stringContaining(`[WEB] failed: ${INNERTUBE}/browse sent more than 8388608 bytes`);
    await expectReported("youtube", "PLmany", { severity: "suspicious", message });
  });
});

describe("a site that answers 429", () => {
  const busy = (retryAfterSeconds: number): SiteOutcome => {
    return { status: 429, headers: { "retry-after": String(retryAfterSeconds) } };
  };

  it("a 429 opens the circuit breaker for the time in the answer; client, operator, metrics and log show it", async () => {
    await restartPlugin("soundcloud");
    cleanups.push(soundcloud.server.fail({ at: /resolve/, outcome: busy(RETRY_AFTER_MS / 1000), times: 1 }));
    const fromMs = Date.now();
    const failedBefore = (await health("soundcloud")).loads.failed;
    const message = `${API}/resolve answered HTTP 429`;
    await expectReported("soundcloud", `${PAGE}/song`, { severity: "suspicious", message: `soundcloud: ${message}` });
    const toMs = Date.now();

    const askedCount = soundcloud.server.requestsTo("api-v2.soundcloud.com").length;
    const received = "soundcloud: the circuit breaker for api-v2.soundcloud.com is open until ";
    await expectReported("soundcloud", "scsearch:song", {
      severity: "suspicious",
      message: expect.stringMatching(new RegExp(`^${received}.*; last error: ${message}$`)),
    });
    expect(soundcloud.server.requestsTo("api-v2.soundcloud.com")).toHaveLength(askedCount);

    const backendOf = ({ backends }: SourceView) => backends.find(({ name }) => name === "api-v2.soundcloud.com");
    await expect.poll(async () => backendOf(await health("soundcloud"))?.state).toBe("open");
    const unwell = await health("soundcloud");
    expect(unwell.loads.failed).toBe(failedBefore + 2);
    expect(backendOf(unwell)).toMatchObject({ failed: 1, lastError: message });
    expect(backendOf(unwell)?.openUntilMs).toBeGreaterThanOrEqual(fromMs + RETRY_AFTER_MS - CLOCKS_MS);
    expect(backendOf(unwell)?.openUntilMs).toBeLessThanOrEqual(toMs + RETRY_AFTER_MS + CLOCKS_MS);

    const metrics = await (await fetch(`${env.url}/inner/metrics`)).text();
    expect(metrics).toContain('tonearm_backend_breaker_open{plugin="soundcloud",backend="api-v2.soundcloud.com"} 1\n');
    const failed = 'tonearm_source_requests_total{source="soundcloud",request="load",outcome="failed"}';
    expect(metrics).toContain(`${failed} ${failedBefore + 2}\n`);

    const inLog = lines.filter(({ fields }) => fields.backend === "api-v2.soundcloud.com");
    const fields = { plugin: "soundcloud", pauseMs: RETRY_AFTER_MS, failuresInRow: 1, reason: message };
    const opened = "circuit breaker opened for soundcloud/api-v2.soundcloud.com: 1 failure, retry in 1200 s";
    expect(inLog).toMatchObject([{ level: "warn", message: opened, fields }]);
  });

  it("a site that answered 429 is asked again afterwards, and not before", async () => {
    await restartPlugin("youtube");
    let refusedMs: number | undefined;
    const refuse = (): SiteOutcome => {
      refusedMs ??= performance.now();
      return busy(1);
    };
    // WEB and VISIONOS are asked, each once.
    cleanups.push(youtube.fail({ at: /\/search$/, outcome: refuse, times: 2 }));
    const received = "failed: Invalid status code for search response: 429";
    await expectReported("youtube", "ytsearch:song", {
      message: expect.stringContaining(`Client [WEB] ${received}\n\nClient [VISIONOS] ${received}`),
      severity: "suspicious",
    });
    const { length: askedCount } = youtube.asked("search");
    await expect.poll(async () => (await load("ytsearch:song")).loadType).toBe("search");
    expect(performance.now() - (refusedMs ?? Number.NaN)).toBeGreaterThanOrEqual(1000);
    expect(youtube.asked("search")).toHaveLength(askedCount + 1);
    const again = {
      level: "info",
      message: "circuit breaker closed for youtube/WEB search",
      fields: { backend: "WEB search" },
    };
    await expect.poll(() => lines.filter(({ message }) => message === again.message)).toMatchObject([again]);
  });
});
