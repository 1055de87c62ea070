// Loads share the node's limit of concurrent probes: the slow links of one client, or of one site, do not delay the
// answers for others.

import { afterAll, beforeAll, expect, it } from "vitest";
import { plainPlan } from "../../../lab/media-server/answer-plan.ts";
import type { LoadView } from "../../../lab/test-environment/bot.ts";
import { SONGS } from "../../support/song.ts";
import { UpstreamTestEnvironment } from "../../support/upstream-test-environment.ts";

const DRIPPING_COUNT = 200;
const FOUND = { loadType: "track", data: { info: { title: "Chord" } } };

let upstream: UpstreamTestEnvironment;

beforeAll(async () => {
  const config = { LAVALINK_SERVER_TIMEOUTS_SOCKET_TIMEOUT_MS: "60000" };
  upstream = await UpstreamTestEnvironment.start({ root: SONGS.pathname, config });
});
afterAll(() => upstream.close());

async function load(path: string): Promise<LoadView> {
  return (await upstream.bot.load(upstream.url(path))).body;
}

it("200 servers that drip keep no good address from its answer, neither of their client nor of another", async () => {
  let release = (): void => undefined;
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  async function* drip(): AsyncGenerator<Uint8Array> {
    yield Buffer.from("ID3");
    await released;
  }
  const paths = Array.from({ length: DRIPPING_COUNT }, (_, index) => `chord.mp3?drips=${index}`);
  const plan = () => ({ ...plainPlan(new Uint8Array(0), "audio/mpeg"), framing: "chunked" as const, body: drip() });
  for (const path of paths) upstream.answer(path, plan);
  let overCount = 0;
  const dripping = paths.map((path) => load(path).finally(() => overCount++));
  const asked = () => paths.filter((path) => upstream.requests(path).length > 0).length;
  await expect.poll(asked).toBe(DRIPPING_COUNT);
  expect(await load("chord.mp3?same")).toMatchObject(FOUND);
  const other = await upstream.env.connectBot();
  expect((await other.load(upstream.url("chord.mp3?other"))).body).toMatchObject(FOUND);
  expect(overCount).toBe(0);
  release();
  for (const { loadType } of await Promise.all(dripping)) expect(loadType).toBe("error");
});
