// Loaded into the process of a node under test before anything else (`--import`): a second thread repeatedly asks the
// main thread for a sign of life, measures how long it had to wait, and reports to the bench over HTTP. The wait has
// two parts: the main thread had other work, or it waited for a processor. Linux counts the second (/proc), so that the
// first is known on a busy machine too.

import { once } from "node:events";
import { createServer } from "node:http";
import { isMainThread, type MessagePort, parentPort, Worker, workerData } from "node:worker_threads";
import { readThreadTimes } from "../../src/lib/thread-cpu.ts";
import { sleep } from "../sleep.ts";
import type { MainThreadReadings } from "./main-thread-watch.ts";

interface WatchSettings {
  readonly watchPort: number;
  readonly pauseMs: number;
}

interface Sign {
  readonly atMs: number;
  /** How long the main thread has waited for a processor so far. */
  readonly queuedMs: number;
}

/** On Linux the main thread has the number of the process. */
function takeSign(): Sign {
  const times = readThreadTimes(process.pid);
  if (times === undefined) throw new Error("this system does not report how long its threads wait for a processor");
  // All threads share this clock.
  return { atMs: Number(process.hrtime.bigint()) / 1e6, queuedMs: times.queuedMs };
}

function startWatch({ searchParams }: URL): void {
  const settings: WatchSettings = {
    watchPort: Number(searchParams.get("port")),
    pauseMs: Number(searchParams.get("pauseMs")),
  };
  const watch = new Worker(new URL(import.meta.url), { workerData: settings, execArgv: [] });
  watch.on("message", () => watch.postMessage(takeSign()));
  watch.unref();
}

async function watchMainThread(main: MessagePort, { watchPort, pauseMs }: WatchSettings): Promise<void> {
  let waitsMs: number[] = [];
  let heldMs: number[] = [];
  const server = createServer((_request, response) => {
    response.end(JSON.stringify({ waitsMs, heldMs } satisfies MainThreadReadings));
    [waitsMs, heldMs] = [[], []];
  });
  server.listen(watchPort, "127.0.0.1");
  for (;;) {
    const asked = takeSign();
    main.postMessage("sample");
    const [answered] = (await once(main, "message")) as [Sign]; // sent above
    const waitMs = answered.atMs - asked.atMs;
    waitsMs.push(waitMs);
    heldMs.push(Math.max(0, waitMs - (answered.queuedMs - asked.queuedMs)));
    await sleep(pauseMs);
  }
}

// It is loaded into all other threads of the node as well, which have nothing to do with it.
const isWatch = typeof workerData === "object" && workerData !== null && "watchPort" in workerData;
if (isMainThread) startWatch(new URL(import.meta.url));
else if (isWatch && parentPort !== null) await watchMainThread(parentPort, workerData as WatchSettings); // made above
