import { expect, test } from "vitest";
import { StandardOutput } from "../../../src/log/standard-output.ts";

type Done = (error?: Error | null) => void;

/** A stream whose reader is controlled by a test. */
class FakeStream {
  writableLength = 0;
  readonly taken: string[] = [];
  readonly #waiting: { readonly bytes: Uint8Array; readonly done: Done }[] = [];

  on(): this {
    return this;
  }

  write(bytes: Uint8Array, done: Done): boolean {
    this.writableLength += bytes.length;
    this.#waiting.push({ bytes, done });
    return true;
  }

  /** Takes all that waits, or refuses it. */
  empty(error: Error | null = null): void {
    for (const { bytes, done } of this.#waiting.splice(0)) {
      this.writableLength -= bytes.length;
      if (error === null) this.taken.push(Buffer.from(bytes).toString());
      done(error);
    }
  }
}

function setUp() {
  const stream = new FakeStream();
  const lost: string[] = [];
  // The fake has the used part of a stream's interface.
  const output = new StandardOutput(stream as never, (reason) => lost.push(reason));
  output.reportDropped((count) => output.write(`${count} dropped`));
  return { stream, output, lost };
}

const LINE = `${"ä".repeat(50_000)}\n`;

test("unread texts are buffered up to a bound in bytes, and further ones are dropped and reported", () => {
  const { stream, output, lost } = setUp();
  for (let count = 0; count < 1000; count++) output.write(LINE);
  expect(stream.writableLength).toBeLessThanOrEqual(1024 * 1024);
  expect(stream.writableLength).toBeGreaterThan(1024 * 1024 - 100_001);
  expect(lost).toEqual(["it is not being read"]);
  stream.empty();
  stream.empty();
  expect(stream.taken.slice(10)).toEqual(["990 dropped"]);
  output.write("a");
  stream.empty();
  expect(stream.taken.slice(11)).toEqual(["a"]);
});

test("one text may be longer than the bound", () => {
  const { stream, output } = setUp();
  output.write("x".repeat(3_000_000));
  stream.empty();
  expect(stream.taken[0]).toHaveLength(3_000_000);
});

test("texts that are refused are counted until the telling itself is taken", () => {
  const { stream, output, lost } = setUp();
  const full = Object.assign(new Error("no space"), { code: "ENOSPC" });
  for (let count = 0; count < 5; count++) {
    output.write("x");
    stream.empty(full);
  }
  output.write("back");
  stream.empty();
  // The disk is full again before the telling.
  stream.empty(full);
  output.write("again");
  stream.empty();
  stream.empty();
  expect(stream.taken).toEqual(["back", "again", "6 dropped"]);
  expect(lost).toEqual(["writing fails with ENOSPC", "writing fails with ENOSPC"]);
});
