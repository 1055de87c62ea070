import { describe, expect, test } from "vitest";
import { Secret } from "../../../src/config/keys/secret.ts";
import { NodeError } from "../../../src/errors.ts";
import type { Logger } from "../../../src/log/log.ts";
import { createNodeLogger, type LogOptions } from "../../../src/log/log-pino.ts";
import { type LogLine, LogRing } from "../../../src/log/log-ring.ts";

function logger(options: Partial<LogOptions> = {}) {
  const lines: string[] = [];
  const stream = { write: (text: string) => lines.push(text) };
  const log = createNodeLogger({ level: "info", format: "text", stream, epochMs: () => 1_000, ...options });
  return { log, lines, text: () => lines.join("") };
}

const SECRET = "hunter2hunter2";

describe.each(["text", "json"] as const)("log lines as %s", (format) => {
  test("log lines are those at or above the level", () => {
    const { log, lines } = logger({ format, level: "warn" });
    log.debug("a");
    log.info("b");
    log.warn("c");
    log.error("d");
    expect(lines).toHaveLength(2);
  });

  test("log lines contain no secrets, in any field", () => {
    const { log, text } = logger({ format });
    log.info(`dial http://user:${SECRET}@host/path`, {
      password: SECRET,
      token: SECRET,
      proxyUrl: SECRET,
      Authorization: SECRET,
      nested: { list: [{ accessToken: SECRET }], url: `wss://${SECRET}@host` },
      secret: new Secret(SECRET),
      error: new NodeError("internal", `x https://a:${SECRET}@b`, { cause: new Error(`http://${SECRET}@c`) }),
    });
    expect(text()).not.toContain(SECRET);
    expect(text()).toContain("<redacted>");
    expect(text()).toContain("host/path");
  });

  test("log lines contain an error with code, stack and causes", () => {
    const { log, text } = logger({ format });
    log.error("it broke", { error: new NodeError("internal", "outer", { cause: new TypeError("inner") }) });
    expect(text()).toContain("NodeError: outer");
    expect(text()).toContain("caused by: TypeError: inner");
  });

  test("log lines show what a terminal would obey as escapes, and all letters as they are", () => {
    const { log, text } = logger({ format });
    const [wild, escaped] = ["a\u009b31m\u202e\u2028\u007f", "a\\u009b31m\\u202e\\u2028\\u007f"];
    const error = Object.assign(new Error("odd"), { stack: `Error: ${wild}` });
    log.info("ü 😀", { clientName: wild, [wild]: 1, tame: "ü 😀", error });
    expect(text()).not.toMatch(/[\u007f-\u009f\u2028\u202e]/);
    expect(text().split(escaped)).toHaveLength(4);
    expect(text().split("ü 😀")).toHaveLength(3);
    if (format === "json") expect(JSON.parse(text())).toMatchObject({ clientName: wild, [wild]: 1, tame: "ü 😀" });
  });

  test("logging any value does not throw", () => {
    const cycle: Record<string, unknown> = {};
    cycle.self = cycle;
    const { log, lines } = logger({ format });
    log.info("odd", { big: 10n, cycle, nothing: undefined, none: null, call: () => 1, nan: Number.NaN });
    expect(lines).toHaveLength(1);
  });

  test("log lines of a child have the fields of its parents", () => {
    const { log, text } = logger({ format });
    log.child({ guildId: "7" }).info("hello", { port: 1 });
    expect(text()).toMatch(/guildId.*7.*port.*1/);
  });
});

test("a text line reads well and cannot be forged", () => {
  const { log, lines } = logger();
  log.info("two\nlines\u001b[31m", { file: "a b", count: 3 });
  expect(lines).toEqual(['1970-01-01 00:00:01.000 INFO  two\n    lines?[31m file="a b" count=3\n']);
});

test("a JSON line is JSON", () => {
  const { log, lines } = logger({ format: "json" });
  log.info("hello", { count: 3 });
  expect(JSON.parse(lines[0] ?? "")).toMatchObject({ msg: "hello", count: 3, time: 1000 });
});

test("the silent logger writes nothing", () => {
  const { log, lines } = logger({ level: "silent" });
  log.error("x");
  expect(lines).toEqual([]);
});

describe.each(["text", "json"] as const)("the buffer of a log as %s", (format) => {
  function buffered(level: LogOptions["level"], write: (log: Logger) => void): readonly LogLine[] {
    const ring = new LogRing();
    write(logger({ format, level, ring }).log);
    return ring.latest();
  }

  test("the buffer has the written lines in readable form, without secrets", () => {
    const lines = buffered("info", (log) => {
      log.debug("not this one");
      log.warn(`proxy http://user:${SECRET}@host is gone`, { token: SECRET, tries: 3 });
    });
    const text = '1970-01-01 00:00:01.000 WARN  proxy http://<redacted>@host is gone token="<redacted>" tries=3';
    expect(lines).toEqual([{ number: 1, epochMs: 1000, level: "warn", text }]);
  });

  test("the buffer has errors with their causes", () => {
    const error = new NodeError("internal", "outer", { cause: new TypeError("inner") });
    const [line] = buffered("info", (log) => log.error("it broke", { error }));
    expect(line?.text).toMatch(
      /^1970-01-01 00:00:01.000 ERROR it broke\n {4}NodeError: outer\n(?:.|\n)*caused by: TypeError: inner/,
    );
  });

  test("the buffer has control characters as escapes", () => {
    const [line] = buffered("info", (log) => log.info("session opened", { clientName: "a\u009b31m" }));
    expect(line?.text).toContain('clientName="a\\u009b31m"');
  });

  test("the buffer is empty when nothing is logged", () => {
    expect(buffered("silent", (log) => log.error("x"))).toEqual([]);
  });
});
