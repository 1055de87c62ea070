import { MessageChannel } from "node:worker_threads";
import { describe, expect, test } from "vitest";
import {
  CommandChannel,
  type Endpoint,
  EventChannel,
  type MainEnd,
  type PlainCommand,
  type ThreadEnd,
  type WorkerRequest,
} from "../../../src/bridge/channel.ts";
import type { WorkerCommand } from "../../../src/bridge/commands.ts";
import type { WorkerEvent } from "../../../src/bridge/events.ts";
import { RemoteError, toWireError } from "../../../src/bridge/wire-error.ts";
import { NodeError } from "../../../src/errors.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { linkTo, SITE_TRACK } from "../../support/scripted-links.ts";

const REQUEST = { type: "destroyPlayer", playerId: 1 } as const;
const TIMEOUT = { timeoutMs: 1000 };

/** Both ends of a pipe that carries text, as a network would: nothing survives that JSON does not. */
function textPipe(): [MainEnd, ThreadEnd<PlainCommand>] {
  const listeners: ((message: ReturnType<JSON["parse"]>) => void)[] = [];
  const end = <Sent, Received>(own: number): Endpoint<Sent, Received> => ({
    postMessage: (message) => {
      const text = JSON.stringify(message);
      queueMicrotask(() => listeners[1 - own]?.(JSON.parse(text)));
    },
    on: (_event, listener) => {
      listeners[own] = listener;
    },
  });
  return [end(0), end(1)];
}

function connect(onRequest: (request: WorkerRequest, worker: EventChannel) => void = () => undefined) {
  const clock = new FakeClock();
  const events: WorkerEvent[] = [];
  const commands: WorkerCommand[] = [];
  const [mainEnd, workerEnd] = textPipe();
  const main = new CommandChannel(mainEnd, { clock, onEvent: (event) => events.push(event) });
  const worker = new EventChannel(workerEnd, {
    clock,
    onCommand: (command) => {
      commands.push(command);
      if ("requestId" in command) onRequest(command, worker);
    },
  });
  return { clock, events, commands, main, worker };
}

async function nextIteration(): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve));
}

describe("the channel, over text", () => {
  test("carries commands down and events up, in order", async () => {
    const { main, worker, commands, events } = connect();
    main.send({ type: "pause", playerId: 1, isPaused: true });
    main.send({ type: "stop", playerId: 1 });
    worker.send({ type: "ready" });
    worker.send({ type: "trackEnded", playerId: 1, trackId: 2, reason: "finished" });
    await nextIteration();
    expect(commands.map(({ type }) => type)).toEqual(["pause", "stop"]);
    expect(events.map(({ type }) => type)).toEqual(["ready", "trackEnded"]);
  });

  test("answers each request with its own reply, in whatever order they come", async () => {
    const held: (() => void)[] = [];
    const { main } = connect((request, worker) => {
      held.unshift(() => {
        if (request.type === "connectVoice") void worker.answer(request, Promise.resolve({ isConnected: true }));
        else if (request.type === "destroyPlayer") void worker.answer(request, Promise.resolve(undefined));
      });
    });
    const destroyed = main.request(REQUEST, TIMEOUT);
    const credentials = { token: "t", endpoint: "e", sessionId: "s", channelId: undefined };
    const connected = main.request({ type: "connectVoice", playerId: 1, voiceId: 1, credentials }, TIMEOUT);
    await nextIteration();
    for (const answer of held) answer();
    expect(await connected).toEqual({ isConnected: true });
    expect(await destroyed).toBeUndefined();
  });

  test("an error of the worker arrives with its code, message and wire form", async () => {
    const thrown = new NodeError("media-no-audio", "the file holds no audio", { cause: new RangeError("deep down") });
    const { main } = connect((request, worker) => {
      if (request.type === "destroyPlayer") void worker.answer(request, Promise.reject(thrown));
    });
    const error = await main.request(REQUEST, TIMEOUT).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(RemoteError);
    expect(error).toMatchObject({ code: "media-no-audio", fault: "caller", message: "the file holds no audio" });
    expect(toWireError(error)).toMatchObject({ severity: "common", cause: "RangeError: deep down" });
    expect(toWireError(error).causeStackTrace).toContain("Caused by: RangeError: deep down");
  });

  test("a code that this side does not know counts as internal", () => {
    const wire = { code: "from-the-future", message: "m", severity: "fault", cause: "", causeStackTrace: "" } as const;
    expect(new RemoteError(wire).code).toBe("internal");
  });

  test("a request that is not answered in time is rejected, and its late reply dropped", async () => {
    const held: WorkerRequest[] = [];
    const { main, clock, worker, events } = connect((request) => held.push(request));
    const destroyed = main.request(REQUEST, TIMEOUT);
    await nextIteration();
    clock.advance(999);
    clock.advance(1);
    await expect(destroyed).rejects.toMatchObject({ code: "worker-timeout" });
    const [request] = held;
    if (request?.type === "destroyPlayer") await worker.answer(request, Promise.resolve(undefined));
    await nextIteration();
    expect(events).toEqual([]);
  });

  test("however many requests wait, the end of every player is asked for", async () => {
    const { main, commands } = connect();
    const ends = Array.from({ length: 10_000 }, (_, playerId) => main.request({ ...REQUEST, playerId }, TIMEOUT));
    const settled = Promise.allSettled(ends);
    await nextIteration();
    expect(commands).toHaveLength(10_000);
    main.close(new NodeError("worker-lost", "gone"));
    await settled;
  });

  test("closing rejects pending requests with its reason, and nothing is sent or received afterwards", async () => {
    const { main, worker, commands, events, clock } = connect();
    const destroyed = main.request(REQUEST, TIMEOUT);
    main.close(new NodeError("worker-lost", "gone"));
    await expect(destroyed).rejects.toMatchObject({ code: "worker-lost", message: "gone" });
    await expect(main.request(REQUEST, TIMEOUT)).rejects.toMatchObject({ code: "worker-lost" });
    main.send({ type: "close" });
    worker.send({ type: "ready" });
    await nextIteration();
    expect(commands.map(({ type }) => type)).toEqual(["destroyPlayer"]);
    expect(events).toEqual([]);
    expect(clock.pendingCount).toBe(0);
  });
});

