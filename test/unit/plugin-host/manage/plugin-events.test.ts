// Events for plugins: in their order, and without anybody waiting for a plugin that is slow or lost.

import { beforeEach, expect, test } from "vitest";
import type { PluginManifest } from "../../../../src/bridge/plugin-messages.ts";
import type { OwnNodeEvent } from "../../../../src/bridge/plugin-players.ts";
import { createLogger } from "../../../../src/log/log.ts";
import { PluginEvents } from "../../../../src/plugin-host/manage/plugin-events.ts";
import { Plugins } from "../../../../src/plugin-host/manage/plugins.ts";
import { FakeClock } from "../../../support/fake-clock.ts";
import { type FakePluginThread, FakePluginThreads, manifestOf } from "../../../support/fake-plugin-threads.ts";
import { settle } from "../../../support/fake-workers.ts";
import { buildTrack } from "../../../support/track-builder.ts";

const OWNER = ["key bot", "key bot, user 1"];

let clock: FakeClock;
let threads: FakePluginThreads;
let events: PluginEvents;
let lines: string[];

beforeEach(() => {
  clock = new FakeClock();
  threads = new FakePluginThreads(clock);
  lines = [];
});

function create(manifest: Partial<PluginManifest> = { isListening: true }): void {
  const logger = createLogger((_level, message) => lines.push(message));
  const http = { userAgent: "x", proxyUrl: undefined, connectTimeoutMs: 1, socketTimeoutMs: 1 };
  const nothing = { hosts: {}, allow: [], ownProxyUrl: undefined, ownUserAgent: undefined, routing: undefined };
  const plugins = new Plugins({
    entry: new URL("file:///plugin"),
    threads,
    clock,
    logger,
    dataFolder: undefined,
    plans: [
      {
        name: "listener",
        rank: "middle",
        isBuiltIn: true,
        isRequired: false,
        isReloadedOnChange: false,
        problem: undefined,
        optionsOf: () => ({}),
        manifest: manifestOf("listener", manifest),
        settings: { module: "listener", http, ...nothing },
      },
    ],
  });
  events = new PluginEvents({ plugins: () => plugins.working, clock, logger });
}

function thread(): FakePluginThread {
  return threads.started.at(-1) ?? expect.fail("no thread was started");
}

function eventOf(number: number): OwnNodeEvent {
  return { type: "playerCreated", sessionId: "s", guildId: String(number) };
}

function tell(from: number, count: number, owner: readonly string[] = OWNER): void {
  for (let number = from; number < from + count; number++) events.tell(eventOf(number), owner);
}

/** The numbers of all events that its threads were told. */
function told(): number[] {
  const commands = threads.started.flatMap((started) => started.all("events"));
  return commands.flatMap((command) => command.events.map(({ event }) => Number("guildId" in event && event.guildId)));
}

test("a plugin that does not listen is told nothing, and its thread is not started", () => {
  create({});
  tell(1, 1);
  expect(threads.started).toHaveLength(0);
});

test("events wait while the thread has not taken those before, and arrive in their order", async () => {
  create();
  tell(1, 3);
  await settle();
  expect(told()).toEqual([1]);
  await thread().reply({ kind: "told" });
  expect(told()).toEqual([1, 2, 3]);
  await thread().reply({ kind: "told" });
  tell(4, 250);
  await settle();
  for (let batch = 0; batch < 4; batch++) await thread().reply({ kind: "told" });
  expect(told()).toEqual(Array.from({ length: 253 }, (_, index) => index + 1));
  expect(lines).toEqual([]);
});

test("while a thread takes none, the oldest of the clients with most are dropped together, with one line in the log", async () => {
  create();
  tell(1, 1);
  await settle();
  tell(10_001, 1, ["key other"]);
  tell(2, 2009);
  await thread().reply({ kind: "told" });
  for (let batch = 0; batch < 20; batch++) await thread().reply({ kind: "told" });
  const numbers = told();
  expect(numbers).toHaveLength(2 + 2009 - 201);
  expect(numbers.slice(0, 3)).toEqual([1, 10_001, 203]);
  expect(lines).toEqual(["events for a plugin dropped; perhaps more are until it has caught up"]);
});

test("clients with equally many lose equally many", async () => {
  create();
  tell(1, 1);
  await settle();
  tell(10_001, 500, ["key other"]);
  for (let number = 0; number < 1501; number++) tell(number + 2, 1, [`key ${number % 2}`]);
  for (let batch = 0; batch < 20; batch++) await thread().reply({ kind: "told" });
  const numbers = told();
  expect(numbers.filter((number) => number > 10_000)).toHaveLength(500);
  expect(numbers.slice(501, 503)).toEqual([203, 204]);
});

test("large tracks of one client do not push out the events of others", async () => {
  create();
  tell(1, 1);
  await settle();
  tell(2, 1, ["key other"]);
  const track = { ...buildTrack(), encoded: "x".repeat(1024 * 1024) };
  for (let number = 3; number < 23; number++) {
    const { sessionId, guildId } = { sessionId: "s", guildId: String(number) };
    events.tell({ type: "trackStarted", sessionId, guildId, playId: number, track, mirror: undefined }, OWNER);
  }
  for (let batch = 0; batch < 3; batch++) await thread().reply({ kind: "told" });
  expect(told()).toEqual([1, 2, 16, 17, 18, 19, 20, 21, 22]);
});

test("events wait while a lost thread rests, and those that were on their way are dropped with one line", async () => {
  create();
  tell(1, 2);
  await settle();
  thread().exit(1);
  await settle();
  tell(3, 1);
  clock.advance(3000);
  await settle();
  clock.advance(3000);
  await settle();
  expect(threads.started).toHaveLength(2);
  expect(told()).toEqual([1, 2, 3]);
  thread().exit(1);
  await settle();
  tell(4, 1);
  for (let second = 0; second < 4; second++) {
    clock.advance(1000);
    await settle();
  }
  expect(threads.started).toHaveLength(3);
  expect(told()).toEqual([1, 2, 3, 4]);
  expect(lines.filter((line) => line.startsWith("events for a plugin dropped"))).toHaveLength(1);
});

test("after the end of the node nobody is told anything", async () => {
  create();
  events.close();
  tell(1, 1);
  await settle();
  expect(threads.started).toHaveLength(0);
});
