import { afterEach, describe, expect, it } from "vitest";
import { type Answer, plainPlan, statusPlan } from "../../../../lab/media-server/answer-plan.ts";
import { type LoggedRequest, MediaServer } from "../../../../lab/media-server/media-server.ts";
import type { LinkRequest, PlayableLink, SiteLink } from "../../../../src/bridge/playable-link.ts";
import { NodeError } from "../../../../src/errors.ts";
import { type InputDeps, type OpenedInput, openInput } from "../../../../src/media/input/open-input.ts";
import type { TrackLink } from "../../../../src/media/input/track-link.ts";
import { FakeClock } from "../../../support/fake-clock.ts";
import { createInputDeps, hurry, patternBytes } from "../../../support/input-builders.ts";
import { linkTo, ScriptedLinks, SITE_INPUT, SITE_TRACK } from "../../../support/scripted-links.ts";

const FILE = patternBytes(700_000);

let cleanups: (() => unknown)[] = [];

afterEach(async () => {
  for (const cleanup of cleanups.reverse()) await cleanup();
  cleanups = [];
});

interface Bench {
  readonly server: MediaServer;
  readonly clock: FakeClock;
  readonly deps: InputDeps;
  readonly links: ScriptedLinks;
  /** Links of sources that were notified of a replacement. */
  readonly replaced: TrackLink[];
  open(): Promise<OpenedInput>;
  /** Opens it and reads all of it. */
  readAll(): Promise<Buffer>;
}

interface Site {
  readonly answer: (request: LoggedRequest) => Answer | undefined;
  /** Gives the addresses their host. */
  readonly link: (nth: number, bench: Bench, request: LinkRequest) => PlayableLink | Error;
}

async function start({ answer, link }: Site): Promise<Bench> {
  const server = await MediaServer.start({ script: answer });
  const clock = new FakeClock();
  const links = new ScriptedLinks((nth, request) => link(nth, bench, request));
  const deps = createInputDeps({ clock, requestLink: links.requestLink });
  const replaced: TrackLink[] = [];
  cleanups.push(
    () => server.close(),
    () => deps.client.close(),
  );
  const open = async (): Promise<OpenedInput> => {
    const opening = openInput(SITE_INPUT, { ...deps, onReplaced: (other) => replaced.push(other) });
    const input = await hurry(clock, opening);
    cleanups.push(() => input.source.close());
    return input;
  };
  const bench = { server, clock, deps, links, replaced, open, readAll: async () => readAll(clock, await open()) };
  return bench;
}

/** In pieces, as a demuxer would. */
async function readAll(clock: FakeClock, { source }: OpenedInput, pieceBytes = 10_000): Promise<Buffer> {
  const pieces: Uint8Array[] = [];
  for (let at = 0; ; ) {
    const piece = await hurry(clock, source.read(at, pieceBytes));
    pieces.push(piece);
    at += piece.length;
    if (piece.length < pieceBytes) return Buffer.concat(pieces);
  }
}

function whole(etag = '"a"'): Answer {
  const plan = plainPlan(FILE, "audio/test");
  return { ...plan, headers: { ...plan.headers, etag } };
}

/** Each link gives this much over one connection, and is refused from then on; the last one is good. */
function refusedAfter(sizeBytes: number, { status = 403, linkCount = 2 } = {}): Site["answer"] {
  return ({ path, earlierRequests }) => {
    const nth = Number(path.slice(1));
    if (nth >= linkCount - 1) return whole(`"${nth}"`);
    if (earlierRequests > 0) return statusPlan(status);
    return {
      ...plainPlan(FILE, "audio/test"),
      headers: { etag: `"${nth}"` },
      fault: { kind: "cut", afterBytes: sizeBytes },
    };
  };
}

const numbered = (changes: Partial<SiteLink> = {}): Site["link"] => {
  return (nth, { server }) => linkTo(`${server.url}/${nth}`, { variant: "a", ...changes });
};

