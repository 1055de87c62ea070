import { createCipheriv } from "node:crypto";
import { describe, expect, it } from "vitest";
import { type Answer, plainPlan, statusPlan } from "../../../../../lab/media-server/answer-plan.ts";
import type { LoggedRequest } from "../../../../../lab/media-server/media-server.ts";
import type { Demuxer } from "../../../../../src/media/demux/demuxer.ts";
import type { FakeClock } from "../../../../support/fake-clock.ts";
import { fakeSegment } from "../../../../support/fake-segments.ts";
import { startHls } from "../../../../support/hls-bench.ts";
import { hurry } from "../../../../support/input-builders.ts";

/** The first letters of the packets, `count` at most. */
async function readAll(clock: FakeClock, demuxer: Demuxer, count = Number.POSITIVE_INFINITY): Promise<string> {
  let texts = "";
  while (texts.length < count) {
    const packet = await hurry(clock, demuxer.next());
    if (packet === undefined) break;
    texts += Buffer.from(packet.data).toString()[0];
  }
  return texts;
}

const NAMES = [..."abcdef"];
const SEGMENTS = new Map(NAMES.map((name) => [name, fakeSegment(name).bytes]));
const WHOLE = NAMES.map((name) => name.repeat(10)).join("");
const MASTER = "#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1\n/media.m3u8\n";

function playlist(addressOf: (name: string) => string, names = NAMES): string {
  const segments = names.map((name) => `#EXTINF:1,\n${addressOf(name)}\n`).join("");
  return `#EXTM3U\n#EXT-X-TARGETDURATION:1\n${segments}#EXT-X-ENDLIST\n`;
}

function textPlan(text: string): Answer {
  return plainPlan(Buffer.from(text), undefined);
}

function textOf(answer: Answer): string {
  return String((answer as { readonly body: unknown }).body);
}

/** Segments, or the key, that are good for `usesMax` requests after their playlist was loaded. */
function expiring({ status = 403, usesMax = 2, names = NAMES } = {}) {
  let token = 0;
  let uses = 0;
  return ({ path }: LoggedRequest): Answer => {
    if (path === "/master.m3u8") return textPlan(MASTER);
    if (path === "/media.m3u8") {
      token++;
      uses = 0;
      return textPlan(playlist((name) => `/${token}/${name}`, token === 1 ? NAMES : names));
    }
    const [, used, name = ""] = path.split("/");
    if (Number(used) !== token || ++uses > usesMax) return statusPlan(status);
    return plainPlan(SEGMENTS.get(name) ?? Buffer.alloc(0), undefined);
  };
}

