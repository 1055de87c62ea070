import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { plainPlan } from "../../../lab/media-server/answer-plan.ts";
import { MediaServer } from "../../../lab/media-server/media-server.ts";
import { patternBytes, until } from "../../support/input-builders.ts";

const FILE = patternBytes(100_000);
let server: MediaServer;

beforeAll(async () => {
  server = await MediaServer.start({
    files: { "a b.mp3": FILE },
    root: new URL("../../fixtures/hls/", import.meta.url).pathname,
    script: ({ path }) => (path === "/scripted" ? { ...plainPlan(FILE, "x/y"), status: 299 } : undefined),
  });
});

afterAll(() => server.close());

async function get(path: string, headers: Record<string, string> = {}) {
  const response = await fetch(`${server.url}${path}`, { headers, redirect: "manual" });
  return { response, bytes: Buffer.from(await response.arrayBuffer()) };
}

describe("ranges", () => {
  it.each([
    ["bytes=0-", 206, FILE, "bytes 0-99999/100000"],
    ["bytes=99990-", 206, FILE.subarray(99_990), "bytes 99990-99999/100000"],
    ["bytes=10-19", 206, FILE.subarray(10, 20), "bytes 10-19/100000"],
    ["bytes=10-999999", 206, FILE.subarray(10), "bytes 10-99999/100000"],
    ["bytes=100000-", 416, Buffer.alloc(0), "bytes */100000"],
    ["bytes=5-2", 416, Buffer.alloc(0), "bytes */100000"],
    ["bytes=1-2,5-6", 200, FILE, null],
  ])("the media server answers the range %s", async (range, status, expected, contentRange) => {
    const { response, bytes } = await get("/a%20b.mp3", { range });
    expect([response.status, response.headers.get("content-range")]).toEqual([status, contentRange]);
    expect(bytes.equals(expected)).toBe(true);
  });

  it("the media server answers a range of another version with the whole file", async () => {
    const { response } = await get("/a%20b.mp3", { range: "bytes=5-", "if-range": '"other"' });
    expect(response.status).toBe(200);
  });
});

it("the media server serves files of its folder and nothing outside of it", async () => {
  expect((await get("/ts0.ts")).response.headers.get("content-type")).toBe("video/mp2t");
  for (const path of ["/nothing", "/..%2Fgolden%2Frest.jsonl", "/ranges/%2Fetc%2Fpasswd", "/"]) {
    expect((await get(path)).response.status, path).toBe(404);
  }
});

it("the media server answers with statuses, redirects and redirect loops", async () => {
  expect((await get("/503")).response.status).toBe(503);
  expect((await get("/redirect/a%20b.mp3")).response.headers.get("location")).toBe("/a b.mp3");
  expect((await get("/loop")).response.headers.get("location")).toBe("/loop");
  expect((await get("/to?http%3A%2F%2Fx%2F")).response.headers.get("location")).toBe("http://x/");
  expect((await get("/scripted")).response.status).toBe(299);
});

it("the media server cuts answers once, and truncates them always", async () => {
  await expect(get("/cut/a%20b.mp3")).rejects.toThrow();
  expect((await get("/cut/a%20b.mp3")).bytes.equals(FILE)).toBe(true);
  for (let round = 0; round < 2; round++) await expect(get("/truncated/a%20b.mp3")).rejects.toThrow();
});

it("the media server inserts station titles only when asked", async () => {
  const plain = await get("/icy/a%20b.mp3");
  expect(plain.bytes.equals(FILE)).toBe(true);
  expect(plain.response.headers.get("icy-metaint")).toBeNull();
  const titled = await get("/icy/a%20b.mp3", { "icy-metadata": "1" });
  expect(titled.response.headers.get("icy-metaint")).toBe("16000");
  expect(titled.bytes.subarray(16_001).toString("latin1")).toMatch(/^StreamTitle='It's song 1';/);
});

it("the media server logs its requests", async () => {
  const before = server.requests.length;
  await get("/404", { "x-test": "yes" });
  expect(server.requests[before]).toMatchObject({ path: "/404", isOver: true });
  expect(server.requests[before]?.headers["x-test"]).toBe("yes");
});

it("the media server closes the connections of a banned address and answers 429 until it is unbanned", async () => {
  const path = "/stall/a%20b.mp3";
  const stalled = get(path);
  await until(() => server.requests.some((request) => request.path === path));
  expect(server.requests.at(-1)?.from).toBe("127.0.0.1");
  server.ban("127.0.0.1");
  await expect(stalled).rejects.toThrow();
  expect((await get("/a%20b.mp3")).response.status).toBe(429);
  server.ban("127.0.0.2");
  server.unban("127.0.0.1");
  expect((await get("/a%20b.mp3")).response.status).toBe(200);
});
