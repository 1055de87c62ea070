// The node's messages to systemd, received at the other end of its socket, with Debian's `systemd-notify`; and the unit
// in a separate systemd, where one can be booted.

import { spawnSync } from "node:child_process";
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, expect, test } from "vitest";
import { makeTone } from "../../../lab/listen/tone.ts";
import { writeWav } from "../../../lab/listen/wav.ts";
import { PROJECT_ROOT } from "../../support/project-files.ts";
import { Newcomer } from "./newcomer.ts";

const UNIT = `${PROJECT_ROOT}deploy/systemd/tonearm.service`;
const MANAGER = fileURLToPath(new URL("listening-manager.py", import.meta.url));
const BOOT = fileURLToPath(new URL("boot-systemd.sh", import.meta.url));
const WATCHDOG_S = 4;
/** The exposure of the unit by `systemd-analyze security`; 10 is a service without any sandboxing. */
const EXPOSURE_MAX = 1.5;
/** Makes the main thread hang on SIGUSR2, after a message. */
const HANGING =
  "--import=data:text/javascript,process.on('SIGUSR2',()=>{process._rawDebug('hangs');" +
  "Atomics.wait(new(Int32Array)(new(SharedArrayBuffer)(4)),0,0)})";

const someone = new Newcomer(join(process.execPath, ".."));
afterAll(() => someone.close());

/** Why a systemd cannot be booted here; empty where it can. */
const noBoot = spawnSync("bash", [BOOT, "--check"], { encoding: "utf8" });
const whyNot = noBoot.status === 0 ? "" : noBoot.stdout.trim();
if (whyNot !== "") process.stdout.write(`no separate systemd: ${whyNot}\n`);

/** The commands that docs/how-to/install.md gives, but for `sudo`, and for npm's, which needs a registry. */
function stepsOfThePage(): string {
  const [, section = ""] = readFileSync(`${PROJECT_ROOT}docs/how-to/install.md`, "utf8").split(
    "As a service of systemd\n",
  );
  const [, commands = ""] = /```sh\n([\s\S]*?)```/.exec(section) ?? [];
  return commands.replaceAll("sudo ", "").replace(/^npm install .*\n/, "");
}

test("a node reports start, heartbeats and shutdown; one whose main thread hangs sends no heartbeats", async () => {
  const socket = join(someone.folder, "socket");
  const manager = someone.start("python3", [MANAGER, socket, String(WATCHDOG_S)]);
  await manager.until(/bound/);
  const env = { NOTIFY_SOCKET: socket, WATCHDOG_USEC: String(WATCHDOG_S * 1e6) };
  const start = (more: Readonly<Record<string, string>> = {}) =>
    someone.start(process.execPath, [`${PROJECT_ROOT}bin/tonearm.js`, "start", "--server.port=0"], { ...env, ...more });

  const orderly = start();
  await manager.until(/STATUS=listening on http:\/\/127\.0\.0\.1:\d+\nREADY=1\nWATCHDOG=1\n/);
  orderly.child.kill("SIGTERM");
  expect(await orderly.ended).toMatchObject({ status: 0 });
  await manager.until(/STOPPING=1\nSTATUS=closing\n/);

  const hanging = start({ NODE_OPTIONS: HANGING });
  await manager.until(/STOPPING=1[\s\S]*READY=1[\s\S]*WATCHDOG=1\n/);
  hanging.child.kill("SIGUSR2");
  await hanging.until(/hangs/);
  manager.child.stdin?.write(`${hanging.child.pid}\n`);
  await manager.until(/killed/);
  await hanging.ended;
  expect(hanging.child.signalCode).toBe("SIGABRT");
});

test("the unit is well-formed, and its sandbox leaves little exposed", () => {
  const verify = spawnSync("systemd-analyze", ["verify", UNIT], { encoding: "utf8" });
  expect([verify.status, verify.stderr]).toEqual([0, ""]);
  const security = spawnSync("systemd-analyze", ["security", "--offline=true", "--no-pager", UNIT], {
    encoding: "utf8",
  });
  const [, exposure] = /Overall exposure level for tonearm\.service: ([\d.]+)/.exec(security.stdout) ?? [];
  expect(Number(exposure)).toBeLessThan(EXPOSURE_MAX);
});

// Left out where the kernel gives no namespaces or overlays, and where there is no systemd.
test.skipIf(whyNot !== "")(
  "in a separate systemd the unit plays, serves, is restarted when it hangs, and stops",
  async () => {
    const shared = join(someone.folder, "shared");
    mkdirSync(shared);
    copyFileSync(process.execPath, join(shared, "node"));
    const pack = ["pack", "--silent", "--ignore-scripts", "--pack-destination", shared, PROJECT_ROOT];
    const { output: tarball } = await someone.run("npm", pack);
    const install = ["install", "--global", "--omit=dev", "--prefix", join(shared, "prefix"), "--loglevel=error"];
    expect(await someone.run("npm", [...install, join(shared, tarball.trim())])).toMatchObject({ status: 0 });
    const tone = makeTone({ frequencyHz: 440, sampleRateHz: 48_000, lengthSamples: 48_000 });
    await writeWav(join(shared, "tone.wav"), { left: tone, right: tone, sampleRateHz: 48_000 });
    writeFileSync(join(shared, "output"), "");
    writeFileSync(join(shared, "steps.sh"), stepsOfThePage());

    await someone.run("bash", [BOOT, shared]);
    const reported = readFileSync(join(shared, "output"), "utf8");
    const facts = [
      "started",
      "demo recorded \\d{6}",
      "status listening on http://127\\.0\\.0\\.1:2333",
      "answers 200",
      "capabilities 0000000000000000",
      "restarted",
      "stopped success inactive",
    ];
    expect(reported).toMatch(new RegExp(`^${facts.join("\\n")}$`, "m"));
    // Messages of systemd itself may be in between.
    expect(reported).toMatch(/closing signal=SIGTERM\n[\s\S]* closed\n/);
  },
);