describe("a finished playlist whose segments expire in the middle", () => {
  it.each([401, 403, 404, 410])(
    "the playlist is asked again after HTTP %i, and the segment is found in it",
    async (status) => {
      const { open, clock, countOf } = await startHls(expiring({ status }));
      expect(await readAll(clock, await open("/media.m3u8"))).toBe(WHOLE);
      expect(countOf("/media.m3u8")).toBe(3);
    },
  );

  it("the master playlist is asked, as it may lead to another address", async () => {
    const { open, clock, countOf } = await startHls(expiring({ usesMax: 4 }));
    expect(await readAll(clock, await open("/master.m3u8"))).toBe(WHOLE);
    expect([countOf("/master.m3u8"), countOf("/media.m3u8")]).toEqual([2, 2]);
  });

  it("a seek after the addresses have expired finds its segment", async () => {
    const { open, clock } = await startHls(expiring({ usesMax: 2 }));
    const demuxer = await open("/media.m3u8");
    await demuxer.seek(4_000);
    expect(await readAll(clock, demuxer)).toBe(`d${"e".repeat(10)}${"f".repeat(10)}`);
  });

  it("a key that expires is found by the playlist as well", async () => {
    const [key, iv] = [Buffer.alloc(16, 1), Buffer.alloc(16, 2)];
    const keyed = (bytes: Uint8Array): Buffer => {
      const cipher = createCipheriv("aes-128-cbc", key, iv);
      return Buffer.concat([cipher.update(bytes), cipher.final()]);
    };
    const { open, clock } = await startHls(({ path, earlierRequests }) => {
      const text = playlist((name) => `/${name}`);
      const tag = `#EXT-X-KEY:METHOD=AES-128,URI="/key${earlierRequests}",IV=0x${iv.toString("hex")}\n`;
      if (path === "/media.m3u8") return textPlan(text.replace("#EXTINF:1,\n/d", `${tag}#EXTINF:1,\n/d`));
      if (path === "/key0") return statusPlan(403);
      if (path === "/key1") return plainPlan(key, undefined);
      const bytes = SEGMENTS.get(path.slice(1)) ?? Buffer.alloc(0);
      return plainPlan(path >= "/d" ? keyed(bytes) : bytes, undefined);
    });
    expect(await readAll(clock, await open("/media.m3u8"))).toBe(WHOLE);
  });

  it("a playlist that numbers its segments differently now is followed by time", async () => {
    const { open, clock } = await startHls(expiring({ usesMax: 3, names: [..."abcdef"].reverse() }));
    expect(await readAll(clock, await open("/media.m3u8"))).toHaveLength(60);
  });

  it("a playlist that is shorter now does not end the track as if it were over", async () => {
    const { open, clock } = await startHls(expiring({ usesMax: 2, names: ["a"] }));
    const demuxer = await open("/media.m3u8");
    await expect(readAll(clock, demuxer)).rejects.toMatchObject({ code: "input-http-status" });
  });

  it("a playlist whose segments stay refused is asked again once, and the reason is reported", async () => {
    const { open, clock, countOf } = await startHls(({ path }) => {
      if (path === "/media.m3u8") return textPlan(playlist((name) => `/${name}`));
      return path > "/b" ? statusPlan(403) : plainPlan(SEGMENTS.get(path.slice(1)) ?? Buffer.alloc(0), undefined);
    });
    const demuxer = await open("/media.m3u8");
    await expect(readAll(clock, demuxer)).rejects.toThrow(/HTTP 403/);
    expect(countOf("/media.m3u8")).toBe(2);
  });

  it("a single segment that stays missing is skipped", async () => {
    const { open, clock, countOf } = await startHls(({ path }) => {
      if (path === "/media.m3u8") return textPlan(playlist((name) => `/${name}`));
      return path === "/c" ? statusPlan(404) : plainPlan(SEGMENTS.get(path.slice(1)) ?? Buffer.alloc(0), undefined);
    });
    expect(await readAll(clock, await open("/media.m3u8"))).toBe(WHOLE.replaceAll("c", ""));
    expect(countOf("/media.m3u8")).toBe(2);
  });

  it("a playlist that is refused itself costs the track no more than its expired segments", async () => {
    const { open, clock, countOf } = await startHls(({ path, earlierRequests }) => {
      if (path !== "/media.m3u8") return expired(path);
      return earlierRequests === 0 ? textPlan(playlist((name) => `/${name}`)) : statusPlan(403);
    });
    const expired = (path: string): Answer =>
      path > "/b" ? statusPlan(410) : plainPlan(SEGMENTS.get(path.slice(1)) ?? Buffer.alloc(0), undefined);
    const demuxer = await open("/media.m3u8");
    await expect(readAll(clock, demuxer)).rejects.toThrow(/HTTP 410/);
    expect(countOf("/media.m3u8")).toBe(2);
  });
});

describe("a live playlist whose segment is refused", () => {
  it("the playlist is asked again, and the segment is found in it", async () => {
    const answerTo = expiring({ usesMax: 2 });
    const { open, clock, countOf } = await startHls((request) => {
      const answer = answerTo(request);
      return request.path === "/media.m3u8" ? textPlan(textOf(answer).replace("#EXT-X-ENDLIST\n", "")) : answer;
    });
    expect(await readAll(clock, await open("/media.m3u8"), 30)).toBe(WHOLE.slice(30));
    expect(countOf("/media.m3u8")).toBe(2);
  });
});

