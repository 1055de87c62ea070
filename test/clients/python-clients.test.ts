// Real clients from PyPI, unmodified, each in a process of its own, with a bot of its own on one node.

import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { Stage } from "../../lab/stage/stage.ts";
import { startStage } from "../support/start-stage.ts";
import type { AfterDrop, RealClient } from "./client-driver.ts";
import { ProcessDriver } from "./process-driver.ts";
import { tellStory } from "./story.ts";
import { makeSong } from "./two-tone-song.ts";

const DRIVERS = fileURLToPath(new URL("python/", import.meta.url));
const run = promisify(execFile);
let folder: string;
let stage: Stage;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "tonearm-clients-"));
  await run("python3", ["-m", "venv", folder]);
  const requirements = join(DRIVERS, "requirements.txt");
  await run(join(folder, "bin/pip"), ["install", "--quiet", "--disable-pip-version-check", "-r", requirements]);
  stage = await startStage({
    media: { files: { "song.wav": makeSong() } },
    config: { LAVALINK_SERVER_PLAYER_UPDATE_INTERVAL: "1" },
  });
});
afterAll(async () => {
  await stage.close();
  await rm(folder, { recursive: true, force: true });
});

/** `driver` is a file of the folder `python`. */
function pythonClient(name: string, options: { readonly driver: string; readonly afterDrop: AfterDrop }): RealClient {
  const args = [join(DRIVERS, options.driver)];
  const create: RealClient["create"] = (seat) => new ProcessDriver({ command: join(folder, "bin/python"), args }, seat);
  return { name, afterDrop: options.afterDrop, create };
}

it.concurrent.each([
  pythonClient("wavelink", { driver: "wavelink_driver.py", afterDrop: "resumes" }),
  pythonClient("lavalink", { driver: "lavalink_driver.py", afterDrop: "starts over" }),
  pythonClient("mafic", { driver: "mafic_driver.py", afterDrop: "gives up" }),
])("$name understands the node, and the listener hears the music", (client) => tellStory(stage, client));

it("nothing reached Discord that it would refuse", () => {
  expect(() => stage.discord.assertClean()).not.toThrow();
});
