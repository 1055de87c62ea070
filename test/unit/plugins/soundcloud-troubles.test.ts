import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { SOUNDCLOUD_CLIENT_ID } from "../../../lab/sites/soundcloud.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { troubleWith } from "../../support/plugin-bench.ts";
import { SOUNDCLOUD_API as API, SOUNDCLOUD_PAGE as PAGE, SoundCloudStage } from "../../support/soundcloud-stage.ts";

const NEW_ID = "Z9y8X7w6V5u4T3s2Z9y8X7w6V5u4T3s2";
const OPERATORS_ID = "0p3rat0rs0p3rat0rs0p3rat0rs0p3ra";
const SONG = `${PAGE}/song`;

let stage: SoundCloudStage;

beforeEach(async () => {
  stage = await SoundCloudStage.start();
});

afterEach(() => stage.close());

/** How often the home page was read. */
function pagesRead(): number {
  return stage.site.server.requestsTo("soundcloud.com", "/").length;
}

function idsUsed(): (string | null)[] {
  return stage.site.server.requestsTo(API).map(({ query }) => query.get("client_id"));
}

describe("the client id", () => {
  test("is read from the scripts once, the last one first, for many who want it at the same time", async () => {
    const bench = await stage.bench();
    await Promise.all(
      ["scsearch:song 1", "scsearch:song 2", SONG].map((identifier) => bench.load("soundcloud", identifier)),
    );
    expect(pagesRead()).toBe(1);
    expect(stage.site.server.requestsTo("a-v2.sndcdn.com").map(({ path }) => path)).toEqual(["/assets/9-9a0c9f.js"]);
    expect(new Set(idsUsed())).toEqual(new Set([SOUNDCLOUD_CLIENT_ID]));
  });

  test("is taken from the page itself where it stands there", async () => {
    const data = `[{"hydratable":"apiClient","data":{"id":"${SOUNDCLOUD_CLIENT_ID}","isExpiring":false}}]`;
    const text = `<html><script>window.__sc_hydration = ${data};</script></html>`;
    stage.site.server.fail({ at: /^soundcloud\.com\/$/, outcome: { text } });
    expect(await stage.titles(await stage.bench(), SONG)).toEqual(["Song 11"]);
    expect(stage.site.server.requestsTo("a-v2.sndcdn.com")).toEqual([]);
  });

  test("is found although the last script is broken", async () => {
    stage.site.server.fail({ at: /assets\/9/, outcome: "cut" });
    const text = `var a="b",client_id:"${SOUNDCLOUD_CLIENT_ID}"`;
    stage.site.server.fail({ at: /assets\/7/, outcome: { text } });
    expect(await stage.titles(await stage.bench(), SONG)).toEqual(["Song 11"]);
  });

  test("is the operator's where there is one; the site's page is left alone", async () => {
    stage.site.clientId = OPERATORS_ID;
    expect(await stage.titles(await stage.bench({ clientId: OPERATORS_ID }), SONG)).toEqual(["Song 11"]);
    expect(pagesRead()).toBe(0);
  });

  test("of the operator, once refused, gives way to the site's, and a line of the log says so", async () => {
    const bench = await stage.bench({ clientId: OPERATORS_ID });
    expect(await stage.titles(bench, SONG)).toEqual(["Song 11"]);
    await bench.load("soundcloud", "scsearch:song");
    expect(idsUsed()).toEqual([OPERATORS_ID, SOUNDCLOUD_CLIENT_ID, SOUNDCLOUD_CLIENT_ID]);
    expect(bench.lines.map(({ message }) => message)).toEqual([expect.stringContaining("refuses the clientId")]);
    expect(JSON.stringify(bench.lines)).not.toContain(OPERATORS_ID);
  });

  test.each([401, 403])("that is refused with %i is read anew, and all is well", async (status) => {
    const bench = await stage.bench();
    await bench.load("soundcloud", "scsearch:song");
    stage.site.clientId = NEW_ID;
    const isOld = (id: string | null) => id === SOUNDCLOUD_CLIENT_ID;
    stage.site.server.fail({
      at: /resolve/,
      outcome: ({ query }) => (isOld(query.get("client_id")) ? { status } : { json: stage.site.tracks.get(11) }),
    });
    expect(await stage.titles(bench, SONG)).toEqual(["Song 11"]);
    expect(pagesRead()).toBe(2);
  });

  test("that stays refused is not read over and over", async () => {
    const clock = new FakeClock();
    const bench = await stage.bench({}, clock);
    stage.site.server.fail({ at: /^api-v2/, outcome: { status: 401 } });
    for (const page of ["a", "b", "c"]) {
      const trouble = await troubleWith(bench.load("soundcloud", `${PAGE}/${page}`));
      expect(trouble).toMatchObject({ code: "site-changed", message: expect.stringContaining("client id") });
    }
    expect(pagesRead()).toBe(2);
    clock.advance(10 * 60_000);
    await troubleWith(bench.load("soundcloud", `${PAGE}/d`));
    expect(pagesRead()).toBe(3);
  });

  test("is read again after a day", async () => {
    const clock = new FakeClock();
    const bench = await stage.bench({}, clock);
    await bench.load("soundcloud", "scsearch:song");
    clock.advance(24 * 60 * 60_000);
    await bench.load("soundcloud", "scsearch:song");
    expect(pagesRead()).toBe(2);
  });

  test.each([
    ["the page lacks the scripts", { text: "<html>We are updating</html>" }],
    ["the page is refused", { status: 403, text: "captcha" }],
    ["the page is larger than any", { bytes: Buffer.alloc(50 * 1024 * 1024, "<script ") }],
    ["the page leads in circles", { status: 302, headers: { location: "https://soundcloud.com/" } }],
    ["the page names scripts of others", { text: '<script src="https://example.org/assets/1-a.js"></script>' }],
  ])("cannot be had where %s, and that is told with what to do", async (_, outcome) => {
    Object.assign(stage.site.hosts, stage.site.server.hosts("example.org"));
    stage.site.server.fail({ at: /^soundcloud\.com\/$/, outcome });
    const trouble = await troubleWith((await stage.bench()).load("soundcloud", SONG));
    expect(trouble.code).toBe("site-changed");
    expect(stage.site.server.requestsTo(API)).toEqual([]);
    expect(stage.site.server.requestsTo("example.org")).toEqual([]);
  });

  test("that cannot be read anew does not hide that a single track is forbidden", async () => {
    const bench = await stage.bench();
    await bench.load("soundcloud", "scsearch:song");
    stage.site.server.fail({ at: /^soundcloud\.com\/$/, outcome: { status: 403 } });
    stage.site.server.fail({ at: /resolve/, outcome: { status: 403 }, times: 1 });
    expect(await troubleWith(bench.load("soundcloud", SONG))).toMatchObject({ code: "site-unavailable" });
    expect(await stage.titles(bench, `${PAGE}/only-mp3`)).toEqual(["Song 12"]);
  });
});

