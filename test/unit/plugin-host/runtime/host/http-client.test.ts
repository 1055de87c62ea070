import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { brotliCompressSync, deflateSync, gzipSync } from "node:zlib";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type SiteRequest, type SiteScript, SiteServer } from "../../../../../lab/sites/site-server.ts";
import { Owners } from "../../../../../src/lib/owners.ts";
import { DispatcherPool } from "../../../../../src/network/dispatcher-pool.ts";
import { OutboundGuard, type ResolveHost } from "../../../../../src/network/outbound-guard.ts";
import { CookieJar, type HttpRequest, SourceError } from "../../../../../src/plugin-api/plugin.ts";
import { runWork, type Work } from "../../../../../src/plugin-host/runtime/current-work.ts";
import { PluginHttpClient } from "../../../../../src/plugin-host/runtime/host/http-client.ts";
import { FakeClock } from "../../../../support/fake-clock.ts";
import { settle } from "../../../../support/fake-workers.ts";

const SITE = "https://site.example";
const MIB = 1024 * 1024;
/** Stands in queries, and must stand in no error. */
const SECRET = "sesame123";

let clock: FakeClock;
let site: SiteServer;
let script: SiteScript;
/** Called with each request that has arrived. */
let onRequest: (request: SiteRequest) => void;
let client: PluginHttpClient;
const pools: DispatcherPool[] = [];

beforeEach(async () => {
  clock = new FakeClock();
  script = () => ({ text: "fine" });
  onRequest = () => undefined;
  site = await SiteServer.start((request) => {
    onRequest(request);
    return script(request);
  });
  client = createClient();
});
afterEach(async () => {
  for (const pool of pools.splice(0)) pool.close();
  await site.close();
});

function createClient({
  allow = ["127.0.0.1"],
  resolve,
}: {
  allow?: string[];
  resolve?: ResolveHost;
} = {}): PluginHttpClient {
  const guard = new OutboundGuard(allow, resolve === undefined ? {} : { resolve });
  const dispatchers = new DispatcherPool({ guard, connectTimeoutMs: 3000, socketTimeoutMs: 3000 });
  pools.push(dispatchers);
  const http = { userAgent: "Tonearm/test", proxyUrl: undefined, connectTimeoutMs: 3000, socketTimeoutMs: 3000 };
  const hosts = site.hosts("site.example", "other.example");
  return new PluginHttpClient({ dispatchers, clock, settings: { hosts, http } });
}

function get(path: string, request: Partial<HttpRequest> = {}) {
  return client.request(`${SITE}${path}`, { signal: new AbortController().signal, ...request });
}

function workOf(account: string): Work {
  return { depth: 0, owners: new Owners([account]), route: undefined };
}