describe("a link that is refused in the middle of its file", () => {
  it.each([401, 403, 410])(
    "a link refused with %i is renewed, and the file continues at the same byte",
    async (status) => {
      const { readAll, links, server, clock } = await start({
        answer: refusedAfter(300_000, { status }),
        link: numbered(),
      });
      expect((await readAll()).equals(FILE)).toBe(true);
      expect(links.requests).toEqual([
        { track: SITE_TRACK, owner: ["address test"], reason: "start" },
        { track: SITE_TRACK, owner: ["address test"], reason: "refused", status, variant: "a" },
      ]);
      expect(server.requests.map(({ path, headers }) => [path, headers.range])).toEqual([
        ["/0", "bytes=0-"],
        ["/0", "bytes=300000-"],
        ["/1", "bytes=300000-"],
      ]);
      // At once: a working link is not waited for.
      expect(clock.now()).toBeLessThan(5_000);
    },
  );

  it("a link is renewed also when its redirect's target is gone, and its origin as well", async () => {
    const { readAll, links } = await start({
      answer: ({ path, earlierRequests }) => {
        if (path === "/1") return whole();
        if (path === "/0") return earlierRequests === 0 ? statusPlan(302, { location: "/signed" }) : statusPlan(404);
        if (earlierRequests > 0) return statusPlan(404);
        return { ...plainPlan(FILE, "audio/test"), fault: { kind: "cut", afterBytes: 200_000 } };
      },
      link: numbered(),
    });
    expect((await readAll()).equals(FILE)).toBe(true);
    expect(links.reasons).toEqual(["start", "refused 404"]);
  });

  it("a renewed link without a variant name to another version counts as different", async () => {
    const site = { answer: refusedAfter(300_000), link: numbered({ variant: undefined }) };
    const { open, clock, replaced, links } = await start(site);
    const input = await open();
    await expect(readAll(clock, input)).rejects.toMatchObject({ code: "input-changed" });
    expect(links.reasons).toEqual(["start", "refused 403"]);
    expect(replaced.length).toBe(1);
  });

  it("a renewed link without a variant name counts as the same when size and version match", async () => {
    const { readAll, replaced } = await start({
      answer: ({ path, earlierRequests }) => {
        if (path === "/1") return whole();
        return earlierRequests > 0
          ? statusPlan(403)
          : { ...plainPlan(FILE, undefined), headers: { etag: '"a"' }, fault: { kind: "cut", afterBytes: 300_000 } };
      },
      link: numbered({ variant: undefined }),
    });
    expect((await readAll()).equals(FILE)).toBe(true);
    expect(replaced).toEqual([]);
  });

  it.each([
    ["another variant", (nth: number) => `r${nth}`, FILE],
    ["another size", () => "a", FILE.subarray(0, 650_000)],
    ["a size below the bytes read", () => "a", FILE.subarray(0, 100_000)],
  ])(
    "a renewed link that leads to %s is reported at once, while buffered bytes stay readable",
    async (_, variant, other) => {
      const { open, clock, replaced } = await start({
        answer: ({ path, ...request }) =>
          path === "/1" ? plainPlan(other, undefined) : refusedAfter(300_000)({ path, ...request }),
        link: (nth, { server }) => linkTo(`${server.url}/${nth}`, { variant: variant(nth) }),
      });
      const { source } = await open();
      await hurry(clock, source.read(200_000, 10_000));
      await hurry(clock, new Promise<void>((resolve) => clock.after(100, resolve)));
      expect(replaced.length).toBe(1);
      expect(Buffer.compare(await source.read(290_000, 10_000), FILE.subarray(290_000, 300_000))).toBe(0);
      await expect(hurry(clock, source.read(299_000, 2_000))).rejects.toMatchObject({ code: "input-changed" });
    },
  );
});

