import { beforeEach, describe, expect, test } from "vitest";
import { RemoteError, toWireError } from "../../../../../src/bridge/wire-error.ts";
import { NodeError } from "../../../../../src/errors.ts";
import { type Backend, SourceError, type SourceErrorKind } from "../../../../../src/plugin-api/plugin.ts";
import { Backends } from "../../../../../src/plugin-host/runtime/host/backends.ts";
import { Semaphore } from "../../../../../src/plugin-host/runtime/host/semaphore.ts";
import { FakeClock } from "../../../../support/fake-clock.ts";

const MINUTE_MS = 60_000;

let clock: FakeClock;
let backends: Backends;
let backend: Backend;
let reportCount: number;
let lines: { readonly level: string; readonly message: string; readonly fields: object | undefined }[];

beforeEach(() => {
  clock = new FakeClock();
  reportCount = 0;
  lines = [];
  const line = (level: string) => (message: string, fields?: object) => void lines.push({ level, message, fields });
  backends = new Backends(clock, {
    plugin: "songs",
    hide: (text) => text.replaceAll("hunter2", "<redacted>"),
    onReport: () => {
      reportCount += 1;
    },
    log: { debug: line("debug"), info: line("info"), warn: line("warn"), error: line("error") },
  });
  backend = backends.get("api");
});

async function fail(error: unknown = new SourceError("unreachable", "nobody there")): Promise<unknown> {
  return backend
    .run(() => Promise.reject(error))
    .then(
      () => expect.fail("it did not fail"),
      (reason: unknown) => reason,
    );
}

async function failOften(count: number, error?: unknown): Promise<void> {
  for (let index = 0; index < count; index++) await fail(error);
}

const succeed = () => backend.run(() => Promise.resolve("fine"));
const report = () => backends.reports[0];

/** How long the breaker stays open from now on. */
function pauseMs(): number {
  let lengthMs = 0;
  for (; backend.isOpen; lengthMs += 1000) clock.advance(1000);
  return lengthMs;
}

describe("a backend that fails", () => {
  test("a backend opens its breaker with the fifth failure in a row, for 30 s", async () => {
    await failOften(4);
    await succeed();
    await failOften(4);
    expect(backend.isOpen).toBe(false);
    await fail();
    expect(backend.isOpen).toBe(true);
    expect(report()).toMatchObject({
      state: "open",
      failed: 9,
      succeeded: 1,
      openUntilMs: clock.epochMs() + 30_000,
    });
    expect(pauseMs()).toBe(30_000);
  });

  test("a backend refuses requests while its breaker is open, and reports why and until when", async () => {
    await failOften(5);
    let isRun = false;
    const refused = backend.run(async () => {
      isRun = true;
    });
    const until = new Date(clock.epochMs() + 30_000).toISOString();
    const why = "after 5 failures in a row; last error: nobody there";
    const text = `the circuit breaker for api is open until ${until}, ${why}`;
    await expect(refused).rejects.toMatchObject({ kind: "busy", message: text });
    expect(isRun).toBe(false);
  });

  test("a backend gets one trial request after its pause, which closes the breaker", async () => {
    await failOften(5);
    clock.advance(30_000);
    let finish = (_value: string): void => undefined;
    const attempt = backend.run(() => new Promise<string>((resolve) => (finish = resolve)));
    expect(report()?.state).toBe("halfOpen");
    const text = "the circuit breaker for api is open until its trial request succeeds, after 5 failures in a row";
    await expect(succeed()).rejects.toMatchObject({ kind: "busy", message: `${text}; last error: nobody there` });
    finish("fine");
    expect(await attempt).toBe("fine");
    expect(report()).toMatchObject({ state: "closed", openUntilMs: undefined });
    await failOften(4);
    expect(backend.isOpen).toBe(false);
  });

  test("a backend doubles its pause with each failed trial, up to 30 minutes, until one succeeds", async () => {
    await failOften(5);
    const pauses: number[] = [];
    for (let index = 0; index < 9; index++) {
      pauses.push(pauseMs() / 1000);
      await fail();
    }
    expect(pauses).toEqual([30, 60, 120, 240, 480, 960, 1800, 1800, 1800]);
    pauseMs();
    await succeed();
    await failOften(5);
    expect(pauseMs()).toBe(30_000);
  });

  test("a backend gets another trial request when the first does not end within a minute", async () => {
    await failOften(5);
    clock.advance(30_000);
    let give = (_error: Error): void => undefined;
    const hanging = backend.run(() => new Promise<string>((_resolve, reject) => (give = reject)));
    clock.advance(MINUTE_MS - 1);
    expect(backend.isOpen).toBe(true);
    clock.advance(1);
    expect(backend.isOpen).toBe(false);
    const second = backend.run(() => new Promise<string>(() => undefined));
    void second;
    // The end of the first trial does not end the second.
    give(new DOMException("gone", "AbortError"));
    await expect(hanging).rejects.toThrow("gone");
    expect(report()?.state).toBe("halfOpen");
  });

  test("a backend opens its breaker at once for as long as the site requests", async () => {
    await fail(new SourceError("busy", "429", { retryAfterMs: 90_000 }));
    expect(pauseMs()).toBe(90_000);
  });

  test("a backend opens its breaker for half an hour at most, and never for less than the usual pause", async () => {
    await fail(new SourceError("busy", "429", { retryAfterMs: 24 * 3_600_000 }));
    expect(pauseMs()).toBe(30 * MINUTE_MS);
    await succeed();
    await failOften(4);
    await fail(new SourceError("busy", "429", { retryAfterMs: 1000 }));
    expect(pauseMs()).toBe(30_000);
  });

  test("a backend logs once when its breaker opens and once when it closes, however many trials were between", async () => {
    await failOften(4);
    expect(lines).toEqual([]);
    await fail(new SourceError("unreachable", "nobody there, hunter2"));
    const fields = { backend: "api", pauseMs: 30_000, failuresInRow: 5, reason: "nobody there, <redacted>" };
    const message = "circuit breaker opened for songs/api: 5 failures in a row, retry in 30 s";
    expect(lines).toEqual([{ level: "warn", message, fields }]);
    for (let index = 0; index < 5; index++) {
      pauseMs();
      await fail();
    }
    expect(lines).toHaveLength(1);
    pauseMs();
    await succeed();
    await succeed();
    const again = { level: "info", message: "circuit breaker closed for songs/api", fields: { backend: "api" } };
    expect(lines.slice(1)).toEqual([again]);
    await fail(new SourceError("busy", "429", { retryAfterMs: 90_000 }));
    const once = "circuit breaker opened for songs/api: 1 failure, retry in 90 s";
    expect(lines[2]).toMatchObject({
      level: "warn",
      message: once,
      fields: { pauseMs: 90_000, failuresInRow: 1, reason: "429" },
    });
  });

  test("a backend reports the start of the last error, without secrets", async () => {
    await fail(new Error(`hunter2 token=abcdef0123456789 ${"x".repeat(1000)}`));
    expect(report()?.lastError).toMatch(/^<redacted> token=<redacted> x+$/);
    expect(report()?.lastError).toHaveLength(300);
  });
});

