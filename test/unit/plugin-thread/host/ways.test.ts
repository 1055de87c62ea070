import { beforeEach, describe, expect, test } from "vitest";
import { RemoteError, toWireError } from "../../../../src/bridge/wire-error.ts";
import { NodeError } from "../../../../src/errors.ts";
import { SourceError, type SourceErrorKind, type Way } from "../../../../src/plugin-api/plugin.ts";
import { Ways } from "../../../../src/plugin-thread/host/ways.ts";
import { FakeClock } from "../../../support/fake-clock.ts";

const MINUTE_MS = 60_000;

let clock: FakeClock;
let ways: Ways;
let way: Way;
let reportCount: number;
let lines: { readonly level: string; readonly message: string; readonly fields: object | undefined }[];

beforeEach(() => {
  clock = new FakeClock();
  reportCount = 0;
  lines = [];
  const line = (level: string) => (message: string, fields?: object) => void lines.push({ level, message, fields });
  ways = new Ways(clock, {
    hide: (text) => text.replaceAll("hunter2", "<redacted>"),
    onReport: () => {
      reportCount += 1;
    },
    log: { debug: line("debug"), info: line("info"), warn: line("warn"), error: line("error") },
  });
  way = ways.get("api");
});

async function fail(error: unknown = new SourceError("unreachable", "nobody there")): Promise<unknown> {
  return way
    .take(() => Promise.reject(error))
    .then(
      () => expect.fail("it did not fail"),
      (reason: unknown) => reason,
    );
}

async function failOften(count: number, error?: unknown): Promise<void> {
  for (let index = 0; index < count; index++) await fail(error);
}

const succeed = () => way.take(() => Promise.resolve("fine"));
const report = () => ways.reports[0];

/** How long it stays closed from now on. */
function pauseMs(): number {
  let lengthMs = 0;
  for (; way.isClosed; lengthMs += 1000) clock.advance(1000);
  return lengthMs;
}

