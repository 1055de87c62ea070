import { MessageChannel } from "node:worker_threads";
import { expect, test } from "vitest";
import { EarlyPort } from "../../../src/media/early-port.ts";

interface Numbered {
  readonly type: "close";
  readonly number: number;
}

test("messages that arrive before there is a listener wait, in order, until the listener is set up", async () => {
  const { port1, port2 } = new MessageChannel();
  let firstCount = 0;
  const port = await new Promise<EarlyPort<Numbered>>((resolve) => {
    const early: EarlyPort<Numbered> = new EarlyPort(port1, () => {
      firstCount += 1;
      resolve(early);
    });
    for (const number of [1, 2, 3]) port2.postMessage({ type: "close", number });
  });
  let isPutTogether = false;
  const received = await new Promise<number[]>((resolve) => {
    const numbers: number[] = [];
    port.on("message", (message) => {
      expect(isPutTogether).toBe(true);
      if (message.type === "close" && numbers.push(message.number) === 5) resolve(numbers);
    });
    isPutTogether = true;
    for (const number of [4, 5]) port2.postMessage({ type: "close", number });
  });
  expect([received, firstCount]).toEqual([[1, 2, 3, 4, 5], 1]);
  port1.close();
});