describe("errors that do not count", () => {
  test.each<SourceErrorKind>(["not-found", "unavailable", "invalid"])(
    "the error kind %s counts as an answer of the backend",
    async (kind) => {
      await failOften(4);
      await fail(new SourceError(kind, "private"));
      await failOften(4);
      expect(backend.isOpen).toBe(false);
      expect(report()).toMatchObject({ succeeded: 1, failed: 8 });
    },
  );

  test("an error of a plugin's own copy of the interface is recognised as an answer, too", async () => {
    const foreign = Object.assign(new Error("private"), { name: "SourceError", kind: "unavailable" });
    await failOften(9, foreign);
    expect(report()).toMatchObject({ state: "closed", succeeded: 9, failed: 0 });
  });

  test("a caller that stopped waiting does not count for or against the backend", async () => {
    await failOften(9, new DOMException("gone", "AbortError"));
    expect(report()).toMatchObject({ state: "closed", succeeded: 0, failed: 0 });
    await failOften(5);
    clock.advance(30_000);
    await fail(new DOMException("gone", "AbortError"));
    // The next trial decides.
    expect(backend.isOpen).toBe(false);
    await succeed();
    expect(report()?.state).toBe("closed");
  });

  test.each<SourceErrorKind>(["busy", "changed", "unreachable"])(
    "the error kind %s counts as a failure of the backend",
    async (kind) => {
      await failOften(5, new SourceError(kind, "no"));
      expect(backend.isOpen).toBe(true);
    },
  );
});

describe("backends", () => {
  test("backends with the same name are the same, and there are at most 64", () => {
    expect(backends.get("api")).toBe(backend);
    for (let index = 1; index < 64; index++) backends.get(`backend ${index}`);
    expect(() => backends.get("one more")).toThrow("more than 64 backends");
    expect(backends.get("backend 63").name).toBe("backend 63");
    expect(backends.reports).toHaveLength(64);
  });

  test("backends signal each change to report", async () => {
    await succeed();
    await fail();
    expect(reportCount).toBe(2);
  });
});

test("a request that waits for too long, or gives way to others, does not count for or against the backend", async () => {
  const signal = new AbortController().signal;
  const semaphore = new Semaphore(clock, { runningMax: 1, waitingMax: 0, yieldAfterMs: 1000, what: "requests" });
  void semaphore.run(() => new Promise(() => undefined), { signal });
  for (let count = 0; count < 9; count++) {
    const refused = backend.run(() => semaphore.run(() => Promise.resolve(), { signal }));
    await expect(refused).rejects.toMatchObject({ kind: "busy", message: expect.stringContaining("more than 0") });
  }
  expect(report()).toMatchObject({ state: "closed", failed: 0, succeeded: 0 });
});

test("a request without an address to send from does not count for or against the backend", async () => {
  const error = toWireError(new NodeError("routes-exhausted", "every address is barred"));
  const unsent = new SourceError("busy", error.message, { cause: new RemoteError(error) });
  await failOften(9, unsent);
  expect(report()).toMatchObject({ state: "closed", failed: 0, succeeded: 0 });
  // The site's own refusal does.
  await failOften(
    5,
    new SourceError("busy", "tried from 3 addresses", { cause: new NodeError("routes-exhausted", "") }),
  );
  expect(report()).toMatchObject({ state: "open", failed: 5 });
});
