// Hostile files, sites, voice servers and clients, the quickest of lab/neighbours, against a node of its own process: honest
// players hear no more of them than of a busy machine, which a control in the same run is measured for.

import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { LAYERS } from "../../lab/neighbours/cases.ts";
import { startOwnNode } from "../../lab/neighbours/node-under-test.ts";
import { type CaseResult, runCases } from "../../lab/neighbours/run-cases.ts";

const NODE = {
  name: "tonearm",
  command: process.execPath,
  args: [fileURLToPath(new URL("../../bin/tonearm.js", import.meta.url)), "start"],
};
const NAMES: readonly string[] = [
  ...["wav-rate-999", "flac-prime-rates", "webm-empty-laces-mp3", "ogg-false-heads", "hls-newlines", "icy-metaint-1"],
  ...["dripping-look-ups", "gateway-heartbeat-requests-1mb", "equalizer-4-mib", "decode-tracks-ones"],
  ...["wrong-passwords", "pipelined-upgrades"],
];
const cases = LAYERS.flatMap(({ layer, cases }) => cases.map((one) => ({ layer, ...one }))).filter(({ name }) =>
  NAMES.includes(name),
);

test("no hostile neighbour is heard by the honest players of a node", { timeout: 300_000 }, async () => {
  expect(cases.map(({ name }) => name).toSorted()).toEqual(NAMES.toSorted());
  const lines: string[] = [];
  const results = await runCases({
    startNode: () => startOwnNode((line) => lines.push(line), NODE),
    cases,
    seed: 1,
    controlSeconds: 1,
    attackSecondsMax: 2,
    aftermathMs: 500,
  });
  const failed = results.filter(({ outcome }) => outcome === "fail");
  expect(failed.map(tell), lines.slice(-20).join("\n")).toEqual([]);
});

function tell({ name, attempts }: CaseResult): string {
  return `${name}: ${attempts.map(({ problems, answer }) => `${problems.join("; ")} (${answer})`).join(" | ")}`;
}
