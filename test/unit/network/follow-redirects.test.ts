// The rules of docs/reference/outbound-guard.md#redirects, the same for inputs and plugins.

import { errors } from "undici";
import { describe, expect, test } from "vitest";
import { followRedirects, type Hop, headersFor, isSameSite } from "../../../src/network/follow-redirects.ts";
import { resendStale } from "../../../src/network/resend-stale.ts";

interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | readonly string[]>>;
  readonly body: { cancel(): void };
}

/** Answers with these statuses and locations in turn, then with 200; `sent` has what was sent, `cancelled` how often. */
function start(...redirects: readonly (readonly [status: number, location: string | readonly string[]])[]) {
  const sent: Hop[] = [];
  let cancelled = 0;
  const follow = (first: Partial<Hop>) =>
    followRedirects<Answer>(
      { url: new URL("https://site.example/"), method: "GET", headers: {}, ...first },
      {
        send: (hop) => {
          const [status, location] = redirects[sent.push(hop) - 1] ?? [200, []];
          return Promise.resolve({ status, headers: { location }, body: { cancel: () => cancelled++ } });
        },
        parseTarget: (location, from) => new URL(location, from),
        tooMany: (count) => new Error(`more than ${count}`),
      },
    );
  return { sent, follow, cancelledCount: () => cancelled };
}

test.each([
  ["https://a.example/x", "https://a.example/y?z", true],
  ["http://a.example/", "http://a.example/", true],
  ["http://a.example/", "https://a.example/", true],
  ["http://a.example:8080/", "https://a.example:8080/", true],
  ["https://a.example/", "https://A.example:443/", true],
  ["https://a.example/", "http://a.example/", false],
  ["https://a.example/", "https://a.example:8443/", false],
  ["http://a.example/", "https://a.example:8443/", false],
  ["https://a.example/", "https://b.example/", false],
  ["https://a.example/", "https://www.a.example/", false],
  ["https://www.a.example/", "https://a.example/", false],
  ["https://a.example/", "https://a.example.b.example/", false],
  ["https://a.example/", "https://a.example./", false],
  ["http://127.0.0.1/", "http://localhost/", false],
])("a redirect from %s to %s stays at the site: %s", (from, to, expected) => {
  expect(isSameSite(new URL(from), new URL(to))).toBe(expected);
});

test.each([
  ["cookie", false],
  ["authorization", false],
  ["proxy-authorization", false],
  ["x-api-key", false],
  ["api-key", false],
  ["x-auth-token", false],
  ["x-emby-authorization", false],
  ["x-csrf-token", false],
  ["x-amz-signature", false],
  ["session-id", false],
  ["user-agent", true],
  ["accept", true],
  ["accept-encoding", true],
  ["accept-language", true],
  ["content-type", true],
  ["origin", true],
  ["referer", true],
  ["range", true],
  ["if-range", true],
  ["if-none-match", true],
  ["icy-metadata", true],
  ["x-requested-with", true],
])("the header %s goes to another site: %s", (name, expected) => {
  const [from, to] = [new URL("https://a.example/"), new URL("https://b.example/")];
  expect(Object.hasOwn(headersFor({ [name]: "x" }, { from, to }), name)).toBe(expected);
  expect(headersFor({ [name]: "x" }, { from, to: from })).toEqual({ [name]: "x" });
});

test("secrets that were removed once are not sent again, also not to the site that they belong to", async () => {
  const { sent, follow } = start([302, "/same"], [302, "https://b.example/"], [302, "https://site.example/back"]);
  await follow({ headers: { authorization: "Bearer a", accept: "*/*" } });
  expect(sent.map(({ url, headers }) => [url.href, headers])).toEqual([
    ["https://site.example/", { authorization: "Bearer a", accept: "*/*" }],
    ["https://site.example/same", { authorization: "Bearer a", accept: "*/*" }],
    ["https://b.example/", { accept: "*/*" }],
    ["https://site.example/back", { accept: "*/*" }],
  ]);
});

