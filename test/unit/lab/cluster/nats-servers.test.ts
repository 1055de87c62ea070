// The lab's NATS servers: how the program is found, and real processes where it is installed.

import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { findNatsServer } from "../../../../lab/cluster/nats-program.ts";
import { NatsServers } from "../../../../lab/cluster/nats-servers.ts";
import { isNatsMissing, natsTitle } from "../../../support/nats-server.ts";

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

test("the program is the one of NATS_SERVER, or the first in the search path that can be run", () => {
  const folder = mkdtempSync(join(tmpdir(), "tonearm-path-"));
  closing.push(() => rmSync(folder, { recursive: true }));
  const program = join(folder, "nats-server");
  expect(findNatsServer({ PATH: folder })).toBeUndefined();
  writeFileSync(program, "#!/bin/sh\n");
  expect(findNatsServer({ PATH: folder })).toBeUndefined();
  chmodSync(program, 0o755);
  expect(findNatsServer({ PATH: folder })).toBe(program);
  expect(findNatsServer({ PATH: folder, NATS_SERVER: "chosen" })).toBe("chosen");
});

test.skipIf(isNatsMissing)(
  natsTitle("one server is ready, is killed, and is ready again at the same port"),
  async () => {
    const nats = await NatsServers.start();
    closing.push(() => nats.close());
    const { urls } = nats;
    await nats.kill();
    expect(nats.servers.map(({ isRunning }) => isRunning)).toEqual([false]);
    await nats.restart();
    expect(nats.servers.map(({ isRunning }) => isRunning)).toEqual([true]);
    expect(nats.urls).toEqual(urls);
  },
);

test.skipIf(isNatsMissing)(natsTitle("three servers form a cluster"), async () => {
  const nats = await NatsServers.start({ count: 3 });
  closing.push(() => nats.close());
  expect(new Set(nats.urls).size).toBe(3);
});

test.skipIf(isNatsMissing)(
  natsTitle("servers that cannot start leave no process, and the failure has the program's words"),
  async () => {
    await expect(NatsServers.start({ args: ["--config", "missing.conf"] })).rejects.toThrow(/missing\.conf/);
  },
);
