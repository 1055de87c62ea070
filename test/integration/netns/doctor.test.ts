// `tonearm doctor` on a system where the address blocks are not set up, and again after its advice was followed.

import { spawnSync } from "node:child_process";
import { afterEach, describe, expect, test } from "vitest";
import { BIN, NETNS_MISSING, WORKING_FOLDER } from "./routed-node.ts";

if (NETNS_MISSING !== "") console.log(`skipped: ${NETNS_MISSING}`);

const NAMESPACE = "bare";

afterEach(() => {
  if (NETNS_MISSING === "") ip("netns", "delete", NAMESPACE);
});

function ip(...args: string[]): string {
  const { status, stdout, stderr } = spawnSync("ip", args, { encoding: "utf8" });
  if (status !== 0) throw new Error(`ip ${args.join(" ")}: ${stderr}`);
  return stdout;
}

/** The doctor's line about the blocks. */
function findings(ipBlocks: string): string {
  const { stdout } = spawnSync("ip", ["netns", "exec", NAMESPACE, process.execPath, BIN, "doctor"], {
    cwd: WORKING_FOLDER,
    env: { PATH: process.env.PATH, LAVALINK_SERVER_RATELIMIT_IP_BLOCKS: ipBlocks },
    encoding: "utf8",
  });
  return /^.*\baddresses\b.*(\n +.*)*/m.exec(stdout)?.[0] ?? stdout;
}

/** The commands in quotes, as `sysctl` would do them where it is not installed. */
function follow(advice: string): void {
  for (const [, command = ""] of advice.matchAll(/"([^"]+)"/g)) {
    const [, key, value] = /^sysctl -w ([\w.]+)=(\d+)$/.exec(command) ?? [];
    const line = key === undefined ? command : `echo ${value} >/proc/sys/${key.replaceAll(".", "/")}`;
    ip("netns", "exec", NAMESPACE, "sh", "-c", line);
  }
}

// Needs network namespaces; the reason is printed when there are none.
describe.skipIf(NETNS_MISSING !== "")("the doctor", () => {
  test.each(["10.78.0.0/24", "fd78::/64"])("says what %s needs, and is content with it", (block) => {
    ip("netns", "add", NAMESPACE);
    ip("-netns", NAMESPACE, "link", "set", "lo", "up");
    const before = findings(block);
    expect(before).toContain(`${block} cannot be sent from`);
    follow(before);
    expect(findings(block)).toContain(`can send from ${block}`);
  });
});
