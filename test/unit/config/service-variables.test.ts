import { expect, test } from "vitest";
import { stateDirectoryOf, takeServiceManager } from "../../../src/config/service-variables.ts";

test("a service manager is found by its socket, and its variables are removed from the environment", () => {
  const env = { NOTIFY_SOCKET: "/run/x", WATCHDOG_USEC: "30000000", WATCHDOG_PID: "7", PATH: "/bin", OTHER: "stays" };
  expect(takeServiceManager(env, 7)).toEqual({ env: { NOTIFY_SOCKET: "/run/x", PATH: "/bin" }, watchdogMs: 30_000 });
  expect(env).toEqual({ PATH: "/bin", OTHER: "stays" });
});

test.each([
  ["that is not set", {}],
  ["of another program", { WATCHDOG_USEC: "30000000", WATCHDOG_PID: "8" }],
  ["of 0", { WATCHDOG_USEC: "0" }],
  ["that is not a number", { WATCHDOG_USEC: "often" }],
])("a watchdog timeout %s is ignored", (_, variables) => {
  const manager = takeServiceManager({ NOTIFY_SOCKET: "@x", ...variables }, 7);
  expect(manager).toMatchObject({ env: { NOTIFY_SOCKET: "@x" }, watchdogMs: undefined });
});

test.each([{}, { NOTIFY_SOCKET: "" }])("there is no service manager without a socket: %j", (env) => {
  expect(takeServiceManager({ ...env, WATCHDOG_USEC: "30000000" }, 7)).toBeUndefined();
});

test("the state directory is the first that a service manager names", () => {
  expect(stateDirectoryOf({ STATE_DIRECTORY: "/var/lib/tonearm:/var/lib/other" })).toBe("/var/lib/tonearm");
  expect([stateDirectoryOf({}), stateDirectoryOf({ STATE_DIRECTORY: "" })]).toEqual([undefined, undefined]);
});
