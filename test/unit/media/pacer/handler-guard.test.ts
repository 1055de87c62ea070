import { expect, test } from "vitest";
import { createHandlerGuard } from "../../../../src/media/pacer/handler-guard.ts";

const fail = (): never => {
  throw new Error("of the handler");
};

test("an error in a guarded handler goes to its owner, and nested guarded work is named once", () => {
  const log: string[] = [];
  const guardHandler = createHandlerGuard({
    work: (handler) => {
      log.push("named");
      handler();
    },
    onThrown: (error) => log.push(String(error)),
  });
  guardHandler(() => guardHandler(fail)())();
  expect(log).toEqual(["named", "Error: of the handler"]);
});

test("guarded handlers are named again after an error that their owner could not handle", () => {
  let namedCount = 0;
  const guardHandler = createHandlerGuard({
    work: (handler) => {
      namedCount++;
      handler();
    },
    onThrown: (error) => {
      throw error;
    },
  });
  expect(guardHandler(fail)).toThrow("of the handler");
  guardHandler(() => undefined)();
  expect(namedCount).toBe(2);
});
