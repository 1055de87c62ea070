// The variables of what started the node: those by which a service manager (systemd) asks a program to report readiness
// and watchdog heartbeats (sd_notify(3), sd_watchdog_enabled(3)) and names its state directory (systemd.exec(5)), and
// those of npm. Main thread, once at start.

import type { Variables } from "./reading/placeholders.ts";

/** A service manager that expects messages. */
export interface ServiceManager {
  /** The environment that `systemd-notify` needs. */
  readonly env: Variables;
  /** Watchdog timeout: a program without a heartbeat for this long is killed; undefined: no watchdog. */
  readonly watchdogMs: number | undefined;
}

/**
 * Undefined without a service manager. Removes the variables from `env` (default: that of this process), so that no
 * child process of the node can report in its name.
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

/** The first of the state directories that a service manager made for the program; undefined without one. */
export function stateDirectoryOf(env: Variables = process.env): string | undefined {
  return env.STATE_DIRECTORY?.split(":")[0] || undefined;
}

/**
 * True for the process that `npm start` or `npx` runs. Scripts of other packages set the same variables for all that they
 * start, which may be meant to outlive them.
 */
export function isStartedByNpm(env: Variables = process.env): boolean {
  const { npm_lifecycle_event: event, npm_package_name: name } = env;
  return event === "npx" || (event === "start" && name === "tonearm");
}