describe("a link that is refused", () => {
  it("a link refused at the beginning is renewed once, and a second refusal fails with its reason", async () => {
    const { open, links } = await start({ answer: () => statusPlan(403), link: numbered() });
    const failure: unknown = await open().catch((error: unknown) => error);
    expect(failure).toMatchObject({ code: "link-refused", message: expect.stringContaining("HTTP 403") });
    expect(links.reasons).toEqual(["start", "refused 403"]);
  });

  it("a link refused in the middle, whose renewal is refused as well, ends the file there and asks no more", async () => {
    const { open, clock, links } = await start({
      answer: ({ path, earlierRequests }) => {
        if (path !== "/0" || earlierRequests > 0) return statusPlan(410);
        return { ...plainPlan(FILE, undefined), fault: { kind: "cut", afterBytes: 300_000 } };
      },
      link: numbered(),
    });
    const reading = open().then((input) => readAll(clock, input));
    await expect(reading).rejects.toMatchObject({ code: "link-refused", message: expect.stringContaining("410") });
    expect(links.reasons).toEqual(["start", "refused 410"]);
  });

  it("a link refused repeatedly without progress is renewed three times, with growing waits", async () => {
    const { open, clock, links } = await start({
      answer: refusedAfter(1_000, { linkCount: 100 }),
      link: numbered(),
    });
    // Each continues where the one before was cut, and is cut after as many bytes.
    const input = await open();
    await expect(readAll(clock, input)).rejects.toMatchObject({ code: "link-refused" });
    expect(links.reasons).toEqual(["start", "refused 403", "refused 403", "refused 403"]);
    expect(clock.now()).toBeGreaterThan(2_000);
  });

  it("a link may be refused any number of times while each renewal brings a piece of the file", async () => {
    const { readAll, links } = await start({ answer: refusedAfter(70_000, { linkCount: 100 }), link: numbered() });
    expect((await readAll()).equals(FILE)).toBe(true);
    expect(links.requests.length).toBe(10);
  });

  it("a link is requested again when the source cannot give another one at the moment", async () => {
    const trouble = new NodeError("input-unreachable", "the site's API is away");
    const { readAll, links } = await start({
      answer: refusedAfter(300_000, { linkCount: 3 }),
      link: (nth, { server }) => (nth === 1 ? trouble : linkTo(`${server.url}/${nth}`, { variant: "a" })),
    });
    expect((await readAll()).equals(FILE)).toBe(true);
    expect(links.reasons).toEqual(["start", "refused 403", "refused 403"]);
  });

  it("a link whose source fails for good ends with the source's error", async () => {
    const gone = new NodeError("input-not-found", "the track was deleted");
    const { open, clock, links } = await start({
      answer: refusedAfter(300_000),
      link: (nth, { server }) => (nth === 1 ? gone : linkTo(`${server.url}/${nth}`)),
    });
    const input = await open();
    await expect(readAll(clock, input)).rejects.toBe(gone);
    expect(links.requests.length).toBe(2);
  });
});

describe("a link that expires", () => {
  const epochMs = (clock: FakeClock, delayMs: number) => clock.epochMs() + delayMs;

  it("a link that expires within ten seconds is renewed before it is used", async () => {
    const { readAll, links, server } = await start({
      answer: () => whole(),
      link: (nth, { server: { url }, clock }) =>
        linkTo(`${url}/${nth}`, { expiresAtEpochMs: epochMs(clock, nth === 0 ? 9_000 : 3_600_000) }),
    });
    expect((await readAll()).equals(FILE)).toBe(true);
    expect(links.reasons).toEqual(["start", "expiring"]);
    expect(server.requests.map(({ path }) => path)).toEqual(["/1"]);
  });

  it("a link that expires is renewed before a lost connection is reopened, and not while one lasts", async () => {
    const { open, clock, links, server } = await start({
      answer: ({ path }) =>
        path === "/0" ? { ...plainPlan(FILE, undefined), fault: { kind: "cut", afterBytes: 600_000 } } : whole(),
      link: (nth, { server: { url }, clock: time }) =>
        linkTo(`${url}/${nth}`, { variant: "a", expiresAtEpochMs: epochMs(time, 60_000) }),
    });
    const input = await open();
    const before = Buffer.from(await hurry(clock, input.source.read(0, 250_000)));
    await hurry(clock, new Promise<void>((resolve) => clock.after(55_000, resolve)));
    expect(links.reasons).toEqual(["start"]);
    expect((await readAll(clock, input)).equals(FILE)).toBe(true);
    expect(before.equals(FILE.subarray(0, 250_000))).toBe(true);
    expect(links.reasons).toEqual(["start", "expiring"]);
    expect(server.requests.at(-1)?.path).toBe("/1");
  });

  it("an expired link stays in use when there is no other", async () => {
    const { readAll, links } = await start({
      answer: () => whole(),
      link: (nth, { server: { url }, clock }) =>
        nth > 0
          ? new NodeError("input-unreachable", "away")
          : linkTo(`${url}/0`, { expiresAtEpochMs: epochMs(clock, 5_000) }),
    });
    expect((await readAll()).equals(FILE)).toBe(true);
    expect(links.reasons).toEqual(["start", "expiring"]);
  });

  it.each([0, -60_000, 4_000])(
    "a link that is given out with %i ms to live is not renewed again and again",
    async (lifeMs) => {
      const { readAll, links } = await start({
        answer: () => ({ ...plainPlan(FILE, undefined), fault: { kind: "cut", afterBytes: 100_000 } }),
        link: (nth, { server: { url }, clock }) =>
          linkTo(`${url}/${nth}`, { variant: "a", expiresAtEpochMs: epochMs(clock, lifeMs) }),
      });
      expect((await readAll()).equals(FILE)).toBe(true);
      expect(links.requests.length).toBeLessThanOrEqual(3);
    },
  );
});

