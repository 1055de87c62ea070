import { describe, expect, test } from "vitest";
import { type LogLine, LogRing } from "../../../src/log/log-ring.ts";

const AREAS_SIZE_BYTES = (256 + 128) * 1024;

function line(text: string, level: LogLine["level"] = "info") {
  return { epochMs: 7, level, written: `${text}\n` };
}

function texts(lines: readonly LogLine[]): string[] {
  return lines.map(({ text }) => text);
}

describe("the buffer of log lines", () => {
  test("the buffer returns log lines unchanged, oldest first, with their numbers", () => {
    const ring = new LogRing();
    ring.keep(line("one"));
    ring.keep(line("zwölf Boxkämpfer 🥊", "error"));
    expect(ring.latest()).toEqual([
      { number: 1, epochMs: 7, level: "info", text: "one" },
      { number: 2, epochMs: 7, level: "error", text: "zwölf Boxkämpfer 🥊" },
    ]);
  });

  test("the buffer keeps the last 500 lines, and the last 200 warnings and errors, however many others arrive", () => {
    const ring = new LogRing();
    for (let index = 1; index <= 250; index++) ring.keep(line(`trouble ${index}`, index % 2 === 0 ? "warn" : "error"));
    for (let index = 1; index <= 600; index++) ring.keep(line(`line ${index}`));
    expect(texts(ring.latest())).toEqual(Array.from({ length: 500 }, (_, index) => `line ${index + 101}`));
    expect(texts(ring.latest("troubles"))).toEqual(Array.from({ length: 200 }, (_, index) => `trouble ${index + 51}`));
  });

  test("the buffer returns the newest lines whole, whatever their lengths", () => {
    const ring = new LogRing();
    const written: string[] = [];
    for (let index = 0; index < 3000; index++) {
      // Lengths that follow no pattern the area's size would hide.
      const text = `${"ä".repeat((index * 7919) % 3500)} ${index}`;
      written.push(text);
      ring.keep(line(text));
      if (index % 97 !== 0) continue;
      const buffered = texts(ring.latest());
      expect(buffered).toEqual(written.slice(-buffered.length));
      const sizeBytes = buffered.reduce((sum, one) => sum + Buffer.byteLength(one) + 1, 0);
      expect(sizeBytes).toBeLessThanOrEqual(256 * 1024);
      // The space behind the last line that did not fit is not used, and is shorter than two lines.
      if (index > 200) expect(sizeBytes).toBeGreaterThan(256 * 1024 - 2 * 8 * 1024);
    }
  });

  test("the buffer cuts a line that is too long between two characters", () => {
    const ring = new LogRing();
    ring.keep(line("🥊".repeat(3000)));
    expect(texts(ring.latest())).toEqual(["🥊".repeat(2048)]);
  });

  test("the buffer takes no more memory for a million lines than for the first", () => {
    const ring = new LogRing();
    const before = process.memoryUsage().arrayBuffers;
    ring.keep(line("first", "error"));
    const first = process.memoryUsage().arrayBuffers;
    expect(first - before).toBeGreaterThanOrEqual(AREAS_SIZE_BYTES);
    // Pieces of something large, which they would keep alive as texts.
    const large = "x".repeat(1_000_000);
    for (let index = 0; index < 1_000_000; index++) {
      ring.keep({ epochMs: 7, level: "warn", written: large.slice(index % 1000, (index % 1000) + 100) });
    }
    expect(process.memoryUsage().arrayBuffers - first).toBeLessThan(AREAS_SIZE_BYTES);
    expect(ring.latest()).toHaveLength(500);
    expect(ring.latest().at(-1)?.number).toBe(1_000_001);
  });

  test("the buffer makes a readable text only on request", () => {
    const ring = new LogRing();
    let reads = 0;
    const read = (written: string): string => {
      reads++;
      return written.toUpperCase();
    };
    ring.keep({ ...line("quiet"), read });
    expect(reads).toBe(0);
    expect(texts(ring.latest())).toEqual(["QUIET"]);
  });
});

describe("a listener to the log", () => {
  test("a listener to the log receives each line until it unsubscribes", () => {
    const ring = new LogRing();
    const seen: LogLine[] = [];
    const end = ring.subscribe((reported) => seen.push(reported));
    ring.keep(line("one"));
    end?.();
    ring.keep(line("two"));
    expect(seen).toEqual(ring.latest().slice(0, 1));
  });

  test("a listener to the log cannot break the caller, nor cause an endless loop", () => {
    const ring = new LogRing();
    const seen: string[] = [];
    ring.subscribe(() => {
      throw new Error("broken");
    });
    ring.subscribe(({ text }) => {
      seen.push(text);
      ring.keep(line(`received ${text}`));
    });
    ring.keep(line("one"));
    ring.keep(line("two"));
    expect(seen).toEqual(["one", "two"]);
    expect(texts(ring.latest())).toEqual(["one", "received one", "two", "received two"]);
  });

  test("is one of 32 at most", () => {
    const ring = new LogRing();
    const ends = Array.from({ length: 32 }, () => ring.subscribe(() => undefined));
    expect(ends).not.toContain(undefined);
    expect(ring.subscribe(() => undefined)).toBeUndefined();
    ends[0]?.();
    expect(ring.subscribe(() => undefined)).toBeDefined();
  });
});