describe("a way that fails", () => {
  test("is closed by the fifth failure in a row, for 30 s", async () => {
    await failOften(4);
    await succeed();
    await failOften(4);
    expect(way.isClosed).toBe(false);
    await fail();
    expect(way.isClosed).toBe(true);
    expect(report()).toMatchObject({
      state: "closed",
      failed: 9,
      succeeded: 1,
      closedUntilMs: clock.epochMs() + 30_000,
    });
    expect(pauseMs()).toBe(30_000);
  });

  test("is not taken while it is closed, and says why", async () => {
    await failOften(5);
    let isTaken = false;
    const taken = way.take(async () => {
      isTaken = true;
    });
    const text = "api is left alone for a while; the last time: nobody there";
    await expect(taken).rejects.toMatchObject({ kind: "busy", message: text });
    expect(isTaken).toBe(false);
  });

  test("is tried with one attempt after its pause, and opened by it", async () => {
    await failOften(5);
    clock.advance(30_000);
    let finish = (_value: string): void => undefined;
    const attempt = way.take(() => new Promise<string>((resolve) => (finish = resolve)));
    expect(report()?.state).toBe("probing");
    await expect(succeed()).rejects.toMatchObject({ kind: "busy" });
    finish("fine");
    expect(await attempt).toBe("fine");
    expect(report()).toMatchObject({ state: "open", closedUntilMs: undefined });
    await failOften(4);
    expect(way.isClosed).toBe(false);
  });

  test("is left alone twice as long by each failed attempt, 30 minutes at most, until it succeeds", async () => {
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

  test("is tried by somebody else when an attempt does not end within a minute", async () => {
    await failOften(5);
    clock.advance(30_000);
    let give = (_error: Error): void => undefined;
    const hanging = way.take(() => new Promise<string>((_resolve, reject) => (give = reject)));
    clock.advance(MINUTE_MS - 1);
    expect(way.isClosed).toBe(true);
    clock.advance(1);
    expect(way.isClosed).toBe(false);
    const second = way.take(() => new Promise<string>(() => undefined));
    void second;
    // The first one's end does not end the second one's turn.
    give(new DOMException("gone", "AbortError"));
    await expect(hanging).rejects.toThrow("gone");
    expect(report()?.state).toBe("probing");
  });

  test("is closed at once for as long as the site asks for", async () => {
    await fail(new SourceError("busy", "429", { retryAfterMs: 90_000 }));
    expect(pauseMs()).toBe(90_000);
  });

  test("is closed for half an hour where the site asks for more, and never for less than its own pause", async () => {
    await fail(new SourceError("busy", "429", { retryAfterMs: 24 * 3_600_000 }));
    expect(pauseMs()).toBe(30 * MINUTE_MS);
    await succeed();
    await failOften(4);
    await fail(new SourceError("busy", "429", { retryAfterMs: 1000 }));
    expect(pauseMs()).toBe(30_000);
  });

  test("is in the log once when it is closed and once when it works again, whatever was tried between", async () => {
    await failOften(4);
    expect(lines).toEqual([]);
    await fail(new SourceError("unreachable", "nobody there, hunter2"));
    const fields = { way: "api", pauseMs: 30_000, failuresInRow: 5, reason: "nobody there, <redacted>" };
    expect(lines).toEqual([{ level: "warn", message: "a way to a site is left alone for a while", fields }]);
    for (let index = 0; index < 5; index++) {
      pauseMs();
      await fail();
    }
    expect(lines).toHaveLength(1);
    pauseMs();
    await succeed();
    await succeed();
    const again = { level: "info", message: "a way to a site works again", fields: { way: "api" } };
    expect(lines.slice(1)).toEqual([again]);
    await fail(new SourceError("busy", "429", { retryAfterMs: 90_000 }));
    expect(lines[2]).toMatchObject({ level: "warn", fields: { pauseMs: 90_000, failuresInRow: 1, reason: "429" } });
  });

  test("keeps the first words of what happened last, without secrets", async () => {
    await fail(new Error(`hunter2 token=abcdef0123456789 ${"x".repeat(1000)}`));
    expect(report()?.lastError).toMatch(/^<redacted> token=<redacted> x+$/);
    expect(report()?.lastError).toHaveLength(300);
  });
});

describe("what does not count", () => {
  test.each<SourceErrorKind>(["not-found", "unavailable", "invalid"])("%s is an answer", async (kind) => {
    await failOften(4);
    await fail(new SourceError(kind, "private"));
    await failOften(4);
    expect(way.isClosed).toBe(false);
    expect(report()).toMatchObject({ succeeded: 1, failed: 8 });
  });

  test("an answer of a plugin that has its own copy of the interface is one, too", async () => {
    const foreign = Object.assign(new Error("private"), { name: "SourceError", kind: "unavailable" });
    await failOften(9, foreign);
    expect(report()).toMatchObject({ state: "open", succeeded: 9, failed: 0 });
  });

  test("whoever went away tells nothing of the site", async () => {
    await failOften(9, new DOMException("gone", "AbortError"));
    expect(report()).toMatchObject({ state: "open", succeeded: 0, failed: 0 });
    await failOften(5);
    clock.advance(30_000);
    await fail(new DOMException("gone", "AbortError"));
    // The next attempt tells.
    expect(way.isClosed).toBe(false);
    await succeed();
    expect(report()?.state).toBe("open");
  });

  test.each<SourceErrorKind>(["busy", "changed", "unreachable"])("%s counts", async (kind) => {
    await failOften(5, new SourceError(kind, "no"));
    expect(way.isClosed).toBe(true);
  });
});

describe("ways", () => {
  test("are the same by the same name, and at most 64", () => {
    expect(ways.get("api")).toBe(way);
    for (let index = 1; index < 64; index++) ways.get(`way ${index}`);
    expect(() => ways.get("one more")).toThrow("more than 64 ways");
    expect(ways.get("way 63").name).toBe("way 63");
    expect(ways.reports).toHaveLength(64);
  });

  test("say each time that there is something to report", async () => {
    await succeed();
    await fail();
    expect(reportCount).toBe(2);
  });
});

test("a request that no address was left to be sent from says nothing about the way", async () => {
  const error = toWireError(new NodeError("routes-exhausted", "every address is barred"));
  const unsent = new SourceError("busy", error.message, { cause: new RemoteError(error) });
  await failOften(9, unsent);
  expect(report()).toMatchObject({ state: "open", failed: 0, succeeded: 0 });
  // The site's own refusal does.
  await failOften(
    5,
    new SourceError("busy", "tried from 3 addresses", { cause: new NodeError("routes-exhausted", "") }),
  );
  expect(report()).toMatchObject({ state: "closed", failed: 5 });
});
