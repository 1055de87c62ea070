// The JavaScript runtime that yt-dlp is given.

import { mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { FakeYtDlp } from "../../../lab/sites/fake-yt-dlp.ts";
import { findRuntime, type NodeProcess, runtimeArguments } from "../../../plugins/ytdlp/js-runtime.ts";
import { ytDlpPlugin } from "../../../plugins/ytdlp/plugin.ts";
import { ytDlpCheck } from "../../../src/cli/doctor/plugin-checks.ts";
import { loadConfig } from "../../../src/config/load-config.ts";
import type { PlainTree } from "../../../src/lib/plain-tree.ts";
import { PluginBench } from "../../support/plugin-bench.ts";

const NODE_20: NodeProcess = { versions: { node: "20.19.0" }, execPath: "/opt/node 20/bin/node" };
const NODE_22: NodeProcess = { versions: { node: "22.0.0" }, execPath: "/opt/node 22/bin/node" };
const OURS = ["--js-runtimes", "node:/opt/node 22/bin/node"];
const PAGE = "https://vimeo.com/1001";
const VIDEO = { _type: "video", id: "1001", title: "A song", webpage_url: PAGE, url: "https://m.example/a.mp3" };

let fake: FakeYtDlp;
let bench: PluginBench | undefined;
let folder: string;
beforeEach(async () => {
  fake = await FakeYtDlp.start();
  // Node.js for the fake, and no deno, whatever this machine has.
  folder = mkdtempSync(join(tmpdir(), "only-node-"));
  symlinkSync(process.execPath, join(folder, "node"));
  vi.stubEnv("PATH", folder);
});
afterEach(async () => {
  vi.unstubAllEnvs();
  rmSync(folder, { recursive: true });
  bench?.close();
  bench = undefined;
  await fake.close();
});

async function start(node: NodeProcess, options: Record<string, PlainTree> = {}): Promise<PluginBench> {
  bench = await PluginBench.start(ytDlpPlugin(node), { options: { path: fake.path, ...options } });
  return bench;
}

async function argsOfLoad(node: NodeProcess, options: Record<string, PlainTree> = {}): Promise<readonly string[]> {
  fake.answer(PAGE, { json: VIDEO });
  await (await start(node, options)).load("ytdlp", PAGE);
  return fake.calls[0]?.args ?? [];
}

const run = (stdout: string) => async () => ({ exitCode: 0, stdout, stderr: "" });
const noDeno = () => Promise.reject(new Error("ENOENT"));
const { signal } = new AbortController();

test.each(["2025.11.12", "2026.10.26", "2026.10.26.220202.dev0", "2026.1.1", "stable@2026.10.26"])(
  "yt-dlp %s runs scripts with the node's own Node.js 22",
  async (version) => {
    fake.answerVersion({ stdout: `${version}\n` });
    expect(await argsOfLoad(NODE_22)).toEqual(expect.arrayContaining(OURS));
  },
);

test.each(["2025.10.22", "2024.12.31.1", "git-0123abc"])("yt-dlp %s gets no runtime", async (version) => {
  fake.answerVersion({ stdout: `${version}\n` });
  expect((await argsOfLoad(NODE_22)).join()).not.toContain("js-runtimes");
});

test("Node.js 20 is not given to yt-dlp", async () => {
  expect((await argsOfLoad(NODE_20)).join()).not.toContain("js-runtimes");
});

test.each([["--js-runtimes", "bun"], ["--js-runtimes=deno:/opt/deno"], ["--no-js-runtimes"], ["--js-runtime=quickjs"]])(
  "the operator's %s is not added to",
  (...customArgs) => {
    expect(runtimeArguments({ version: "2026.10.26", customArgs, node: NODE_22 })).toEqual([]);
  },
);

test("other arguments of the operator leave the runtime", async () => {
  const args = await argsOfLoad(NODE_22, { customLoadArgs: ["--proxy", "http://proxy.example"] });
  expect(args).toEqual(expect.arrayContaining([...OURS, "--proxy"]));
});

test.each([
  ["deno 2.5.4 (stable, release, x86_64-unknown-linux-gnu)\nv8 14.0", "deno 2.5.4"],
  ["deno 2.3.0", "deno 2.3.0"],
  ["deno 10.0.1", "deno 10.0.1"],
  ["deno 2.2.12", undefined],
  ["deno 1.46.3", undefined],
  ["something else", undefined],
])("with Node.js 20, the answer %j of deno means %s", async (stdout, expected) => {
  const question = { version: "2026.10.26", customArgs: [[], []], node: NODE_20 };
  expect(await findRuntime(question, run(stdout), signal)).toBe(expected);
});

test("deno is named before Node.js, as yt-dlp prefers it, unless it is too old", async () => {
  const question = { version: "2026.10.26", customArgs: [[], []], node: NODE_22 };
  expect(await findRuntime(question, run("deno 2.5.4"), signal)).toBe("deno 2.5.4");
  expect(await findRuntime(question, run("deno 2.2.0"), signal)).toBe("Node.js 22.0.0");
  expect(await findRuntime(question, noDeno, signal)).toBe("Node.js 22.0.0");
});

test("arguments for loading that name a runtime say nothing about playing", async () => {
  const chosen = ["--js-runtimes", "bun"];
  const found = (customArgs: readonly (readonly string[])[]) =>
    findRuntime({ version: "2026.10.26", customArgs, node: NODE_20 }, noDeno, signal);
  expect(await found([chosen, []])).toBeUndefined();
  expect(await found([[], chosen])).toBeUndefined();
  expect(await found([chosen, chosen])).toBe("as its arguments say");
});

test("yt-dlp is given the operator's user agent, and none where there is none", async () => {
  const given = (args: readonly string[]) => args.filter((argument) => argument.startsWith("--user-agent"));
  expect(given(await argsOfLoad(NODE_22))).toEqual([]);
  const connect = { proxyUrl: undefined, connectTimeoutMs: 3000, socketTimeoutMs: 3000 };
  for (const [userAgent, expected] of [
    ["Mozilla/5.0 (X11)", ["--user-agent=Mozilla/5.0 (X11)"]],
    ["Tonearm/0.9.0", []],
  ] as const) {
    bench?.close();
    bench = await PluginBench.start(ytDlpPlugin(NODE_22), {
      options: { path: fake.path },
      settings: { http: { ...connect, userAgent } },
    });
    await bench.load("ytdlp", PAGE);
    expect(given(fake.calls.at(-1)?.args ?? [])).toEqual(expected);
  }
});

test("the log reports once that yt-dlp has no runtime, and what helps", async () => {
  expect(
    await findRuntime({ version: "2026.10.26", customArgs: [[], []], node: NODE_20 }, noDeno, signal),
  ).toBeUndefined();
  const { lines } = await start(NODE_20);
  const found = () => lines.filter(({ message }) => /no JavaScript runtime.*Node\.js 22.*deno/.test(message));
  await expect.poll(found).toMatchObject([{ level: "warn" }]);
});

test("the log does not speak of a runtime where Node.js is new enough", async () => {
  const { lines } = await start(NODE_22);
  await expect.poll(() => lines.map(({ message }) => message)).toEqual(["yt-dlp found"]);
});

function check(node: NodeProcess, args: readonly string[] = []) {
  const { config } = loadConfig({ args, env: {}, cwd: "/", readFile: () => undefined });
  return ytDlpCheck(config, node);
}

test("the doctor has a line on yt-dlp only where it is set up", () => {
  expect(check(NODE_22)).toEqual([]);
});

test.each(["plugins.ytdlp.path", "plugins.lavasrc.ytdlp.path"])("the doctor knows yt-dlp by %s", async (key) => {
  const [line] = check(NODE_22, [`--${key}=${fake.path}`]);
  expect(await line?.run()).toEqual({ status: "ok", found: "2026.10.26, JavaScript runtime: Node.js 22.0.0" });
});

test("the doctor warns where yt-dlp has no JavaScript runtime", async () => {
  const [line] = check(NODE_20, [`--plugins.ytdlp.path=${fake.path}`]);
  expect(await line?.run()).toEqual({
    status: "warn",
    found: "2026.10.26 has no JavaScript runtime for YouTube",
    advice: "run Tonearm on Node.js 22 or newer, or install deno 2.3 or newer",
  });
});

test("the doctor warns where yt-dlp cannot be run", async () => {
  const [line] = check(NODE_22, ["--plugins.ytdlp.path=/nowhere/yt-dlp"]);
  expect(await line?.run()).toMatchObject({ status: "warn", found: expect.stringContaining("cannot be run") });
});
