// A stand-in for `systemd-notify` records its arguments; the real one is in test/packaging/install/.

import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { ServiceNotifier } from "../../../src/cli/service-notifier.ts";
import { createLogger } from "../../../src/log/log.ts";
import { FakeClock } from "../../support/fake-clock.ts";

const closing: (() => void)[] = [];

afterEach(() => {
  for (const close of closing.splice(0)) close();
});

/** `script` is the body of `systemd-notify`; by default it appends its message to a file. */
function notify({ script = 'echo "$2" >> "$NOTIFY_SOCKET"', isWatched = true } = {}) {
  const folder = mkdtempSync(join(tmpdir(), "tonearm-notify-"));
  const program = join(folder, "systemd-notify");
  writeFileSync(program, `#!/bin/sh\n${script}\n`);
  chmodSync(program, 0o755);
  const clock = new FakeClock();
  const warnings: unknown[] = [];
  const logger = createLogger((level, _, fields) => void warnings.push([level, fields.reason]));
  const file = join(folder, "told");
  const env = { NOTIFY_SOCKET: file, PATH: folder };
  const manager = { env, watchdogMs: isWatched ? 30_000 : undefined };
  const notifier = new ServiceNotifier({ manager, clock, logger });
  closing.push(() => {
    notifier.close();
    rmSync(folder, { recursive: true, force: true });
  });
  const reported = () => (existsSync(file) ? readFileSync(file, "utf8").split("\n").slice(0, -1) : []);
  return { notifier, clock, reported, warnings };
}

const READY = ["STATUS=listening on http://127.0.0.1:1", "READY=1"];

test("the notifier reports the start, two heartbeats per watchdog timeout, and the shutdown", async () => {
  const { notifier, clock, reported } = notify();
  notifier.ready("listening on http://127.0.0.1:1");
  clock.advance(14_999);
  await expect.poll(reported).toEqual(READY);
  clock.advance(1);
  await expect.poll(reported).toEqual([...READY, "WATCHDOG=1"]);
  notifier.stopping();
  clock.advance(15_000);
  notifier.close();
  clock.advance(60_000);
  await expect.poll(reported).toEqual([...READY, "WATCHDOG=1", "STOPPING=1", "STATUS=closing", "WATCHDOG=1"]);
  expect(clock.pendingCount).toBe(0);
});

test("without a watchdog nothing is done between start and end", async () => {
  const { notifier, clock, reported } = notify({ isWatched: false });
  notifier.ready("listening on http://127.0.0.1:1");
  expect(clock.setCount).toBe(0);
  await expect.poll(reported).toEqual(READY);
});

test("a shell that ended is started again with the next word, and that is logged once", async () => {
  // Fails with the watchdog's first word.
  const script = `
    if [ "$2" = WATCHDOG=1 ] && [ ! -e "$NOTIFY_SOCKET.failed" ]; then : > "$NOTIFY_SOCKET.failed"; exit 3; fi
    echo "$2" >> "$NOTIFY_SOCKET"`;
  const { notifier, clock, reported, warnings } = notify({ script });
  notifier.ready("listening on http://127.0.0.1:1");
  clock.advance(15_000);
  await expect.poll(() => warnings).toEqual([["warn", "its shell ended with status 3"]]);
  expect(reported()).toEqual(READY);
  clock.advance(15_000);
  await expect.poll(reported).toEqual([...READY, "WATCHDOG=1"]);
  expect(warnings).toHaveLength(1);
});

test("a missing systemd-notify is logged once, and the node keeps running", async () => {
  const { notifier, clock, reported, warnings } = notify({ script: 'echo "$2" >> "$NOTIFY_SOCKET"; exit 127' });
  notifier.ready("listening on http://127.0.0.1:1");
  await expect.poll(() => warnings).toEqual([["warn", "its shell ended with status 127"]]);
  clock.advance(15_000);
  await expect.poll(reported).toEqual([READY[0], "WATCHDOG=1"]);
  expect(warnings).toHaveLength(1);
});
