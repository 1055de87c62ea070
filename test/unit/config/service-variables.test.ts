import { expect, test } from "vitest";
import { takeServiceManager } from "../../../src/config/service-variables.ts";

test("a service manager is known by its socket, and what it has set is taken out of the environment", () => {
  const env = { NOTIFY_SOCKET: "/run/x", WATCHDOG_USEC: "30000000", WATCHDOG_PID: "7", PATH: "/bin", OTHER: "stays" };
  expect(takeServiceManager(env, 7)).toEqual({ env: { NOTIFY_SOCKET: "/run/x", PATH: "/bin" }, watchdogMs: 30_000 });
  expect(env).toEqual({ PATH: "/bin", OTHER: "stays" });
});

test.each([
  ["none asked for", {}],
  ["of another program", { WATCHDOG_USEC: "30000000", WATCHDOG_PID: "8" }],
  ["of no time", { WATCHDOG_USEC: "0" }],
  ["of what is no number", { WATCHDOG_USEC: "often" }],
])("a watchdog %s is none", (_, variables) => {
  const manager = takeServiceManager({ NOTIFY_SOCKET: "@x", ...variables }, 7);
  expect(manager).toMatchObject({ env: { NOTIFY_SOCKET: "@x" }, watchdogMs: undefined });
});

test.each([{}, { NOTIFY_SOCKET: "" }])("without a socket nobody listens: %j", (env) => {
  expect(takeServiceManager({ ...env, WATCHDOG_USEC: "30000000" }, 7)).toBeUndefined();
});
