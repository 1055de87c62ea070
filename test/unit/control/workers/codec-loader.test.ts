import { once } from "node:events";
import type { MessagePort } from "node:worker_threads";
import { afterEach, expect, it } from "vitest";
import type { CodecAnswer, CodecName } from "../../../../src/bridge/codec-request.ts";
import { CodecLoader } from "../../../../src/control/workers/codec-loader.ts";
import { systemThreads } from "../../../../src/control/workers/threads.ts";
import { createLogger } from "../../../../src/log/log.ts";
import { FakeClock } from "../../../support/fake-clock.ts";

const entry = new URL("../../../support/worker-scripts/codecs.mjs", import.meta.url);
const clock = new FakeClock();
let loader: CodecLoader;

function createLoader(): CodecLoader {
  loader = new CodecLoader({ threads: systemThreads, entry, clock, logger: createLogger(() => undefined) });
  return loader;
}

afterEach(() => loader.close());

async function ask(port: MessagePort, codec: CodecName): Promise<CodecAnswer> {
  port.postMessage({ requestId: 7, codec });
  const [answer] = await once(port, "message");
  return answer;
}

it("a codec is loaded once for all audio threads, also for later ones", async () => {
  const [first, second] = [createLoader().connect(), loader.connect()];
  const answers = await Promise.all([ask(first, "opus"), ask(second, "opus")]);
  answers.push(await ask(loader.connect(), "opus"));
  for (const answer of answers) expect(answer).toMatchObject({ loaded: { wasm: { startName: "start-1" } } });
});

it.each(["mp3", "flac"] as const)(
  "a codec thread that fails over %s fails the pending requests, and the next request starts another",
  async (codec) => {
    const port = createLoader().connect();
    expect(await ask(port, codec)).toMatchObject({ requestId: 7, failure: expect.any(String) });
    expect(await ask(port, "vorbis")).toMatchObject({ loaded: { wasm: { startName: "start-1" } } });
  },
);

it("a codec whose thread could not be started is loaded once a thread can be", async () => {
  let startCount = 0;
  const start: typeof systemThreads.start = (...args) => {
    startCount += 1;
    if (startCount === 1) throw new Error("no more threads");
    return systemThreads.start(...args);
  };
  const threads = { ...systemThreads, start };
  loader = new CodecLoader({ threads, entry, clock, logger: createLogger(() => undefined) });
  const port = loader.connect();
  expect(await ask(port, "opus")).toMatchObject({ failure: "no more threads" });
  expect(await ask(port, "opus")).toMatchObject({ loaded: { wasm: { startName: "start-1" } } });
});

it("the codec thread ends when nothing was requested for 10 s", async () => {
  const port = createLoader().connect();
  await ask(port, "opus");
  clock.advance(10_000);
  // Another thread: it has not loaded any before.
  expect(await ask(port, "vorbis")).toMatchObject({ loaded: { wasm: { startName: "start-1" } } });
});
