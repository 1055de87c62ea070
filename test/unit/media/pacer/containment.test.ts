import { expect, test } from "vitest";
import { createContainment } from "../../../../src/media/pacer/containment.ts";

const fail = (): never => {
  throw new Error("of the handler");
};

test("a handler's error goes to its owner, and work within work is named once", () => {
  const log: string[] = [];
  const contain = createContainment({
    work: (handler) => {
      log.push("named");
      handler();
    },
    onThrown: (error) => log.push(String(error)),
  });
  contain(() => contain(fail)())();
  expect(log).toEqual(["named", "Error: of the handler"]);
});

test("handlers are named again after an error that its owner could not take", () => {
  let namedCount = 0;
  const contain = createContainment({
    work: (handler) => {
      namedCount++;
      handler();
    },
    onThrown: (error) => {
      throw error;
    },
  });
  expect(contain(fail)).toThrow("of the handler");
  contain(() => undefined)();
  expect(namedCount).toBe(2);
});
