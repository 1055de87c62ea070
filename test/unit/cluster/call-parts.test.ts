import { randomBytes } from "node:crypto";
import { expect, test } from "vitest";
import { CALL_ID_BYTES, cutIntoParts, PartCollector, TEXT_SIZE_MAX_BYTES } from "../../../src/cluster/call-parts.ts";
import { FakeClock } from "../../support/fake-clock.ts";

const PAYLOAD_MAX = 1024;

function parts(size: number, payloadMax = PAYLOAD_MAX) {
  const callId = randomBytes(CALL_ID_BYTES);
  const sealed = randomBytes(size);
  return { callId, sealed, messages: cutIntoParts(callId, sealed, payloadMax) };
}

test.each([0, 1, 1000, 1001, 5000])("a text of %i bytes is put together from its parts", (size) => {
  const collector = new PartCollector(new FakeClock());
  const { callId, sealed, messages } = parts(size);
  expect(messages.every((message) => message.length <= PAYLOAD_MAX)).toBe(true);
  const wholes = messages.map((message) => collector.add(message));
  expect(wholes.slice(0, -1).every((whole) => whole === undefined)).toBe(true);
  expect(Buffer.compare(wholes.at(-1)?.sealed ?? Buffer.from("none"), sealed)).toBe(0);
  expect(Buffer.from(wholes.at(-1)?.callId ?? "").equals(callId)).toBe(true);
});

test("the parts of several texts may come mixed", () => {
  const collector = new PartCollector(new FakeClock());
  const [one, two] = [parts(3000), parts(3000)];
  const wholes = one.messages.flatMap((message, index) => [message, two.messages[index]!]).map((m) => collector.add(m));
  expect(wholes.filter((whole) => whole !== undefined)).toHaveLength(2);
});

test("a text whose part is missing, twice there or of another length is dropped", () => {
  const collector = new PartCollector(new FakeClock());
  const gap = parts(3000).messages.toSpliced(1, 1);
  const twice = parts(3000).messages;
  const other = parts(3000);
  const shorter = cutIntoParts(other.callId, other.sealed, PAYLOAD_MAX * 2);
  for (const messages of [gap, [twice[0]!, twice[1]!, ...twice.slice(1)], [other.messages[0]!, ...shorter.slice(1)]]) {
    expect(messages.map((message) => collector.add(message)).every((whole) => whole === undefined)).toBe(true);
  }
});

test("messages that are no parts are dropped", () => {
  const collector = new PartCollector(new FakeClock());
  const [first] = parts(3000).messages;
  const endless = Buffer.from(first!);
  endless.writeUInt32BE(0xffff_ffff, CALL_ID_BYTES + 4);
  for (const message of [Buffer.alloc(0), Buffer.alloc(23), Buffer.alloc(30), endless]) {
    expect(collector.add(message)).toBeUndefined();
  }
});

test("an incomplete text is dropped after a while", () => {
  const clock = new FakeClock();
  const collector = new PartCollector(clock);
  const { messages } = parts(3000);
  for (const message of messages.slice(0, -1)) collector.add(message);
  clock.advance(30_000);
  expect(collector.add(messages.at(-1)!)).toBeUndefined();
});

test("beyond 256 incomplete texts no other begins until one has ended", () => {
  const clock = new FakeClock();
  const collector = new PartCollector(clock);
  const many = Array.from({ length: 257 }, () => parts(2000));
  for (const { messages } of many) collector.add(messages[0]!);
  const rest = (index: number) =>
    many[index]!.messages.slice(1)
      .map((message) => collector.add(message))
      .at(-1);
  expect(rest(256)).toBeUndefined();
  expect(rest(255)).toBeDefined();
  expect(many[256]!.messages.map((message) => collector.add(message)).at(-1)).toBeDefined();
});

test("a text of more than 32 MiB, or texts of more than 128 MiB together, are not kept", () => {
  const collector = new PartCollector(new FakeClock());
  const large = parts(TEXT_SIZE_MAX_BYTES + 1, 1024 * 1024);
  expect(large.messages.map((message) => collector.add(message)).every((whole) => whole === undefined)).toBe(true);
  const many = Array.from({ length: 5 }, () => parts(TEXT_SIZE_MAX_BYTES, 1024 * 1024).messages);
  for (const messages of many) for (const message of messages.slice(0, -1)) collector.add(message);
  const wholes = many.map((messages) => collector.add(messages.at(-1)!));
  expect(wholes.filter((whole) => whole !== undefined).length).toBeLessThan(5);
  expect(wholes.filter((whole) => whole !== undefined).length).toBeGreaterThan(2);
});
