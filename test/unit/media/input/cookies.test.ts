import { afterEach, expect, it } from "vitest";
import { type Answer, plainPlan, rawPlan, statusPlan } from "../../../../lab/media-server/answer-plan.ts";
import type { LoggedRequest } from "../../../../lab/media-server/media-server.ts";
import { download } from "../../../../src/media/input/http-download.ts";
import { RequestPace } from "../../../../src/media/input/request-pace.ts";
import { type HttpInputBench, readWhole, startHttpInputBench } from "../../../support/http-input-bench.ts";
import { patternBytes } from "../../../support/input-builders.ts";

const FILE = patternBytes(50_000);

const benches: HttpInputBench[] = [];

afterEach(async () => {
  for (const bench of benches.splice(0)) await bench.close();
});

async function start(script: (request: LoggedRequest) => Answer | undefined): Promise<HttpInputBench> {
  const bench = await startHttpInputBench(script, { "song.mp3": FILE });
  benches.push(bench);
  return bench;
}

function cookiesOf({ server }: HttpInputBench): unknown[] {
  return server.requests.map(({ path, headers }) => [path, headers.cookie]);
}

it("a cookie that a redirect to itself sets goes with the next request", async () => {
  const { open } = await start(({ headers }) =>
    headers.cookie === "perm=1"
      ? plainPlan(FILE, "audio/mpeg")
      : statusPlan(302, { location: "/song", "set-cookie": "perm=1; Path=/" }),
  );
  expect((await readWhole(await open("/song"))).equals(FILE)).toBe(true);
});

it("the cookies of a playlist go with its segments, and not with another track's", async () => {
  const bench = await start(() => ({
    ...plainPlan(FILE, undefined),
    headers: { "set-cookie": "seg=1; Path=/" },
  }));
  const { deps, server } = bench;
  await readWhole(await bench.open("/list"));
  // HLS has another pace.
  const options = { client: deps.client, signal: deps.signal, sizeBytesMax: FILE.length };
  await download(new URL(`${server.url}/segment`), { ...options, pace: new RequestPace(deps.budget) });
  const other = await startHttpInputBench(() => undefined);
  benches.push(other);
  await download(new URL(`${server.url}/other`), { ...options, pace: new RequestPace(other.deps.budget) });
  expect(cookiesOf(bench)).toEqual([
    ["/list", undefined],
    ["/segment", "seg=1"],
    ["/other", undefined],
  ]);
});

it("a cookie never goes to another site, and not into a message", async () => {
  const other = await start(() => statusPlan(403));
  const bench = await start(({ path }) =>
    statusPlan(302, { location: path === "/a" ? "/b" : `${other.server.url}/c`, "set-cookie": "session=abc; Path=/" }),
  );
  const failure = await bench.open("/a").catch((error) => `${error} ${error.cause}`);
  expect(failure).toContain("403");
  expect(failure).not.toMatch(/session|abc/);
  expect(cookiesOf(bench)).toEqual([
    ["/a", undefined],
    ["/b", "session=abc"],
  ]);
  expect(cookiesOf(other)).toEqual([["/c", undefined]]);
});

it("a cookie is sent when a lost connection is opened again", async () => {
  const bench = await start(({ earlierRequests }) => ({
    ...plainPlan(FILE, "audio/mpeg"),
    headers: { "set-cookie": "n=v" },
    fault: earlierRequests === 0 ? { kind: "cut", afterBytes: 20_000 } : undefined,
  }));
  expect((await readWhole(await bench.open("/song"))).equals(FILE)).toBe(true);
  expect(cookiesOf(bench)).toEqual([
    ["/song", undefined],
    ["/song", "n=v"],
  ]);
});

it("a cookie with bytes that are no ASCII goes back as it came, also to a server that is read leniently", async () => {
  const bench = await start(({ path }) =>
    path === "/a"
      ? statusPlan(302, { location: "/song", "set-cookie": "n=\u00e9; Path=/" })
      : rawPlan("ICY 200 OK\r\n\r\n", FILE),
  );
  expect((await readWhole(await bench.open("/a"))).equals(FILE)).toBe(true);
  const asked = cookiesOf(bench).slice(1);
  expect(asked.length).toBeGreaterThan(1);
  // The server sent it in UTF-8.
  for (const each of asked) expect(each).toEqual(["/song", Buffer.from("n=\u00e9").toString("latin1")]);
});