describe("an address to send from", () => {
  const WIRE = {
    code: "routes-exhausted",
    message: "m",
    severity: "suspicious",
    cause: "",
    causeStackTrace: "",
  } as const;

  test("an answer reaches the request it belongs to, in whatever order answers arrive", async () => {
    const { main, worker, events, commands } = connect();
    const answers = [worker.requestRoute([4]), worker.requestRoute([6, 4]), worker.requestRoute([6])];
    await nextIteration();
    expect(events).toEqual([
      { type: "routeRequested", routeId: 1, families: [4] },
      { type: "routeRequested", routeId: 2, families: [6, 4] },
      { type: "routeRequested", routeId: 3, families: [6] },
    ]);
    main.send({ type: "routeError", routeId: 3, error: WIRE });
    main.send({ type: "route", routeId: 2, address: "2001:db8::1" });
    main.send({ type: "route", routeId: 1, address: undefined });
    const [first, second, third] = await Promise.allSettled(answers);
    expect(first).toEqual({ status: "fulfilled", value: undefined });
    expect(second).toEqual({ status: "fulfilled", value: "2001:db8::1" });
    expect(third).toMatchObject({ status: "rejected", reason: { wire: WIRE } });
    expect(commands).toEqual([]);
  });

  test("is waited for no longer than 5 s, and a late answer dropped", async () => {
    const { main, worker, clock } = connect();
    const answer = worker.requestRoute([4]);
    clock.advance(4999);
    expect(clock.pendingCount).toBe(1);
    clock.advance(1);
    await expect(answer).rejects.toMatchObject({ code: "worker-timeout" });
    main.send({ type: "route", routeId: 1, address: "192.0.2.1" });
    await nextIteration();
    expect(clock.pendingCount).toBe(0);
  });

  test("is wished for by no more than 4096 at once", async () => {
    const { worker, clock } = connect();
    const waiting = Promise.allSettled(Array.from({ length: 4096 }, () => worker.requestRoute([4])));
    await expect(worker.requestRoute([4])).rejects.toMatchObject({ code: "worker-busy" });
    clock.advance(5000);
    await waiting;
    expect(clock.pendingCount).toBe(0);
  });
});

test("an owner's flood of requests between threads refuses its own, and another owner's pass", async () => {
  const { worker, clock, events } = connect();
  const flood = ["address greedy", "address greedy, one"];
  const refused: unknown[] = [];
  const asked = Array.from({ length: 4096 }, () =>
    worker.requestRoute([4], undefined, { owner: flood }).catch((error) => refused.push(error.code)),
  );
  await expect(worker.requestRoute([4], undefined, { owner: flood })).rejects.toMatchObject({ code: "worker-busy" });
  const others = [["key honest"], ["address greedy", "address greedy, two"]].map((owner) =>
    worker.requestRoute([4], undefined, { owner }),
  );
  await nextIteration();
  expect(refused).toEqual(["worker-busy", "worker-busy"]);
  expect(events).toHaveLength(4098);
  clock.advance(5000);
  for (const other of others) await expect(other).rejects.toMatchObject({ code: "worker-timeout" });
  await Promise.all(asked);
  expect(refused.filter((code) => code === "worker-busy")).toHaveLength(2);
});

