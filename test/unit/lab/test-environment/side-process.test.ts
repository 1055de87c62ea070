import type { ChildProcess } from "node:child_process";
import { EventEmitter } from "node:events";
import { expect, test } from "vitest";
import { asking } from "../../../../lab/test-environment/side-process.ts";

/** The runner's end of a process whose answers the test makes. */
class FakeChild extends EventEmitter {
  readonly asked: { id: number; request: string }[] = [];

  send(message: { id: number; request: string }): void {
    this.asked.push(message);
  }

  reply(index: number, result: { value?: unknown; error?: string }): void {
    this.emit("message", { id: this.asked[index]?.id, ...result });
  }
}

function create() {
  const child = new FakeChild();
  return { child, ask: asking<string>(child as unknown as ChildProcess) }; // the members used here
}

test("each request to a side process gets its own answer, whatever the order, or its error", async () => {
  const { child, ask } = create();
  const answers = [ask("first"), ask("second"), ask("third")];
  expect(child.asked.map(({ request }) => request)).toEqual(["first", "second", "third"]);
  child.reply(1, { value: 2 });
  child.reply(2, { error: "Error: no" });
  child.reply(0, { value: 1 });
  expect(await Promise.allSettled(answers)).toMatchObject([
    { value: 1 },
    { value: 2 },
    { reason: new Error("Error: no") },
  ]);
});

test("requests that are pending when the side process ends are rejected", async () => {
  const { child, ask } = create();
  const answer = ask("anything");
  child.emit("exit");
  await expect(answer).rejects.toThrow("has ended");
});
