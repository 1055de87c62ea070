import { expect, test } from "vitest";
import { Canary, type Tried } from "../../../../lab/canary/canary.ts";

test("changed options are taken back after a request that could not be made", async () => {
  const steps: string[] = [];
  const reported: Tried[] = [];
  const node = {
    plugins: async () => [],
    sourceNames: async () => ["one"],
    sources: () => Promise.reject(new Error("the node is gone")),
    changeOptions: async () => {
      steps.push("changed");
      return async () => void steps.push("restored");
    },
    load: () => Promise.reject(new Error("not expected")),
    play: () => Promise.reject(new Error("not expected")),
  };
  const tries = { one: { more: [{ link: "one:a", options: { member: "value" } }] } };
  const onTried = (tried: Tried): void => void reported.push(tried);
  await new Canary(node, { tries, only: undefined, pauseMs: 0, onTried }).run();
  expect(steps).toEqual(["changed", "restored"]);
  expect(reported).toMatchObject([{ outcome: "failed", found: "the node is gone" }]);
});
