// An audio worker's thread before its first command, in the product's own program.

import { once } from "node:events";
import { Worker } from "node:worker_threads";
import { expect, test } from "vitest";
import { Heartbeat } from "../../../src/bridge/heartbeat.ts";
import { SETTINGS } from "../../support/obedient-pool.ts";
import { MEDIA_ENTRY } from "../../support/start-test-environment.ts";

/** Says which modules a thread loads, by their files' names. */
const OBSERVER = `
  const channel = new BroadcastChannel("loaded modules");
  channel.unref();
  export async function load(url, context, next) {
    channel.postMessage(url.split("/").at(-1));
    return next(url, context);
  }`;
const toUrl = (code: string): string => `data:text/javascript,${encodeURIComponent(code)}`;
const OBSERVED = [
  "--import",
  toUrl(`import { register } from "node:module"; register(${JSON.stringify(toUrl(OBSERVER))});`),
];

/** Without settings, so that an attempt to start the media modules fails visibly. */
async function startWorker(
  execArgv: string[] = [],
): Promise<{ readonly worker: Worker; readonly heartbeat: Heartbeat }> {
  const heartbeatMemory = Heartbeat.allocate();
  const worker = new Worker(MEDIA_ENTRY, { workerData: { heartbeatMemory }, execArgv });
  const [event] = (await once(worker, "message")) as unknown[];
  expect(event).toEqual({ type: "ready" });
  return { worker, heartbeat: new Heartbeat(heartbeatMemory) };
}

test("an unused worker is ready, has a heartbeat, and closes on request, without loading the media modules", async () => {
  const { worker, heartbeat } = await startWorker();
  expect(heartbeat.beats).toBeGreaterThan(0);
  const exited = once(worker, "exit");
  worker.postMessage({ type: "close" });
  expect(await exited).toEqual([0]);
});

test("a worker that cannot load the media modules is lost with the reason when it is needed", async () => {
  const { worker } = await startWorker();
  const failed = once(worker, "error");
  worker.postMessage({ type: "setComplexity", complexity: 5 });
  expect(await failed).toEqual([expect.any(TypeError)]);
});

test("a spare worker is ready once the media modules are loaded, and never without them", async () => {
  const worker = new Worker(MEDIA_ENTRY, { workerData: { heartbeatMemory: Heartbeat.allocate(), isSpare: true } });
  const messages: unknown[] = [];
  worker.on("message", (message) => messages.push(message));
  expect(await once(worker, "error")).toEqual([expect.any(TypeError)]);
  expect(messages).toEqual([]);
});

test("a worker requests a pacer with its first command, before a player needs it; a spare does not", async () => {
  /** The types of its messages until it has closed. */
  const typesOf = async (isSpare: boolean): Promise<readonly unknown[]> => {
    const types: unknown[] = [];
    const workerData = { heartbeatMemory: Heartbeat.allocate(), settings: SETTINGS, isSpare };
    const worker = new Worker(MEDIA_ENTRY, { workerData });
    worker.on("message", ({ type }: { readonly type: unknown }) => types.push(type));
    await once(worker, "message");
    worker.postMessage({ type: "setComplexity", complexity: 5 });
    worker.postMessage({ type: "close" });
    await once(worker, "exit");
    return types;
  };
  expect(await typesOf(false)).toEqual(["ready", "pacerRequested"]);
  expect(await typesOf(true)).toEqual(["ready"]);
});

test("the modules of every player are loaded before the first command is carried out", async () => {
  const channel = new BroadcastChannel("loaded modules");
  const loaded: string[] = [];
  channel.onmessage = (event: MessageEvent) => loaded.push(String(event.data));
  const { worker } = await startWorker(OBSERVED);
  const failed = once(worker, "error");
  worker.postMessage({ type: "setComplexity", complexity: 5 });
  await failed;
  channel.close();
  expect(loaded).toEqual(expect.arrayContaining(["start-worker.js", "http-client.js", "voice-connection.js"]));
});