async function trouble(work: Promise<unknown>): Promise<SourceError> {
  const error = await work.then(
    () => expect.fail("nothing went wrong"),
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(SourceError);
  expect((error as SourceError).message).not.toContain(SECRET);
  return error as SourceError; // checked above
}

/** Resolves when as many requests have arrived. */
function arrived(count = 1): Promise<void> {
  return new Promise((resolve) => {
    onRequest = () => {
      if (site.requests.length >= count) resolve();
    };
  });
}

function redirect(location: string, status = 302): { status: number; headers: Record<string, string> } {
  return { status, headers: { location } };
}

describe("a request", () => {
  test("a request is sent to the operator's replacement of the host, below its path, with the user agent", async () => {
    const answer = await get("/songs?a=1", { query: { b: "x y", c: 2, d: true, e: undefined } });
    const [request] = site.requestsTo("site.example", "/songs");
    expect(request?.query.toString()).toBe("a=1&b=x+y&c=2&d=true");
    expect(request?.headers).toMatchObject({ "user-agent": "Tonearm/test", "accept-encoding": "gzip, deflate, br" });
    expect(answer).toMatchObject({ status: 200, text: "fine", url: `${SITE}/songs?a=1&b=x+y&c=2&d=true` });
  });

  test("a request has its headers as given, in any case, except undefined ones", async () => {
    await get("/", { headers: { "User-Agent": "Other/1", "X-One": "1", "x-none": undefined } });
    expect(site.requests[0]?.headers).toMatchObject({ "user-agent": "Other/1", "x-one": "1" });
    expect(site.requests[0]?.headers).not.toHaveProperty("x-none");
  });

  test.each([
    [{ a: [1] }, '{"a":[1]}', "application/json"],
    [[1, 2], "[1,2]", "application/json"],
    [new URLSearchParams({ a: "b c" }), "a=b+c", "application/x-www-form-urlencoded"],
    ["raw", "raw", undefined],
  ])("a request with the body %j is a POST of the right type", async (body, sent, type) => {
    await get("/", { body });
    expect(site.requests[0]).toMatchObject({ method: "POST", body: sent });
    expect(site.requests[0]?.headers["content-type"]).toBe(type);
  });

  test.each(["ftp://site.example/", "file:///etc/passwd", "no address", ""])(
    "a request to %j is refused",
    async (url) => {
      const asked = () => client.request(url, { signal: new AbortController().signal });
      expect(await trouble(asked())).toMatchObject({ kind: "invalid" });
      // However often, it holds no permit.
      for (let index = 0; index < 40; index++) await trouble(asked());
      expect(await get("/")).toMatchObject({ status: 200 });
      expect(clock.pendingCount).toBe(0);
    },
  );

  test("a finished request leaves no timer and holds no permit", async () => {
    for (let index = 0; index < 40; index++) await get("/");
    expect(clock.pendingCount).toBe(0);
  });
});

describe("an answer", () => {
  test.each([
    ["gzip", gzipSync],
    ["x-gzip", gzipSync],
    ["br", brotliCompressSync],
    ["deflate", deflateSync],
  ])("an answer compressed with %s is decompressed", async (encoding, pack) => {
    script = () => ({ headers: { "content-encoding": encoding }, bytes: pack(Buffer.from("größer")) });
    expect((await get("/")).text).toBe("größer");
  });

  test("an answer is decoded with its declared encoding, and as UTF-8 if that is missing or invalid", async () => {
    const bytes = Buffer.from("größer", "latin1");
    script = ({ query }) => ({ headers: { "content-type": query.get("type") ?? "" }, bytes });
    const textOf = async (type: string) => (await get("/", { query: { type } })).text;
    expect(await textOf("text/html; charset=ISO-8859-1")).toBe("größer");
    expect(await textOf('text/html; charset="windows-1252"; x=y')).toBe("größer");
    expect(await textOf("text/html")).toBe("gr��er");
    expect(await textOf("text/html; charset=nonsense")).toBe("gr��er");
    expect((await get("/")).bytes).toEqual(bytes);
  });

  test("an answer to HEAD may name a content encoding without a body", async () => {
    script = () => ({ headers: { "content-encoding": "gzip" } });
    expect(await get("/", { method: "HEAD" })).toMatchObject({ status: 200, text: "" });
  });

  test("an answer has its headers in lower case, repeated ones joined", async () => {
    script = () => ({ headers: { "X-Two": ["1", "2"] } });
    expect((await get("/")).headers).toMatchObject({ "x-two": "1, 2" });
  });

  test("an answer with 404, 403 or 500 is returned, and json and text treat it as an error", async () => {
    script = ({ path }) => ({ status: Number(path.slice(1)), text: "{}" });
    for (const status of [403, 404, 500]) expect(await get(`/${status}`)).toMatchObject({ status });
    const kinds = [404, 410, 403, 401, 400, 500, 503, 402].map(async (status) => {
      const error = await trouble(
        client.json(`${SITE}/${status}?token=${SECRET}`, { signal: new AbortController().signal }),
      );
      expect(error.message).toBe(`${SITE}/${status} answered HTTP ${status}`);
      return error.kind;
    });
    expect(await Promise.all(kinds)).toEqual([
      ...["not-found", "not-found", "unavailable", "unavailable", "unavailable", "busy", "busy", "unavailable"],
    ]);
  });

  test.each([
    ["120", 120_000],
    ["0", undefined],
    ["99999", 3_600_000],
    ["soon", undefined],
    [undefined, undefined],
  ])("an answer with 429 is an error with the pause to wait: %j", async (value, retryAfterMs) => {
    script = () => ({ status: 429, headers: value === undefined ? {} : { "retry-after": value } });
    expect((await get("/a")).status).toBe(429);
    const { signal } = new AbortController();
    const error = await trouble(client.text(`${SITE}/a`, { signal, query: { token: SECRET } }));
    expect(error).toMatchObject({ kind: "busy", retryAfterMs, message: `${SITE}/a answered HTTP 429` });
  });

  test("an answer with 503 may give the pause as a date, too", async () => {
    const date = new Date(clock.epochMs() + 90_000).toUTCString();
    script = () => ({ status: 503, headers: { "retry-after": date } });
    const error = await trouble(client.text(`${SITE}/`, { signal: new AbortController().signal }));
    expect(error).toMatchObject({ kind: "busy", retryAfterMs: 90_000 });
  });

  test.each([
    ["<!doctype html>", "a page"],
    ["{oops", "something else"],
    ["", "something else"],
  ])("an answer of %j is not JSON", async (text, what) => {
    script = () => ({ text });
    const error = await trouble(client.json(`${SITE}/a?token=${SECRET}`, { signal: new AbortController().signal }));
    expect(error).toMatchObject({ kind: "changed", message: `${SITE}/a answered ${what} where JSON was expected` });
  });
});

describe("the size of a body", () => {
  test("a body has 8 MiB at most, unless more or less is requested", async () => {
    script = ({ query }) => ({ bytes: Buffer.alloc(Number(query.get("size"))) });
    const sizeOf = async (size: number, sizeBytesMax?: number) =>
      (await get("/", { query: { size }, sizeBytesMax })).bytes.length;
    expect(await sizeOf(8 * MIB)).toBe(8 * MIB);
    expect(await sizeOf(9 * MIB, 9 * MIB)).toBe(9 * MIB);
    const error = await trouble(sizeOf(8 * MIB + 1));
    const message = `${SITE}/ sent more than ${8 * MIB} bytes`;
    expect(error).toMatchObject({ kind: "changed", message, isTooLarge: true });
    expect(await trouble(sizeOf(11, 10))).toMatchObject({ kind: "changed", isTooLarge: true });
  });

  test("a body has 64 MiB at most, whatever is requested", async () => {
    script = () => ({ headers: { "content-encoding": "gzip" }, bytes: gzipSync(Buffer.alloc(65 * MIB)) });
    const error = await trouble(get("/", { sizeBytesMax: Number.POSITIVE_INFINITY }));
    expect(error.message).toContain(`sent more than ${64 * MIB} bytes`);
  });

  test.each([
    ["gzip", gzipSync],
    ["br", brotliCompressSync],
    ["deflate", deflateSync],
  ])("the limit applies to the decompressed body: a bomb of %s", async (encoding, pack) => {
    const bytes = pack(Buffer.alloc(12 * MIB));
    expect(bytes.length).toBeLessThan(MIB);
    script = () => ({ headers: { "content-encoding": encoding }, bytes });
    expect(await trouble(get("/"))).toMatchObject({ kind: "changed" });
  });

  test("the limit applies to the compressed body: endless empty members", async () => {
    const bytes = Buffer.concat(Array.from({ length: 1000 }, () => gzipSync(Buffer.alloc(0))));
    script = () => ({ headers: { "content-encoding": "gzip" }, bytes });
    expect((await get("/", { sizeBytesMax: bytes.length })).text).toBe("");
    expect(await trouble(get("/", { sizeBytesMax: bytes.length - 1 }))).toMatchObject({ kind: "changed" });
  });

  test("a body that ends too early is a connection failure", async () => {
    const packed = gzipSync(Buffer.from("a".repeat(100)));
    script = ({ path }) => {
      if (path === "/plain") return { bytes: Buffer.alloc(100), cutAfterBytes: 50 };
      if (path === "/packed") return { headers: { "content-encoding": "gzip" }, bytes: packed.subarray(0, -8) };
      return { headers: { "content-encoding": "gzip" }, text: "not packed at all" };
    };
    for (const path of ["/plain", "/packed", "/wrong"]) {
      expect(await trouble(get(path, { query: { token: SECRET } }))).toMatchObject({ kind: "unreachable" });
    }
  });
});

describe("concurrent bodies", () => {
  test("the bodies of one account take no memory from another's: the largest of the greedy one ends", async () => {
    const held: ServerResponse[] = [];
    const endless = createServer((_request, response) => {
      response.write(Buffer.alloc(60 * MIB));
      held.push(response);
    });
    await new Promise<void>((resolve) => endless.listen(0, "127.0.0.1", resolve));
    const { port } = endless.address() as AddressInfo; // listens on TCP
    const options = { signal: new AbortController().signal, sizeBytesMax: 64 * MIB };
    const greedy = runWork(workOf("greedy"), async () => client.request(`http://127.0.0.1:${port}/`, options));
    const outcome = trouble(greedy);
    try {
      // Its memory is taken: what it has sent has been read.
      await expect.poll(() => held[0]?.writableLength).toBe(0);
      script = () => ({ bytes: Buffer.alloc(16 * MIB) });
      const ask = () => runWork(workOf("honest"), async () => get("/honest", { sizeBytesMax: 32 * MIB }));
      expect((await ask()).bytes).toHaveLength(16 * MIB);
      expect(await outcome).toMatchObject({
        kind: "busy",
        message: expect.stringMatching(/receives too much at once$/),
      });
    } finally {
      endless.closeAllConnections();
      endless.close();
    }
  });

  test("concurrent bodies share 64 MiB, and each gets a little: the one beyond is busy, small ones are not", async () => {
    const held: ServerResponse[] = [];
    const large = createServer((_request, response) => {
      response.write(Buffer.alloc(7 * MIB));
      held.push(response);
    });
    await new Promise<void>((resolve) => large.listen(0, "127.0.0.1", resolve));
    const { port } = large.address() as AddressInfo; // listens on TCP
    const ask = () => client.request(`http://127.0.0.1:${port}/`, { signal: new AbortController().signal });
    try {
      // They never fit together: some fail, and their memory is released.
      const outcomes: unknown[] = [];
      const asked = Array.from({ length: 16 }, () =>
        ask().then(
          ({ bytes }) => bytes.length,
          (error: unknown) => {
            outcomes.push(error);
            return 0;
          },
        ),
      );
      await expect.poll(() => outcomes.length).toBeGreaterThanOrEqual(7);
      for (const outcome of outcomes) {
        expect(outcome).toMatchObject({ kind: "busy", message: expect.stringMatching(/receives too much at once$/) });
      }
      script = () => ({ bytes: Buffer.alloc(MIB / 2) });
      expect((await get("/small")).bytes).toHaveLength(MIB / 2);
      for (const response of held) response.end();
      const whole = (await Promise.all(asked)).filter((size) => size > 0);
      expect(whole.length).toBeGreaterThan(0);
      expect(new Set(whole)).toEqual(new Set([7 * MIB]));
      // None of it is retained: all memory is available again.
      script = () => ({ bytes: Buffer.alloc(60 * MIB) });
      expect((await get("/", { sizeBytesMax: 64 * MIB })).bytes).toHaveLength(60 * MIB);
    } finally {
      large.closeAllConnections();
      large.close();
    }
  });
});

test("an address in an error is cut between its parts, since half of a secret would not be recognised", async () => {
  script = () => ({ status: 500 });
  const asked = client.text(`${SITE}/songs/${"a".repeat(100)}/${SECRET.repeat(3)}`, {
    signal: new AbortController().signal,
  });
  expect((await trouble(asked)).message).toBe(`${SITE}/songs/${"a".repeat(100)}/ answered HTTP 500`);
});

describe("redirects", () => {
  test("redirects are followed, five at most", async () => {
    script = ({ path }) =>
      path === "/0" ? { text: "there" } : redirect(`/${Number(path.slice(1)) - 1}?token=${SECRET}`);
    expect(await get("/5")).toMatchObject({ text: "there", url: `${SITE}/0?token=${SECRET}` });
    const error = await trouble(get("/6"));
    expect(error).toMatchObject({ kind: "changed", message: `${SITE}/6 goes through more than 5 redirects` });
  });

  test.each([
    [10, 10],
    [1000, 10],
    [1, 1],
    [0, 0],
    [-1, 0],
    [Number.NaN, 0],
  ])("a request that allows %s redirects follows at most %s", async (redirectsMax, followed) => {
    script = ({ path }) => (path === "/0" ? { text: "there" } : redirect(`/${Number(path.slice(1)) - 1}`));
    expect(await get(`/${followed}`, { redirectsMax })).toMatchObject({ text: "there" });
    const { message } = await trouble(get(`/${followed + 1}`, { redirectsMax }));
    expect(message).toContain(`goes through more than ${followed} redirects`);
  });

  test("redirects in a circle fail", async () => {
    script = () => redirect(`/?token=${SECRET}`);
    expect(await trouble(get("/"))).toMatchObject({ kind: "changed", isTooLarge: false });
    expect(site.requests).toHaveLength(6);
  });

  test("a redirect is the answer if requested", async () => {
    script = () => redirect("/elsewhere");
    expect(await get("/", { redirect: "manual" })).toMatchObject({ status: 302, headers: { location: "/elsewhere" } });
  });

  test("a redirect to another host drops cookies, authorization and other secrets", async () => {
    script = ({ path }) => (path === "/" ? redirect("https://other.example/there") : { text: "there" });
    const secrets = { Authorization: "Bearer a", Cookie: "a=b", "X-Api-Key": "a", "x-goog-visitor": "b" };
    await get("/", { headers: secrets });
    expect(site.requests[0]?.headers).toMatchObject({ authorization: "Bearer a", cookie: "a=b", "x-api-key": "a" });
    const { headers } = site.requests[1] ?? {};
    expect(Object.keys(headers ?? {})).not.toEqual(expect.arrayContaining(["authorization"]));
    expect(headers).not.toHaveProperty("cookie");
    expect(headers).not.toHaveProperty("x-api-key");
    expect(headers).toMatchObject({ "x-goog-visitor": "b" });
  });

  test("a redirect within a host keeps them, except from https to http", async () => {
    script = ({ path, headers }) => {
      if (path === "/") return redirect("/same");
      return path === "/same" ? redirect("http://site.example/plain") : { text: headers.authorization ?? "none" };
    };
    expect((await get("/", { headers: { authorization: "Bearer a" } })).text).toBe("none");
    expect(site.requests[1]?.headers).toMatchObject({ authorization: "Bearer a" });
  });

  test("a redirect of a POST is followed with GET, unless the site demands POST again", async () => {
    script = ({ path }) => (path.startsWith("/to") ? { text: "there" } : redirect("/to", Number(path.slice(1))));
    for (const status of [301, 302, 303, 307, 308]) await get(`/${status}`, { body: { a: 1 } });
    const followed = site.requestsTo("site.example", "/to");
    expect(followed.map(({ method, body }) => `${method} ${body}`)).toEqual([
      ...["GET ", "GET ", "GET ", 'POST {"a":1}', 'POST {"a":1}'],
    ]);
    expect(followed[0]?.headers).not.toHaveProperty("content-type");
  });

  test("the body of a redirect is not waited for, and its connection is closed at the end", async () => {
    let onRedirect: (response: ServerResponse) => void = () => undefined;
    const closed = new Promise<void>((resolve) => {
      onRedirect = (response) => response.on("close", resolve);
    });
    const server = createServer((_request, response) => {
      onRedirect(response);
      response.writeHead(302, { location: `${SITE}/there` });
      // Never silent for long enough to be given up for that.
      const drip = setInterval(() => response.write("moved "), 100);
      response.on("close", () => clearInterval(drip));
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as AddressInfo; // It listens at a port.
    const answer = await client.request(`http://127.0.0.1:${port}/`, { signal: new AbortController().signal });
    expect(answer).toMatchObject({ text: "fine", url: `${SITE}/there` });
    await closed;
    server.close();
  });

  test.each(["file:///etc/passwd", "javascript:alert(1)", "https://", "data:text/plain,x"])(
    "redirects to %s are refused",
    async (location) => {
      script = () => redirect(location);
      const error = await trouble(get("/", { query: { token: SECRET } }));
      expect(error).toMatchObject({ kind: "changed", message: `${SITE}/ redirects to an invalid address` });
    },
  );
});

describe("cookies", () => {
  test("cookies are stored in the given jar, by host, also those of a redirect", async () => {
    const cookies = new CookieJar();
    script = ({ path }) => {
      if (path === "/")
        return {
          ...redirect("https://other.example/"),
          headers: { location: "/two", "set-cookie": ["a=1; Path=/", "b=2"] },
        };
      return { headers: { "set-cookie": "c=3" } };
    };
    await get("/", { cookies });
    expect(site.requests[1]?.headers.cookie).toBe("a=1; b=2");
    await get("/two", { cookies });
    expect(site.requests[2]?.headers.cookie).toBe("a=1; b=2; c=3");
    await client.request("https://other.example/two", { cookies, signal: new AbortController().signal });
    expect(site.requests[3]?.headers).not.toHaveProperty("cookie");
    await get("/two");
    expect(site.requests[4]?.headers).not.toHaveProperty("cookie");
  });
});

describe("time", () => {
  beforeEach(() => {
    script = () => "hang";
  });

  test("a request times out after 10 s, or the given time", async () => {
    for (const [timeoutMs, limitMs] of [
      [undefined, 10_000],
      [50, 50],
    ] as const) {
      const asked = trouble(get("/a", { timeoutMs, query: { token: SECRET } }));
      await arrived(site.requests.length + 1);
      clock.advance(limitMs);
      const message = `${SITE}/a cannot be reached: no whole answer within ${limitMs} ms`;
      expect(await asked).toMatchObject({ kind: "unreachable", message });
    }
  });

  test("a request's timeout includes all redirects", async () => {
    script = ({ path }) => (path === "/" ? redirect("/hang") : "hang");
    const asked = trouble(get("/"));
    await arrived(2);
    clock.advance(10_000);
    expect(await asked).toMatchObject({ kind: "unreachable" });
  });

  test("an aborted request rejects with the reason of its signal", async () => {
    const abort = new AbortController();
    const asked = get("/", { signal: abort.signal });
    await arrived();
    const reason = new Error("gone");
    abort.abort(reason);
    await expect(asked).rejects.toBe(reason);
    expect(clock.pendingCount).toBe(0);
    await expect(get("/", { signal: abort.signal })).rejects.toBe(reason);
  });

  test("at most 32 requests run at once, 24 of one account, and further ones wait for a permit", async () => {
    let open = (): void => undefined;
    const opened = new Promise<void>((resolve) => (open = resolve));
    script = async () => {
      await opened;
      return { text: "fine" };
    };
    const ask = (account: string) => runWork(workOf(account), async () => get(`/${account}`));
    const areThere = arrived(32);
    const asked = ["greedy", "honest"].flatMap((account) => Array.from({ length: 40 }, () => ask(account)));
    await areThere;
    expect(site.requests.filter(({ path }) => path === "/greedy")).toHaveLength(24);
    // Another client's request runs in the meantime.
    script = () => ({ text: "other" });
    await createClient().request(`${SITE}/other`, { signal: new AbortController().signal });
    expect(site.requests).toHaveLength(33);
    open();
    expect(await Promise.all(asked)).toHaveLength(80);
    expect(site.requests).toHaveLength(81);
  });

  test("a request times out while waiting for a permit, too, and can be aborted then", async () => {
    const isThere = arrived(24);
    const running = Array.from({ length: 24 }, () => trouble(get("/", { timeoutMs: 60_000 })));
    await isThere;
    const late = trouble(get("/late"));
    const abort = new AbortController();
    const gone = get("/gone", { signal: abort.signal });
    abort.abort(new Error("gone"));
    await expect(gone).rejects.toThrow("gone");
    await settle();
    clock.advance(10_000);
    expect(await late).toMatchObject({ kind: "busy" });
    expect(site.requests).toHaveLength(24);
    clock.advance(50_000);
    await Promise.all(running);
    expect(clock.pendingCount).toBe(0);
  });
});

describe("private addresses", () => {
  const isPrivate: ResolveHost = (_host, _options, callback) => callback(null, [{ address: "10.1.2.3", family: 4 }]);

  test.each([
    ["by their number", "http://10.1.2.3/"],
    ["in an unusual notation", "http://0x7f.2/"],
    ["by a name", "http://inside.example/"],
  ])("a private address %s is refused", async (_how, url) => {
    client = createClient({ resolve: isPrivate });
    const asked = client.request(`${url}?token=${SECRET}`, { signal: new AbortController().signal });
    const error = await trouble(asked);
    expect(error.kind).toBe("unreachable");
    expect(error.message).toContain("not a public address");
    expect(error.cause).toMatchObject({ code: "address-refused" });
  });

  test("a redirect to a private address is refused", async () => {
    script = () => redirect("http://10.1.2.3/latest/meta-data");
    const error = await trouble(get("/"));
    expect(error).toMatchObject({ kind: "unreachable" });
    expect(error.message).toContain("not a public address");
  });
});

test("the error of a cut connection contains the host, and no query", async () => {
  script = () => "cut";
  const error = await trouble(get("/a/b", { query: { token: SECRET } }));
  expect(error.kind).toBe("unreachable");
  expect(error.message).toMatch(/^https:\/\/site\.example\/a\/b cannot be reached: /);
});
