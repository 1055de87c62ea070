import { beforeEach, expect, test } from "vitest";
import { createLogger, type LogFields } from "../../../../../src/log/log.ts";
import type { PluginLogger } from "../../../../../src/plugin-api/plugin.ts";
import { createPluginLogger } from "../../../../../src/plugin-host/runtime/host/limited-logger.ts";
import { FakeClock } from "../../../../support/fake-clock.ts";

interface Line {
  readonly level: string;
  readonly message: string;
  readonly fields: LogFields;
}

let clock: FakeClock;
let lines: Line[];
let log: PluginLogger;

beforeEach(() => {
  clock = new FakeClock();
  lines = [];
  const logger = createLogger((level, message, fields) =>
    lines.push({ level, message, fields: structuredClone(fields) }),
  );
  log = createPluginLogger({ logger, clock, hide: (text) => text.replaceAll("hunter2", "<redacted>") });
});

test("log lines keep their level, message and fields", () => {
  for (const level of ["debug", "info", "warn", "error"] as const)
    log[level](`a ${level}`, { count: 1, isNew: true, at: null });
  expect(lines.map(({ level, message }) => [level, message])).toEqual([
    ["debug", "a debug"],
    ["info", "a info"],
    ["warn", "a warn"],
    ["error", "a error"],
  ]);
  expect(lines[0]?.fields).toEqual({ count: 1, isNew: true, at: null });
});

test("a hundred lines a minute are written, and the next one reports how many were dropped", () => {
  for (let index = 0; index < 250; index++) log.info(`line ${index}`);
  expect(lines).toHaveLength(100);
  clock.advance(600);
  log.info("later", { a: 1 });
  log.info("not yet");
  expect(lines).toHaveLength(101);
  expect(lines.at(-1)).toMatchObject({ message: "later", fields: { a: 1, linesLeftOut: 150 } });
  clock.advance(60_000);
  log.info("much later");
  log.info("and again");
  expect(lines.slice(-2).map(({ fields }) => fields)).toEqual([{ linesLeftOut: 1 }, {}]);
});

test("secrets are removed in all parts of a line", () => {
  const error = new Error("login with hunter2 failed", { cause: new Error("hunter2") });
  log.warn("with hunter2", { text: "hunter2", error, nested: { list: ["hunter2"] } });
  expect(lines[0]?.message).toBe("with <redacted>");
  expect(JSON.stringify(lines)).not.toContain("hunter2");
  const { error: shown } = lines[0]?.fields ?? {};
  expect(shown).toMatchObject({ message: "login with <redacted> failed" });
  expect((shown as Error).stack).not.toContain("hunter2");
});

test("a value that cannot be sent to another thread is described in text, and throws nothing", () => {
  const cycle: Record<string, unknown> = {};
  cycle.self = cycle;
  const error = Object.assign(new Error("no"), { request: () => undefined });
  log.error("odd", { call: () => 1, symbol: Symbol("x"), big: 10n, cycle, error, nothing: undefined });
  expect(lines[0]?.fields).toMatchObject({
    call: "() => 1",
    symbol: "Symbol(x)",
    big: "10",
    cycle: "something that is no JSON",
  });
  expect(lines[0]?.fields.error).toMatchObject({ message: "no" });
});

test("long texts are cut, after removing secrets, and so are many fields", () => {
  log.info(`${"x".repeat(4090)}hunter2`, { text: "y".repeat(10_000), list: Array.from({ length: 10_000 }, () => 1) });
  log.info("many", Object.fromEntries(Array.from({ length: 200 }, (_, index) => [`field${index}`, index])));
  expect(lines[0]?.message).toBe(`${"x".repeat(4090)}<redac…`);
  expect(lines[0]?.fields.text).toHaveLength(4097);
  expect(lines[0]?.fields.list).toHaveLength(4097);
  expect(Object.keys(lines[1]?.fields ?? {})).toHaveLength(50);
});