describe("headers that a link sets", () => {
  it("a link's headers are sent with every request, and its secrets to no other host", async () => {
    const other = await MediaServer.start({ script: () => whole() });
    cleanups.push(() => other.close());
    const { readAll, server } = await start({
      answer: ({ path }) => {
        if (path === "/0") return statusPlan(302, { location: "/here" });
        return path === "/here" ? statusPlan(302, { location: `${other.url}/song` }) : undefined;
      },
      link: (_, { server: { url } }) =>
        linkTo(`${url}/0`, {
          headers: {
            Cookie: "a=b",
            Authorization: "Bearer x",
            "X-Api-Key": "y",
            Referer: "https://site.example/",
            "User-Agent": "Site/1",
          },
        }),
    });
    expect((await readAll()).equals(FILE)).toBe(true);
    const reported = (request: LoggedRequest | undefined) => {
      const { cookie, authorization, referer, "x-api-key": key, "user-agent": userAgent } = request?.headers ?? {};
      return [cookie, authorization, key, referer, userAgent];
    };
    const all = ["a=b", "Bearer x", "y", "https://site.example/", "Site/1"];
    expect(server.requests.map(reported)).toEqual([all, all]);
    expect(other.requests.map(reported)).toEqual([
      [undefined, undefined, undefined, "https://site.example/", "Site/1"],
    ]);
    expect(other.requests[0]?.headers).toMatchObject({ range: "bytes=0-", "accept-encoding": "identity" });
  });

  it("a link's secrets are left out also when a redirect's target is requested again", async () => {
    const other = await MediaServer.start({
      script: ({ earlierRequests }) =>
        earlierRequests > 0 ? whole() : { ...plainPlan(FILE, undefined), fault: { kind: "cut", afterBytes: 300_000 } },
    });
    cleanups.push(() => other.close());
    const { readAll } = await start({
      answer: () => statusPlan(302, { location: `${other.url}/song` }),
      link: (_, { server: { url } }) =>
        linkTo(`${url}/0`, { headers: { cookie: "a=b", authorization: "x", origin: "y" } }),
    });
    expect((await readAll()).equals(FILE)).toBe(true);
    const sent = other.requests.map(({ headers }) => [headers.cookie, headers.authorization, headers.origin]);
    expect(sent).toEqual([
      [undefined, undefined, "y"],
      [undefined, undefined, "y"],
    ]);
  });

  it.each([
    [{ headers: { Host: "other.example" } }, "host"],
    [{ headers: { "content-length": "5" } }, "content-length"],
    [{ headers: { "Transfer-Encoding": "chunked" } }, "transfer-encoding"],
    [{ headers: { Connection: "close" } }, "connection"],
    [{ headers: { "x-a": "1\r\nx-b: 2" } }, "an invalid header"],
    [{ headers: { "x a": "1" } }, "an invalid header"],
    [{ headers: { "x-a": "secret".repeat(5_000) } }, "too many headers"],
    [{ rangeStep: { bytes: 10, by: "header" } }, "steps"],
    [{ url: "file:///etc/passwd" }, "not http: or https:"],
  ] as const)("an invalid link of a source is refused: %j", async (changes, text) => {
    const { open, server } = await start({
      answer: () => whole(),
      link: () => ({ ...linkTo("http://127.0.0.1:9/"), ...changes }),
    });
    const failure: unknown = await open().catch((error: unknown) => error);
    expect(failure).toMatchObject({ code: "link-invalid", message: expect.stringContaining(text) });
    expect(String(failure)).not.toContain("secret");
    expect(server.requests).toEqual([]);
  });
});