test.each([
  ["/same", "https://user:word@site.example/same"],
  ["https://other:secret@site.example/same", "https://user:word@site.example/same"],
  ["http://site.example/", "http://site.example/"],
  ["https://b.example/", "https://b.example/"],
  ["https://other:secret@b.example/", "https://b.example/"],
])(
  "user and password of an address are those of the first request, and stay with its site: %s",
  async (location, url) => {
    const { sent, follow } = start([302, location]);
    await follow({ url: new URL("https://user:word@site.example/") });
    expect(sent[1]?.url.href).toBe(url);
  },
);

test.each([
  ["GET", 301, "GET"],
  ["GET", 307, "GET"],
  ["HEAD", 303, "HEAD"],
  ["HEAD", 308, "HEAD"],
  ["POST", 301, "GET"],
  ["POST", 302, "GET"],
  ["POST", 303, "GET"],
  ["POST", 307, "POST"],
  ["POST", 308, "POST"],
] as const)("a %s that is answered with %i is followed with %s", async (method, status, expected) => {
  const { sent, follow } = start([status, "/next"]);
  const isPost = method === "POST";
  await follow({ method, headers: { "content-type": "text/plain" }, ...(isPost && { body: "text" }) });
  expect(sent[1]?.method).toBe(expected);
  expect(sent[1]?.body).toBe(expected === "POST" ? "text" : undefined);
  expect(Object.hasOwn(sent[1]?.headers ?? {}, "content-type")).toBe(expected !== "GET" || status === 307);
});

describe("an answer", () => {
  test.each([
    [200, "/next"],
    [201, "/next"],
    [300, "/next"],
    [304, "/next"],
    [302, ""],
    [302, []],
  ])("with status %i and location %j is not followed", async (status, location) => {
    const { sent, follow, cancelledCount } = start([status, location]);
    expect((await follow({})).answer.status).toBe(status);
    expect([sent.length, cancelledCount()]).toEqual([1, 0]);
  });

  test.each([
    // As HTTP parsers return UTF-8, Latin-1, and what is encoded already.
    [
      Buffer.from("/Grüße/Песня.mp3?q=ü", "utf8").toString("latin1"),
      "/Gr%C3%BC%C3%9Fe/%D0%9F%D0%B5%D1%81%D0%BD%D1%8F.mp3?q=%C3%BC",
    ],
    ["/\u00e9t\u00e9", "/%E9t%E9"],
    ["/Gr%C3%BC%c3%9fe", "/Gr%C3%BC%c3%9fe"],
    [Buffer.from("https://münchen.example/x", "utf8").toString("latin1"), "https://xn--mnchen-3ya.example/x"],
  ])("a location with the bytes %j is followed to %s", async (location, target) => {
    const { follow } = start([302, location]);
    expect((await follow({})).hop.url.href).toBe(new URL(target, "https://site.example").href);
  });

  test("an answer with several locations is followed to the first", async () => {
    const { follow } = start([302, ["/first", "/second"]]);
    expect((await follow({})).hop.url.href).toBe("https://site.example/first");
  });

  test.each([5, 6])("%i redirects in a row are followed up to the fifth, and their bodies cancelled", async (count) => {
    const { sent, follow, cancelledCount } = start(...Array.from({ length: count }, () => [302, "/next"] as const));
    const followed = follow({});
    if (count > 5) await expect(followed).rejects.toThrow("more than 5");
    else expect((await followed).answer.status).toBe(200);
    expect([sent.length, cancelledCount()]).toEqual([6, count]);
  });
});

test.each([
  ["GET", new errors.SocketError("other side closed"), 2],
  ["HEAD", new errors.SocketError("other side closed"), 2],
  ["POST", new errors.SocketError("other side closed"), 1],
  ["GET", new errors.ConnectTimeoutError("too slow"), 1],
  ["GET", new Error("refused"), 1],
] as const)("a %s that fails with %s is sent %i times", async (method, error, count) => {
  let sentCount = 0;
  const sending = resendStale(method, () => {
    sentCount++;
    return Promise.reject(error);
  });
  await expect(sending).rejects.toBe(error);
  expect(sentCount).toBe(count);
});

test("a request that a stale connection has lost is answered over a fresh one", async () => {
  const outcomes = [() => Promise.reject(new errors.SocketError("other side closed")), () => Promise.resolve("fine")];
  await expect(resendStale("GET", () => (outcomes.shift() ?? expect.fail)())).resolves.toBe("fine");
});
