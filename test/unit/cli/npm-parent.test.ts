import { expect, test } from "vitest";
import { watchNpmParent } from "../../../src/cli/npm-parent.ts";
import { isStartedByNpm } from "../../../src/config/service-variables.ts";
import { FakeClock } from "../../support/fake-clock.ts";

test("a node is told once when it has another parent", () => {
  const clock = new FakeClock();
  let calls = 0;
  let parent = 7;
  watchNpmParent({ parentId: () => parent, clock }, () => {
    calls += 1;
  });
  clock.advance(10_000);
  expect(calls).toBe(0);
  parent = 1;
  clock.advance(50_000);
  expect(calls).toBe(1);
});

test.each([
  ["npm start in a checkout", { npm_lifecycle_event: "start", npm_package_name: "tonearm" }, true],
  ["npx", { npm_lifecycle_event: "npx" }, true],
  ["a service", {}, false],
  ["a script of a bot", { npm_lifecycle_event: "start", npm_package_name: "my-bot" }, false],
  ["another script", { npm_lifecycle_event: "lavalink", npm_package_name: "tonearm" }, false],
])("a node started by %s is npm's own: %j", (_, env: Record<string, string>, isOwn) => {
  expect(isStartedByNpm(env)).toBe(isOwn);
});