describe("a file that is requested in steps", () => {
  const STEP = 128 * 1024;
  const steps = Math.ceil(FILE.length / STEP);

  /** As googlevideo does: the part asked for in the query, with a 200. */
  function partOf({ path }: Pick<LoggedRequest, "path">): Answer {
    const [, first, last] = /[?&]range=(\d+)-(\d+)/.exec(path) ?? [];
    if (first === undefined) return whole();
    if (Number(first) >= FILE.length) return statusPlan(416);
    return { ...plainPlan(FILE.subarray(Number(first), Number(last) + 1), undefined), acceptsRanges: false };
  }

  it("a file with steps in a header is requested step by step, without a wait or a lost connection", async () => {
    const { readAll, server, deps, clock } = await start({
      answer: () => whole(),
      link: numbered({ rangeStep: { bytes: STEP, by: "header" } }),
    });
    expect((await readAll()).equals(FILE)).toBe(true);
    const asked = server.requests.map(({ headers }) => headers.range);
    expect(asked).toEqual(Array.from({ length: steps }, (_, nth) => `bytes=${nth * STEP}-${(nth + 1) * STEP - 1}`));
    expect(deps.budget.upstream.reopenedCount).toBe(0);
    expect(clock.now()).toBeLessThan(3_000);
  });

  it.each([`clen=${FILE.length}&sig=a%2Cb`, "sig=a%2Cb"])(
    "a file with steps in the query is requested step by step, with its size known or not: %s",
    async (query) => {
      const { open, server, deps, clock } = await start({
        answer: partOf,
        link: (_, { server: { url } }) => linkTo(`${url}/v?${query}`, { rangeStep: { bytes: STEP, by: "query" } }),
      });
      const input = await open();
      expect(input.source.sizeBytes).toBe(query.startsWith("clen") ? FILE.length : undefined);
      expect((await readAll(clock, input)).equals(FILE)).toBe(true);
      const ends = Array.from({ length: steps }, (_, nth) => `${nth * STEP}-${(nth + 1) * STEP - 1}`);
      expect(server.requests.map(({ path }) => path)).toEqual(ends.map((range) => `/v?${query}&range=${range}`));
      expect(server.requests.every(({ headers }) => headers.range === undefined)).toBe(true);
      expect(deps.budget.upstream.reopenedCount).toBe(0);
      expect(Buffer.compare(await hurry(clock, input.source.read(650_000, 10)), FILE.subarray(650_000, 650_010))).toBe(
        0,
      );
    },
  );

  it("a file with steps in the query ends correctly when its size is a multiple of the step", async () => {
    const length = 4 * STEP;
    const { open, clock } = await start({
      answer: (request) => {
        const answer = partOf(request);
        return typeof answer === "string" || /range=(\d+)/.exec(request.path)?.[1] !== String(length)
          ? answer
          : statusPlan(416);
      },
      link: (_, { server: { url } }) => linkTo(`${url}/v?clen=${length}`, { rangeStep: { bytes: STEP, by: "query" } }),
    });
    expect((await readAll(clock, await open())).equals(FILE.subarray(0, length))).toBe(true);
  });

  it("a file with steps in the query is read completely when the site ignores them", async () => {
    const { readAll, server } = await start({
      answer: () => ({ ...plainPlan(FILE, undefined), acceptsRanges: false }),
      link: (_, { server: { url } }) => linkTo(`${url}/v`, { rangeStep: { bytes: STEP, by: "query" } }),
    });
    expect((await readAll()).equals(FILE)).toBe(true);
    expect(server.requests.length).toBe(1);
  });

  it("a file keeps its step when it is lost within one, and its link is renewed", async () => {
    const { readAll, server, links } = await start({
      answer: (request) => {
        const part = partOf(request);
        if (request.path.startsWith("/1")) return part;
        if (!request.path.includes("range=131072") || typeof part === "string")
          return request.earlierRequests > 0 || request.path.includes("range=1") ? statusPlan(403) : part;
        return { ...part, fault: { kind: "cut", afterBytes: 1_000 } };
      },
      link: (nth, { server: { url } }) =>
        linkTo(`${url}/${nth}?clen=${FILE.length}`, { variant: "251", rangeStep: { bytes: STEP, by: "query" } }),
    });
    expect((await readAll()).equals(FILE)).toBe(true);
    expect(links.reasons).toEqual(["start", "refused 403"]);
    expect(server.requests.find(({ path }) => path.startsWith("/1"))?.path).toContain(`range=${STEP + 1000}-`);
  });
});

it("a track may be played from another source's track", async () => {
  const { open, clock, links } = await start({
    answer: ({ path }) => (path === "/other" ? whole() : undefined),
    link: (_, { server: { url } }) => ({
      kind: "input",
      input: { kind: "http", url: `${url}/other`, container: "mp3" },
    }),
  });
  const input = await open();
  expect(input).toMatchObject({ container: "mp3", plain: { kind: "http" } });
  expect((await readAll(clock, input)).equals(FILE)).toBe(true);
  expect(links.reasons).toEqual(["start"]);
});
