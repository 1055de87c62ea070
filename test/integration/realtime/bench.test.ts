// `npm run bench -- compare` as it is run, at its smallest: two players, one second. That it measures, not what it
// measures.

import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, it } from "vitest";
import { countedSong } from "../../../lab/media-files/counted-song.ts";
import { TEST_PASSWORD } from "../../../lab/test-environment/test-environment.ts";
import { startTestEnvironment } from "../../support/start-test-environment.ts";

const BENCH = fileURLToPath(new URL("../../../dist/lab/bench/compare/main.js", import.meta.url));
const NODE = fileURLToPath(new URL("../../../bin/tonearm.js", import.meta.url));
const FAULTY_NODE = fileURLToPath(new URL("../../support/faulty-node.mjs", import.meta.url));
const SMALLEST = ["--only", "passthrough", "--players", "2", "--seconds", "1", "--settle", "0", "--rounds", "1"];

let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "bench-"));
  writeFileSync(join(folder, "song.webm"), countedSong({ seconds: 120 }));
});
afterAll(() => rmSync(folder, { recursive: true }));

interface Run {
  readonly status: number;
  readonly text: string;
  readonly json: {
    readonly workloads: readonly {
      readonly nodes: readonly { readonly name: string; readonly measurements: readonly Record<string, number>[] }[];
      readonly ratios: Record<string, unknown>;
      readonly notes: readonly string[];
    }[];
    readonly trouble?: string;
  };
  readonly chart: string;
}

async function run(name: string, ...against: readonly string[]): Promise<Run> {
  const [json, svg] = [join(folder, `${name}.json`), join(folder, `${name}.svg`)];
  const args = [BENCH, ...SMALLEST, "--media", folder, "--json", json, "--svg", svg, ...against];
  const { status, text } = await new Promise<Pick<Run, "status" | "text">>((resolve) => {
    execFile(process.execPath, args, (error, stdout, stderr) => {
      resolve({ status: error === null ? 0 : Number(error.code), text: stdout + stderr });
    });
  });
  return { status, text, json: JSON.parse(readFileSync(json, "utf8")), chart: readFileSync(svg, "utf8") };
}

/** The measurements of a round, whatever the load of the machine. */
const MEASURED = {
  cpuPercent: expect.any(Number),
  pssMegabytes: expect.any(Number),
  latenessMsP99: expect.any(Number),
  jitterMs: expect.any(Number),
  spacingMsP99: expect.any(Number),
  packetsMissing: expect.any(Number),
  framesLeftOut: expect.any(Number),
  packetsLost: expect.any(Number),
  othersPercent: expect.any(Number),
  load: expect.any(Number),
};

it.concurrent("a command is measured in rounds that alternate with our node, including its child processes", async () => {
  const { status, text, json, chart } = await run("command", "--against", `"${process.execPath}" "${NODE}" start; :`);
  const [passthrough] = json.workloads;
  const [ours, other] = passthrough?.nodes ?? [];
  for (const node of [ours, other]) expect(node?.measurements).toEqual([expect.objectContaining(MEASURED)]);
  expect(ours?.measurements[0]?.packetsDue).toBeGreaterThanOrEqual(100);
  // The shell alone would be a megabyte and no CPU.
  expect(other?.measurements[0]?.pssMegabytes).toBeGreaterThan(20);
  expect(passthrough?.ratios).toMatchObject({ pssMegabytes: { median: expect.any(Number) } });
  expect(text).toContain("| tonearm | other | tonearm / other |");
  expect(chart).toContain(">passthrough</text>");
  expect(status).toBe(0);
});

it.concurrent("a node that is running already is measured as well, and keeps running", async () => {
  const env = await startTestEnvironment({});
  const { status, json } = await run("url", "--against", env.url, "--password", TEST_PASSWORD, "--name", "same");
  expect(json.workloads[0]?.nodes[1]).toEqual({ name: "same", measurements: [expect.objectContaining(MEASURED)] });
  expect(status).toBe(0);
  const bot = await env.connectBot();
  expect((await bot.request("GET", "/v4/stats")).body).toMatchObject({ players: 0 });
  await env.close();
});

it.concurrent("a node that opens voice gateways with TLS only is reported at once, and only our node is measured", async () => {
  const tlsOnly = `TONEARM_VOICE_GATEWAY_SCHEME=wss "${NODE}" start`;
  const { status, text, json } = await run("tls", "--against", tlsOnly, "--rounds", "2");
  const [passthrough] = json.workloads;
  expect(passthrough?.nodes.map(({ measurements }) => measurements)).toEqual([
    [expect.objectContaining(MEASURED), expect.objectContaining(MEASURED)],
    [{}, {}],
  ]);
  expect(passthrough?.notes).toContainEqual(expect.stringMatching(/^other: opens voice gateways with TLS/));
  expect(text).toContain("not measured");
  expect(status).toBe(0);
});

it.concurrent("a node that dies during a round ends the run with a message, and earlier measurements are written", async () => {
  const dying = `"${process.execPath}" "${FAULTY_NODE}" "dies in the run"`;
  const { status, text, json } = await run("dying", "--against", dying);
  expect(status).toBe(1);
  expect(json.trouble).toMatch(
    /^other: (ended with status 7|closed its WebSocket|PATCH|opened no WebSocket|did not accept a WebSocket)/,
  );
  expect(text).toContain(`The run ended early: ${json.trouble}`);
  expect(text).not.toMatch(/^\s+at /m);
  const [ours, other] = json.workloads[0]?.nodes ?? [];
  expect(ours?.measurements).toHaveLength(1);
  expect(other?.measurements).toEqual([]);
});
