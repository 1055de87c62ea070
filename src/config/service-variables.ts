// What a service manager (systemd) tells a program that it has started: that it wants to hear when the program is
// ready, and how often that it lives. sd_notify(3), sd_watchdog_enabled(3). Main thread, once at start.

import type { Variables } from "./reading/placeholders.ts";

/** A service manager that listens. */
export interface ServiceManager {
  /** What `systemd-notify` needs of the environment. */
  readonly env: Variables;
  /** A program that is not heard for so long is killed; undefined: it is not watched. */
  readonly watchdogMs: number | undefined;
}

/**
 * Undefined where nobody listens. Takes the variables out of `env` (default: that of this process), so that no program
 * that the node starts speaks in its name.
 */
export function takeServiceManager(
  env: Record<string, string | undefined> = process.env,
  pid: number = process.pid,
): ServiceManager | undefined {
  const { NOTIFY_SOCKET, WATCHDOG_USEC, WATCHDOG_PID, PATH } = env;
  for (const name of ["NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"]) delete env[name];
  if (NOTIFY_SOCKET === undefined || NOTIFY_SOCKET === "") return undefined;
  const isMeant = WATCHDOG_PID === undefined || Number(WATCHDOG_PID) === pid;
  const watchdogMs = Number(WATCHDOG_USEC) / 1000;
  return { env: { NOTIFY_SOCKET, PATH }, watchdogMs: isMeant && watchdogMs > 0 ? watchdogMs : undefined };
}
