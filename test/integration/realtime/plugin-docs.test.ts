// The plugin of docs/plugins.md, written by following the page in an empty folder: it loads, plays, and is reloaded.

import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, it } from "vitest";
import { packetNumbers } from "../../../lab/media-files/counted-song.ts";
import type { TestEnvironment } from "../../../lab/test-environment/test-environment.ts";
import { type ExampleTestEnvironment, startExampleTestEnvironment } from "../../support/example-test-environment.ts";
import { MusicCall } from "../../support/music-call.ts";

const ROOT = fileURLToPath(new URL("../../../", import.meta.url));

let folder: string;
let code: string;
let example: ExampleTestEnvironment;
let env: TestEnvironment;

beforeAll(async () => {
  const page = await readFile(join(ROOT, "docs/plugins.md"), "utf8");
  code = /^```js\n(.*?)^```$/ms.exec(page)?.[1] ?? "";
  folder = await mkdtemp(join(tmpdir(), "tonearm-plugin-"));
  await writeFile(join(folder, "plugin.mjs"), code);
  // Does the same as `npm link`.
  await mkdir(join(folder, "node_modules"));
  await symlink(ROOT, join(folder, "node_modules/tonearm"), "dir");
  example = await startExampleTestEnvironment({
    path: join(folder, "plugin.mjs"),
    config: { TONEARM_PLUGINRELOADONCHANGE: "true", PLUGINS_EXAMPLE_SEARCHLIMIT: "1" },
  });
  ({ env } = example);
});
afterAll(async () => {
  await example.close();
  await rm(folder, { recursive: true });
});

it("the documented plugin is the one in plugins/example", async () => {
  expect(code).toBe(await readFile(join(ROOT, "plugins/example/plugin.mjs"), "utf8"));
});

it("the documented plugin is reloaded when it changes on disk, where that is configured", async () => {
  const bot = await env.connectBot();
  await writeFile(join(folder, "plugin.mjs"), code.replace('version: "1.0.0"', 'version: "1.0.2"'));
  await expect
    .poll(async () => (await bot.request<{ version: string }[]>("GET", "/v4/tonearm/plugins")).body[0]?.version)
    .toBe("1.0.2");
});

it("the documented plugin loads with its options, plays, and is reloaded from disk", async () => {
  const call = await MusicCall.join(env, { daveVersion: 0 });
  const { body } = await call.bot.load("exsearch:song");
  expect(body).toMatchObject({ loadType: "search", data: [{ info: { title: "First song", sourceName: "example" } }] });
  const [track] = body.data as { encoded: string }[];
  await call.update({ track: { encoded: track?.encoded } });
  await call.receiveMore(20);
  await writeFile(join(folder, "plugin.mjs"), code.replace('version: "1.0.0"', 'version: "1.0.1"'));
  expect(await call.bot.request("POST", "/v4/tonearm/plugins/example/reload")).toMatchObject({
    status: 200,
    body: { version: "1.0.1", state: "running" },
  });
  await writeFile(join(folder, "plugin.mjs"), "export default 7;");
  expect(await call.bot.request("POST", "/v4/tonearm/plugins/example/reload")).toMatchObject({
    status: 503,
    body: { message: expect.stringContaining("the old one stays in use") },
  });
  expect((await call.bot.load("example:two")).body.loadType).toBe("track");
  await call.receiveMore(20);
  const numbers = packetNumbers(call.audio);
  expect(numbers).toEqual(numbers.map((_number, index) => index));
  await call.leave();
});