describe("an entry of the Opus cache", () => {
  const request = { key: "a".repeat(64), reservedBytes: 1000 };

  test("is asked for with the key, and the answer reaches the one that asked", async () => {
    const { main, worker, commands, events } = connect();
    const answers = [worker.requestOpusCache(request), worker.requestOpusCache({ ...request, reservedBytes: 0 })];
    await nextIteration();
    expect(events).toEqual([
      { type: "opusCacheRequested", opusCacheId: 1, ...request },
      { type: "opusCacheRequested", opusCacheId: 2, ...request, reservedBytes: 0 },
    ]);
    main.send({ type: "opusCache", opusCacheId: 2, answer: { kind: "none" } });
    main.send({ type: "opusCache", opusCacheId: 1, answer: { kind: "write", path: "/cache/a.1.part" } });
    expect(await Promise.all(answers)).toEqual([{ kind: "write", path: "/cache/a.1.part" }, { kind: "none" }]);
    expect(commands).toEqual([]);
  });

  test("is waited for no longer than half a second, as the track plays without it", async () => {
    const { main, worker, clock, events } = connect();
    const answer = worker.requestOpusCache(request);
    clock.advance(500);
    await expect(answer).rejects.toMatchObject({ code: "worker-timeout" });
    expect(clock.pendingCount).toBe(0);
    await nextIteration();
    main.send({ type: "opusCache", opusCacheId: 1, answer: { kind: "write", path: "/cache/a.1.part" } });
    await nextIteration();
    expect(events.slice(1)).toEqual([{ type: "opusCacheWritten", path: "/cache/a.1.part" }]);
  });
});

describe("a link", () => {
  const WIRE = {
    code: "source-unavailable",
    message: "m",
    severity: "common",
    cause: "",
    causeStackTrace: "",
  } as const;
  const OWNER = ["address test"] as const;
  const LINK_REQUEST = { track: SITE_TRACK, owner: OWNER, reason: "start" } as const;

  test("a link reaches the request it belongs to, in whatever order links arrive", async () => {
    const { main, worker, events, commands } = connect();
    const requests = [
      worker.requestLink(LINK_REQUEST),
      worker.requestLink({ ...LINK_REQUEST, reason: "refused", status: 410, variant: "a" }),
    ];
    await nextIteration();
    expect(events).toEqual([
      { type: "linkRequested", linkId: 1, ...LINK_REQUEST },
      {
        type: "linkRequested",
        linkId: 2,
        track: SITE_TRACK,
        owner: OWNER,
        reason: "refused",
        status: 410,
        variant: "a",
      },
    ]);
    const link = linkTo("http://site.example/song", { headers: { cookie: "a=b" } });
    main.send({ type: "linkError", linkId: 2, error: WIRE });
    main.send({ type: "link", linkId: 1, link });
    const [first, second] = await Promise.allSettled(requests);
    expect(first).toMatchObject({ status: "fulfilled", value: JSON.parse(JSON.stringify(link)) });
    expect(second).toMatchObject({ status: "rejected", reason: { wire: WIRE } });
    expect(commands).toEqual([]);
  });

  test("is waited for no longer than 20 s, and wished for by no more than 1024 at once", async () => {
    const { worker, clock } = connect();
    const waiting = Array.from({ length: 1024 }, () => worker.requestLink(LINK_REQUEST));
    await expect(worker.requestLink(LINK_REQUEST)).rejects.toMatchObject({ code: "worker-busy" });
    clock.advance(19_999);
    expect(clock.pendingCount).toBe(1024);
    clock.advance(1);
    const settled = await Promise.allSettled(waiting);
    expect(settled.every(({ status }) => status === "rejected")).toBe(true);
    await expect(waiting[0]).rejects.toMatchObject({ code: "worker-timeout" });
    expect(clock.pendingCount).toBe(0);
  });
});

test("over a MessagePort, a log line with fields that cannot be copied still arrives", async () => {
  const { port1, port2 } = new MessageChannel();
  const arrived = new Promise<WorkerEvent>((resolve) => {
    new CommandChannel(port1, { clock: new FakeClock(), onEvent: resolve });
  });
  const fields = { count: 1, callback: () => undefined };
  const worker = new EventChannel(port2, { clock: new FakeClock(), onCommand: () => undefined });
  worker.send({ type: "log", level: "info", message: "hello", fields });
  expect(await arrived).toMatchObject({ message: "hello", fields: { count: "1" } });
  port1.close();
});
