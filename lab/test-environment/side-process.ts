// Requests and answers between a runner and a side process, over IPC: its measurements must not be slowed down by the
// runner's work, nor cost the node under test anything. Both ends are compiled with the same types.

import type { ChildProcess } from "node:child_process";

interface Reply {
  readonly id: number;
  readonly value?: unknown;
  readonly error?: string;
}

/**
 * The runner's end: sends requests to `child`, which may still be starting. Rejects with the error there, or when it
 * ends.
 */
export function asking<Request>(child: ChildProcess): (request: Request) => Promise<unknown> {
  const waiting = new Map<number, { resolve: (value: unknown) => void; reject: (error: Error) => void }>();
  let count = 0;
  child.on("message", (message) => {
    const { id, value, error } = message as Reply; // sent by `answering`
    if (error === undefined) waiting.get(id)?.resolve(value);
    else waiting.get(id)?.reject(new Error(error));
    waiting.delete(id);
  });
  child.once("exit", () => {
    for (const { reject } of waiting.values()) reject(new Error("the side process has ended"));
  });
  return (request) =>
    new Promise((resolve, reject) => {
      const id = ++count;
      waiting.set(id, { resolve, reject });
      child.send({ id, request }, (error) => error && reject(error));
    });
}

/** The side process's end, called once all is ready: answers until the runner has ended, and ends with it. */
export function answering<Request>(answer: (request: Request) => unknown): void {
  process.on("message", (message) => {
    const { id, request } = message as { id: number; request: Request }; // sent by `asking`
    const reply = (result: Omit<Reply, "id">) => process.send?.({ id, ...result });
    new Promise((resolve) => resolve(answer(request))).then(
      (value) => reply({ value }),
      (error: unknown) => reply({ error: String(error) }),
    );
  });
  process.on("disconnect", () => process.exit(0));
}
