// Reports start, watchdog heartbeats and shutdown to systemd. Node.js cannot send datagrams to Unix sockets, and
// packages that can need a compiler, so `systemd-notify` sends them. It runs from one shell that is started once,
// because forking a large process every 15 s blocks its thread; hence `NotifyAccess=all`. Messages that systemd does
// not take are dropped, never queued. Loaded only with `NOTIFY_SOCKET`. Main thread, whose hang stops the watchdog.

import { type ChildProcessByStdio, spawn } from "node:child_process";
import type { Writable } from "node:stream";
import type { ServiceManager } from "../config/service-variables.ts";
import type { Clock, Timer } from "../lib/clock.ts";
import type { Logger } from "../log/log.ts";

/**
 * Ends when its input does, not by the signal that ends the node: it has the last word to pass on. A word that was not
 * taken ends it too, so that the node learns of it.
 */
const SCRIPT = `trap '' INT TERM; while IFS= read -r word; do systemd-notify -- "$word" || exit; done`;

type Shell = ChildProcessByStdio<Writable, null, null>;

export interface ServiceNotifierOptions {
  readonly manager: ServiceManager;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Messages are lost when the service manager cannot be reached; that is logged once, and the node keeps running. */
export class ServiceNotifier {
  readonly #manager: ServiceManager;
  readonly #clock: Clock;
  readonly #logger: Logger;
  #shell: Shell | undefined;
  #timer: Timer | undefined;
  #isTroubleReported = false;
  #isClosed = false;

  constructor({ manager, clock, logger }: ServiceNotifierOptions) {
    this.#manager = manager;
    this.#clock = clock;
    this.#logger = logger;
  }

  /** The node serves; from now on it says that it lives, twice in the time after which it would be killed. */
  ready(status: string): void {
    this.#say(`STATUS=${status}`, "READY=1");
    const { watchdogMs } = this.#manager;
    if (watchdogMs !== undefined) this.#live(watchdogMs / 2);
  }

  /** Reports that the node is about to close; heartbeats continue. */
  stopping(): void {
    this.#say("STOPPING=1", "STATUS=closing");
  }

  /** Sends no further messages; those already sent still arrive. May be called more than once. */
  close(): void {
    this.#isClosed = true;
    this.#timer?.cancel();
    this.#shell?.stdin.end();
  }

  #live(intervalMs: number): void {
    this.#timer = this.#clock.after(intervalMs, () => {
      this.#say("WATCHDOG=1");
      this.#live(intervalMs);
    });
  }

  #say(...words: readonly string[]): void {
    if (this.#isClosed) return;
    this.#shell ??= this.#startShell();
    // Messages do not pile up when the manager reads nothing for a day.
    if (this.#shell.stdin.writableNeedDrain) return;
    this.#shell.stdin.write(`${words.join("\n")}\n`);
  }

  #startShell(): Shell {
    const shell = spawn("/bin/sh", ["-c", SCRIPT], { stdio: ["pipe", "ignore", "inherit"], env: this.#manager.env });
    const onEnd = (reason: string): void => {
      if (this.#shell !== shell) return;
      // The next word starts another one.
      this.#shell = undefined;
      if (this.#isClosed || this.#isTroubleReported) return;
      this.#isTroubleReported = true;
      this.#logger.warn(
        "systemd-notify failed: systemd receives no status from the node; check that systemd-notify is installed",
        { reason },
      );
    };
    shell.on("error", (error) => onEnd(error.message));
    shell.on("exit", (code, signal) => onEnd(`its shell ended with ${signal ?? `status ${code}`}`));
    // It has ended, which its exit says.
    shell.stdin.on("error", () => undefined);
    shell.unref();
    return shell;
  }
}
