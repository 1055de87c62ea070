import type { IncomingMessage } from "node:http";
import { PassThrough } from "node:stream";
import { expect, test } from "vitest";
import { BodyReader } from "../../../../src/control/server/body-reader.ts";
import { FakeClock } from "../../../support/fake-clock.ts";

function reader() {
  const clock = new FakeClock();
  const nudges: number[] = [];
  const bodies = new BodyReader({
    clock,
    slicer: { next: async () => undefined as never },
    nudge: () => nudges.push(clock.now()),
  });
  const messageOf = (): PassThrough & IncomingMessage =>
    Object.assign(new PassThrough(), { headers: {} }) as unknown as PassThrough & IncomingMessage;
  return { clock, nudges, bodies, messageOf };
}

test("a released body of 4 MiB is worth a collection after 3 s and one more, a thousand small ones are worth none", async () => {
  const { clock, nudges, bodies, messageOf } = reader();
  const startMs = clock.now();
  const readAndRelease = async (sizeBytes: number): Promise<void> => {
    const message = messageOf();
    const text = bodies.read(message, { account: "key one" });
    message.end(Buffer.alloc(sizeBytes, "x"));
    expect((await text).length).toBe(sizeBytes);
    bodies.release(message);
  };
  for (let count = 0; count < 1000; count++) await readAndRelease(1000);
  clock.advance(60_000);
  expect(nudges).toEqual([]);
  await readAndRelease(4 * 1024 * 1024);
  clock.advance(60_000);
  expect(nudges.map((nowMs) => nowMs - startMs)).toEqual([63_000, 70_000]);
});

test("a request whose body was read retains nothing of it, for its connection remembers it", async () => {
  const { bodies, messageOf } = reader();
  const message = messageOf();
  const before = message.eventNames();
  const text = bodies.read(message, { account: "key one" });
  message.end("{}");
  expect(await text).toBe("{}");
  const listeners = (name: string): number => message.listenerCount(name);
  expect(["data", "error", "close"].map(listeners)).toEqual([0, 0, 0]);
  expect(before).toEqual(expect.arrayContaining(message.eventNames()));
});

test("a request that breaks off is its client's mistake", async () => {
  const { bodies, messageOf } = reader();
  const message = messageOf();
  const text = bodies.read(message, { account: "key one" });
  message.write("{");
  message.destroy(new Error("aborted"));
  await expect(text).rejects.toMatchObject({ status: 400 });
});

test("a body that has to make room for another account's is refused with 503", async () => {
  const { clock, bodies, messageOf } = reader();
  const refused: string[] = [];
  const send = (account: string): void => {
    const message = messageOf();
    bodies.read(message, { account }).catch((error: { code: string }) => refused.push(`${account} ${error.code}`));
    message.write(Buffer.alloc(4 * 1024 * 1024 - 1));
  };
  for (let count = 0; count < 11; count++) send("greedy");
  await new Promise(setImmediate);
  clock.advance(100);
  for (let count = 0; count < 6; count++) send("honest");
  await new Promise(setImmediate);
  expect(refused).toEqual(["greedy requests-busy"]);
});