describe("a playlist whose first answer is bad once", () => {
  const good = playlist((name) => `/${name}`);
  it.each([
    ["empty", ""],
    ["a web page", "<html>busy</html>"],
    ["JSON", '{"error":"busy"}'],
    ["its header only", "#EXTM3U\n"],
    ["without segments", good.slice(0, good.indexOf("#EXTINF"))],
    ["cut in an address", good.slice(0, good.indexOf("/d") + 1)],
    ["cut in a tag", good.slice(0, good.lastIndexOf("#EXTINF") + 4)],
  ])("a media playlist that is %s is asked for once more", async (_what, bad) => {
    const { open, clock, countOf } = await startHls(({ path, earlierRequests }) => {
      if (path === "/media.m3u8") return textPlan(earlierRequests === 0 ? bad : good);
      return plainPlan(SEGMENTS.get(path.slice(1)) ?? Buffer.alloc(0), undefined);
    });
    expect(await readAll(clock, await open("/media.m3u8"))).toBe(WHOLE);
    expect(countOf("/media.m3u8")).toBe(2);
    expect(clock.now()).toBeLessThan(1_000);
  });

  it.each([
    ["empty", ""],
    ["a web page", "<html>busy</html>"],
    ["cut behind a tag", MASTER.slice(0, MASTER.indexOf("/media"))],
    ["cut in an address", MASTER.slice(0, -5)],
  ])("a master playlist that is %s is asked for once more", async (_what, bad) => {
    const { open, clock, countOf } = await startHls(({ path, earlierRequests }) => {
      if (path === "/master.m3u8") return textPlan(earlierRequests === 0 ? bad : MASTER);
      if (path === "/media.m3u8") return textPlan(good);
      const bytes = SEGMENTS.get(path.slice(1));
      return bytes === undefined ? statusPlan(404) : plainPlan(bytes, undefined);
    });
    expect(await readAll(clock, await open("/master.m3u8"))).toBe(WHOLE);
    expect(countOf("/master.m3u8")).toBe(2);
  });

  it.each<[string, Answer]>([
    ["a refusal", statusPlan(403)],
    ["404", statusPlan(404)],
    ["500", statusPlan(500)],
    ["a web page", textPlan("<html>")],
    ["an empty playlist", textPlan("#EXTM3U\n#EXT-X-TARGETDURATION:1\n")],
  ])("playlists without a newline at their end are used when the second answer is %s", async (_what, bad) => {
    const live = good.replace("\n#EXT-X-ENDLIST\n", "");
    const { open, clock, countOf } = await startHls(({ path, earlierRequests }) => {
      if (path === "/master.m3u8") return earlierRequests === 0 ? textPlan(MASTER.trimEnd()) : bad;
      if (path === "/media.m3u8") return earlierRequests === 0 ? textPlan(live) : bad;
      return plainPlan(SEGMENTS.get(path.slice(1)) ?? Buffer.alloc(0), undefined);
    });
    expect(await readAll(clock, await open("/master.m3u8"), 30)).toBe(WHOLE.slice(30));
    expect(countOf("/media.m3u8")).toBeGreaterThan(1);
  });

  it("a playlist that stays a web page fails with the reason after the second answer", async () => {
    const { open, countOf } = await startHls(() => textPlan("<html>"));
    await expect(open("/media.m3u8")).rejects.toThrow(/does not begin with #EXTM3U/);
    expect(countOf("/media.m3u8")).toBe(2);
  });

  it("a segment that is empty once is asked for once more", async () => {
    const { open, clock, countOf } = await startHls(({ path, earlierRequests }) => {
      if (path === "/media.m3u8") return textPlan(good);
      const isBad = path === "/c" && earlierRequests === 0;
      return plainPlan((isBad ? undefined : SEGMENTS.get(path.slice(1))) ?? Buffer.alloc(0), undefined);
    });
    expect(await readAll(clock, await open("/media.m3u8"))).toBe(WHOLE);
    expect(countOf("/c")).toBe(2);
  });
});