describe("an API that", () => {
  test("has had enough is not asked for as long as it says", async () => {
    const clock = new FakeClock();
    const bench = await stage.bench({}, clock);
    stage.site.server.fail({ at: /resolve/, outcome: { status: 429, headers: { "retry-after": "60" } }, times: 1 });
    expect((await troubleWith(bench.load("soundcloud", SONG))).code).toBe("site-busy");
    const askedCount = stage.asked("/");
    expect((await troubleWith(bench.load("soundcloud", "scsearch:song"))).code).toBe("site-busy");
    expect(stage.asked("/")).toBe(askedCount);
    clock.advance(60_000);
    expect(await stage.titles(bench, SONG)).toEqual(["Song 11"]);
  });

  test.each([{ status: 502 }, "cut"] as const)("has a hiccup (%j) is asked once more", async (outcome) => {
    stage.site.server.fail({ at: /resolve/, outcome, times: 1 });
    expect(await stage.titles(await stage.bench(), SONG)).toEqual(["Song 11"]);
  });

  test("is down is told so after the second time", async () => {
    stage.site.server.fail({ at: /resolve/, outcome: { status: 503 } });
    expect((await troubleWith((await stage.bench()).load("soundcloud", SONG))).code).toBe("site-busy");
    expect(stage.asked("/resolve")).toBe(2);
  });

  test("cuts the connection is told as out of reach", async () => {
    stage.site.server.fail({ at: /resolve/, outcome: "cut" });
    expect((await troubleWith((await stage.bench()).load("soundcloud", SONG))).code).toBe("site-unreachable");
  });

  test.each([
    ["a page", { text: "<!DOCTYPE html><html>" }],
    ["no JSON", { text: "oops" }],
    ["a list", { json: [] }],
    ["nothing known", { json: { kind: "podcast" } }],
    ["a track without a title", { json: { kind: "track", id: 1 } }],
    ["50 MB", { bytes: Buffer.alloc(50 * 1024 * 1024, "[") }],
    ["a redirect to itself", { status: 302, headers: { location: "https://api-v2.soundcloud.com/resolve" } }],
  ])("answers %s is told as changed", async (_, outcome) => {
    stage.site.server.fail({ at: /resolve/, outcome });
    expect((await troubleWith((await stage.bench()).load("soundcloud", SONG))).code).toBe("site-changed");
  });

  test("answers lists without their members is told as changed", async () => {
    const bench = await stage.bench();
    stage.site.server.fail({ at: /search|likes|\/tracks/, outcome: { json: {} } });
    for (const identifier of ["scsearch:x", `${PAGE}/likes`, "soundcloud:tracks:11"]) {
      expect((await troubleWith(bench.load("soundcloud", identifier))).code).toBe("site-changed");
    }
  });
});

test("no error holds the client id or the operator's token", async () => {
  const bench = await stage.bench({ oauthToken: "2-290-secret-token" });
  for (const outcome of [{ status: 401 }, { status: 403 }, { status: 429 }, { text: "<p>" }, "cut"] as const) {
    const takeBack = stage.site.server.fail({ at: /resolve|search/, outcome });
    const trouble = JSON.stringify(await troubleWith(bench.load("soundcloud", SONG)));
    expect(trouble).not.toContain(SOUNDCLOUD_CLIENT_ID);
    expect(trouble).not.toContain("2-290-secret-token");
    takeBack();
  }
});
