import { expect, test } from "vitest";
import { seededRandom } from "../../../../lab/seeded-random.ts";
import { QUEUE_COUNT_MAX, ResumeQueue, topicOf } from "../../../../src/control/sessions/resume-queue.ts";
import { ByteBudget } from "../../../../src/lib/byte-budget.ts";

const SIZE_MAX_BYTES = 8 * 1024 * 1024;

function sizeOf(messages: readonly { readonly text: string }[]): number {
  return messages.reduce((sum, { text }) => sum + Buffer.byteLength(text), 0);
}

test("events of the node are told apart by type, those of extensions are one topic of a player", () => {
  const extension = (type: string, guildId: string) => topicOf({ op: "extension", type, guildId, members: {} });
  expect(extension("SegmentSkipped", "7")).toBe(extension("ChapterStarted", "7"));
  expect(extension("SegmentSkipped", "7")).not.toBe(extension("SegmentSkipped", "8"));
  const closed = {
    op: "event",
    type: "WebSocketClosedEvent",
    guildId: "7",
    code: 1000,
    reason: "",
    byRemote: false,
  } as const;
  expect(topicOf(closed)).not.toBe(extension("SegmentSkipped", "7"));
});

test("up to the bound all messages are buffered, and drained once", () => {
  const queue = new ResumeQueue();
  for (let index = 0; index < QUEUE_COUNT_MAX; index++) queue.push({ topic: "a", text: String(index) });
  expect(queue.droppedCount).toBe(0);
  expect(queue.drain().map(({ text }) => Number(text))).toEqual(Array.from({ length: QUEUE_COUNT_MAX }, (_, at) => at));
  expect(queue.drain()).toEqual([]);
});

test("one message above the bound drops the older half", () => {
  const queue = new ResumeQueue();
  for (let index = 0; index <= QUEUE_COUNT_MAX; index++) queue.push({ topic: "a", text: String(index) });
  expect(queue.droppedCount).toBe(Math.ceil((QUEUE_COUNT_MAX + 1) / 2));
  expect(queue.drain().at(-1)?.text).toBe(String(QUEUE_COUNT_MAX));
});

test("large messages are bounded by their size, and the newest stays", () => {
  const queue = new ResumeQueue();
  // Two bytes a letter: bytes count, not letters.
  for (let index = 0; index < 100; index++) queue.push({ topic: "a", text: `${index} ${"é".repeat(500_000)}` });
  const retained = queue.drain();
  expect(sizeOf(retained)).toBeLessThanOrEqual(SIZE_MAX_BYTES);
  expect(retained.at(-1)?.text.startsWith("99 ")).toBe(true);
  expect(queue.droppedCount + retained.length).toBe(100);
});

test("more topics than the bound allows are all retained, each with its newest message", () => {
  const queue = new ResumeQueue();
  const topicCount = QUEUE_COUNT_MAX * 3;
  for (let round = 0; round < 4; round++) {
    for (let topic = 0; topic < topicCount; topic++) queue.push({ topic: String(topic), text: `${topic} ${round}` });
  }
  const retained = queue.drain();
  const newest = new Map(retained.map(({ topic, text }) => [topic, text]));
  expect(newest.size).toBe(topicCount);
  for (const [topic, text] of newest) expect(text).toBe(`${topic} 3`);
  expect(retained.length).toBeLessThanOrEqual(topicCount * 4);
});

test("for any messages the newest of each topic is retained, none is reordered or doubled, and the bound holds", () => {
  const seed = Date.now() % 2 ** 32;
  console.log(`seed ${seed}`);
  const random = seededRandom(seed);
  for (let run = 0; run < 20; run++) {
    const queue = new ResumeQueue();
    const newest = new Map<string, number>();
    const topicCount = 1 + Math.floor(random() * 300);
    const count = Math.floor(random() * 12_000);
    for (let index = 0; index < count; index++) {
      const topic = String(Math.floor(random() ** 3 * topicCount));
      newest.set(topic, index);
      queue.push({ topic, text: String(index) });
    }
    const retained = queue.drain();
    const order = retained.map(({ text }) => Number(text));
    expect(order).toEqual([...new Set(order)].sort((first, second) => first - second));
    expect(new Map(retained.map(({ topic, text }) => [topic, Number(text)]))).toEqual(newest);
    expect(retained.length).toBeLessThanOrEqual(QUEUE_COUNT_MAX);
    expect(retained.length + queue.droppedCount).toBe(count);
  }
});

test("buffered messages are taken from the session's memory, and the older half is dropped when that is used up", () => {
  const memory = new ByteBudget({ owner: "the session", limitBytes: 1000 });
  const queue = new ResumeQueue(memory);
  for (let index = 0; index < 100; index++) queue.push({ topic: String(index), text: String(index).padEnd(99) });
  expect(memory.usedBytes).toBeLessThanOrEqual(1000);
  queue.push({ topic: "large", text: "x".repeat(1001) });
  queue.push({ topic: "last", text: "last" });
  const retained = queue.drain();
  expect(retained.map(({ topic }) => topic)).toEqual(["last"]);
  expect(queue.droppedCount).toBe(101);
  expect(memory.usedBytes).toBe(0);
});
