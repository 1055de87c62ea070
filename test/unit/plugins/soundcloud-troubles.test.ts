import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { SOUNDCLOUD_CLIENT_ID } from "../../../lab/sites/soundcloud.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { troubleWith } from "../../support/plugin-bench.ts";
import {
  SOUNDCLOUD_API as API,
  SOUNDCLOUD_PAGE as PAGE,
  SoundCloudTestEnvironment,
} from "../../support/soundcloud-test-environment.ts";

const NEW_ID = "Z9y8X7w6V5u4T3s2Z9y8X7w6V5u4T3s2";
const OPERATORS_ID = "0p3rat0rs0p3rat0rs0p3rat0rs0p3ra";
const SONG = `${PAGE}/song`;

let env: SoundCloudTestEnvironment;

beforeEach(async () => {
  env = await SoundCloudTestEnvironment.start();
});

afterEach(() => env.close());

/** How often the home page was read. */
function pagesRead(): number {
  return env.site.server.requestsTo("soundcloud.com", "/").length;
}

function idsUsed(): (string | null)[] {
  return env.site.server.requestsTo(API).map(({ query }) => query.get("client_id"));
}

describe("the client id", () => {
  test("the client id is read from the scripts once, the last one first, for concurrent requests", async () => {
    const bench = await env.bench();
    await Promise.all(
      ["scsearch:song 1", "scsearch:song 2", SONG].map((identifier) => bench.load("soundcloud", identifier)),
    );
    expect(pagesRead()).toBe(1);
    expect(env.site.server.requestsTo("a-v2.sndcdn.com").map(({ path }) => path)).toEqual(["/assets/9-9a0c9f.js"]);
    expect(new Set(idsUsed())).toEqual(new Set([SOUNDCLOUD_CLIENT_ID]));
  });

  test("the client id is read from the page itself if it is there", async () => {
    const data = `[{"hydratable":"apiClient","data":{"id":"${SOUNDCLOUD_CLIENT_ID}","isExpiring":false}}]`;
    const text = `<html><script>window.__sc_hydration = ${data};</script></html>`;
    env.site.server.fail({ at: /^soundcloud\.com\/$/, outcome: { text } });
    expect(await env.titles(await env.bench(), SONG)).toEqual(["Song 11"]);
    expect(env.site.server.requestsTo("a-v2.sndcdn.com")).toEqual([]);
  });

  test("the client id is found although the last script is broken", async () => {
    env.site.server.fail({ at: /assets\/9/, outcome: "cut" });
    const text = `var a="b",client_id:"${SOUNDCLOUD_CLIENT_ID}"`;
    env.site.server.fail({ at: /assets\/7/, outcome: { text } });
    expect(await env.titles(await env.bench(), SONG)).toEqual(["Song 11"]);
  });

  test("the operator's client id is used without requesting the site's page", async () => {
    env.site.clientId = OPERATORS_ID;
    expect(await env.titles(await env.bench({ clientId: OPERATORS_ID }), SONG)).toEqual(["Song 11"]);
    expect(pagesRead()).toBe(0);
  });

  test("a refused client id of the operator is replaced by the site's, with a log line", async () => {
    const bench = await env.bench({ clientId: OPERATORS_ID });
    expect(await env.titles(bench, SONG)).toEqual(["Song 11"]);
    await bench.load("soundcloud", "scsearch:song");
    expect(idsUsed()).toEqual([OPERATORS_ID, SOUNDCLOUD_CLIENT_ID, SOUNDCLOUD_CLIENT_ID]);
    expect(bench.lines.map(({ message }) => message)).toEqual([expect.stringContaining("refuses the clientId")]);
    expect(JSON.stringify(bench.lines)).not.toContain(OPERATORS_ID);
  });

  test.each([401, 403])(
    "a client id that is refused with %i is read again, and the request succeeds",
    async (status) => {
      const bench = await env.bench();
      await bench.load("soundcloud", "scsearch:song");
      env.site.clientId = NEW_ID;
      const isOld = (id: string | null) => id === SOUNDCLOUD_CLIENT_ID;
      env.site.server.fail({
        at: /resolve/,
        outcome: ({ query }) => (isOld(query.get("client_id")) ? { status } : { json: env.site.tracks.get(11) }),
      });
      expect(await env.titles(bench, SONG)).toEqual(["Song 11"]);
      expect(pagesRead()).toBe(2);
    },
  );

  test("a client id that stays refused is not read over and over", async () => {
    const clock = new FakeClock();
    const bench = await env.bench({}, clock);
    env.site.server.fail({ at: /^api-v2/, outcome: { status: 401 } });
    for (const page of ["a", "b", "c"]) {
      const trouble = await troubleWith(bench.load("soundcloud", `${PAGE}/${page}`));
      expect(trouble).toMatchObject({ code: "site-changed", message: expect.stringContaining("client id") });
    }
    expect(pagesRead()).toBe(2);
    clock.advance(10 * 60_000);
    await troubleWith(bench.load("soundcloud", `${PAGE}/d`));
    expect(pagesRead()).toBe(3);
  });

  test("the client id is read again after a day", async () => {
    const clock = new FakeClock();
    const bench = await env.bench({}, clock);
    await bench.load("soundcloud", "scsearch:song");
    clock.advance(24 * 60 * 60_000);
    await bench.load("soundcloud", "scsearch:song");
    expect(pagesRead()).toBe(2);
  });

  test.each([
    ["the page lacks the scripts", { text: "<html>We are updating</html>" }],
    ["the page is refused", { status: 403, text: "captcha" }],
    ["the page is larger than any", { bytes: Buffer.alloc(50 * 1024 * 1024, "<script ") }],
    ["the page redirects in circles", { status: 302, headers: { location: "https://soundcloud.com/" } }],
    ["the page names scripts of others", { text: '<script src="https://example.org/assets/1-a.js"></script>' }],
  ])("a client id that is unavailable because %s is reported with advice", async (_, outcome) => {
    Object.assign(env.site.hosts, env.site.server.hosts("example.org"));
    env.site.server.fail({ at: /^soundcloud\.com\/$/, outcome });
    const trouble = await troubleWith((await env.bench()).load("soundcloud", SONG));
    expect(trouble.code).toBe("site-changed");
    expect(env.site.server.requestsTo(API)).toEqual([]);
    expect(env.site.server.requestsTo("example.org")).toEqual([]);
  });

  test("a client id that cannot be read again does not hide that a single track is forbidden", async () => {
    const bench = await env.bench();
    await bench.load("soundcloud", "scsearch:song");
    env.site.server.fail({ at: /^soundcloud\.com\/$/, outcome: { status: 403 } });
    env.site.server.fail({ at: /resolve/, outcome: { status: 403 }, times: 1 });
    expect(await troubleWith(bench.load("soundcloud", SONG))).toMatchObject({ code: "site-unavailable" });
    expect(await env.titles(bench, `${PAGE}/only-mp3`)).toEqual(["Song 12"]);
  });
});

