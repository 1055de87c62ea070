import { expect, test } from "vitest";
import { requesterOf } from "../../../../src/control/dashboard/live-state.ts";

test.each([
  [{ requester: "somebody" }, "somebody"],
  [{ requester: { username: "fox", id: "1" } }, "fox"],
  [{ requester: { id: "1", displayName: " ", globalName: "Fox", username: "fox" } }, "Fox"],
  [{ requester: { id: "100000000000000001" } }, "100000000000000001"],
  [{ requester: 7 }, "7"],
  [{ requester: null }, undefined],
  [{ requester: [{ username: "fox" }] }, undefined],
  [{ requester: { username: { deep: 1 } } }, undefined],
  [{ other: "fox" }, undefined],
  [{ requester: "x".repeat(1000) }, `${"x".repeat(300)}…`],
])("the requester in %j", (userData, name) => {
  expect(requesterOf(userData)).toBe(name);
});