describe("API failures", () => {
  test("an API that answers 429 is not requested for the requested time", async () => {
    const clock = new FakeClock();
    const bench = await env.bench({}, clock);
    env.site.server.fail({ at: /resolve/, outcome: { status: 429, headers: { "retry-after": "60" } }, times: 1 });
    expect((await troubleWith(bench.load("soundcloud", SONG))).code).toBe("site-busy");
    const askedCount = env.asked("/");
    expect((await troubleWith(bench.load("soundcloud", "scsearch:song"))).code).toBe("site-busy");
    expect(env.asked("/")).toBe(askedCount);
    clock.advance(60_000);
    expect(await env.titles(bench, SONG)).toEqual(["Song 11"]);
  });

  test.each([{ status: 502 }, "cut"] as const)(
    "an API with a temporary failure (%j) is asked once more",
    async (outcome) => {
      env.site.server.fail({ at: /resolve/, outcome, times: 1 });
      expect(await env.titles(await env.bench(), SONG)).toEqual(["Song 11"]);
    },
  );

  test("an API that is down is reported after the second failure", async () => {
    env.site.server.fail({ at: /resolve/, outcome: { status: 503 } });
    expect((await troubleWith((await env.bench()).load("soundcloud", SONG))).code).toBe("site-busy");
    expect(env.asked("/resolve")).toBe(2);
  });

  test("an API that cuts the connection is reported as unreachable", async () => {
    env.site.server.fail({ at: /resolve/, outcome: "cut" });
    expect((await troubleWith((await env.bench()).load("soundcloud", SONG))).code).toBe("site-unreachable");
  });

  test.each([
    ["a page", { text: "<!DOCTYPE html><html>" }],
    ["no JSON", { text: "oops" }],
    ["a list", { json: [] }],
    ["nothing known", { json: { kind: "podcast" } }],
    ["a track without a title", { json: { kind: "track", id: 1 } }],
    ["50 MB", { bytes: Buffer.alloc(50 * 1024 * 1024, "[") }],
    ["a redirect to itself", { status: 302, headers: { location: "https://api-v2.soundcloud.com/resolve" } }],
  ])("an API that answers %s is reported as changed", async (_, outcome) => {
    env.site.server.fail({ at: /resolve/, outcome });
    expect((await troubleWith((await env.bench()).load("soundcloud", SONG))).code).toBe("site-changed");
  });

  test("an API that answers lists without their members is reported as changed", async () => {
    const bench = await env.bench();
    env.site.server.fail({ at: /search|likes|\/tracks/, outcome: { json: {} } });
    for (const identifier of ["scsearch:x", `${PAGE}/likes`, "soundcloud:tracks:11"]) {
      expect((await troubleWith(bench.load("soundcloud", identifier))).code).toBe("site-changed");
    }
  });
});

test("no error contains the client id or the operator's token", async () => {
  const bench = await env.bench({ oauthToken: "2-290-secret-token" });
  for (const outcome of [{ status: 401 }, { status: 403 }, { status: 429 }, { text: "<p>" }, "cut"] as const) {
    const restore = env.site.server.fail({ at: /resolve|search/, outcome });
    const trouble = JSON.stringify(await troubleWith(bench.load("soundcloud", SONG)));
    expect(trouble).not.toContain(SOUNDCLOUD_CLIENT_ID);
    expect(trouble).not.toContain("2-290-secret-token");
    restore();
  }
});
