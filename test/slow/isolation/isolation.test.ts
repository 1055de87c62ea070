// Hostile files, sites, voice servers and clients, the fastest cases of lab/isolation, against a node in a separate
// process. The limit is wider than the lab's, so that a busy machine does not decide the result: compared with the
// control just before, attempted twice.

import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { LAYERS } from "../../../lab/isolation/cases.ts";
import { startOwnNode } from "../../../lab/isolation/harness/node-under-test.ts";
import { longestGapMs, lossesIn, missingShare } from "../../../lab/isolation/harness/verdict.ts";
import { type Attempt, type CaseResult, runCases } from "../../../lab/isolation/run-cases.ts";

const NODE = {
  name: "tonearm",
  command: process.execPath,
  args: [fileURLToPath(new URL("../../../bin/tonearm.js", import.meta.url)), "start"],
};
const NAMES: readonly string[] = [
  ...["wav-rate-999", "flac-prime-rates", "webm-empty-laces-mp3", "ogg-false-heads", "hls-newlines", "icy-metaint-1"],
  ...["dripping-loads", "gateway-heartbeat-requests-1mb", "equalizer-4-mib", "decode-tracks-ones"],
  ...["wrong-passwords", "pipelined-upgrades", "local-line-breaks"],
];
const cases = LAYERS.flatMap(({ layer, cases }) => cases.map((one) => ({ layer, ...one }))).filter(({ name }) =>
  NAMES.includes(name),
);

test("no hostile client, file or server affects the audio of a node's control players", {
  timeout: 300_000,
}, async () => {
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
  const harmed = results.filter(({ attempts }) => attempts.every((attempt) => harmOf(attempt).length > 0));
  expect(harmed.map(reportOf), lines.slice(-20).join("\n")).toEqual([]);
});

/** Effects far beyond those of a busy machine. */
function harmOf(attempt: Attempt): string[] {
  const { control, attack } = attempt;
  const gapLimitMs = 4 * longestGapMs(control) + 250;
  const versionLimitMs = 4 * control.versionMsMax + 1000;
  return [
    ...lossesIn(attempt),
    ...(longestGapMs(attack) > gapLimitMs ? [`a gap of ${longestGapMs(attack)} ms, above ${gapLimitMs}`] : []),
    ...(missingShare(control, attack) > 0.4 ? [`${missingShare(control, attack)} of the audio is missing`] : []),
    ...(attack.versionMsMax > versionLimitMs ? [`GET /version took ${attack.versionMsMax} ms`] : []),
  ];
}

function reportOf({ name, attempts }: CaseResult): string {
  return `${name}: ${attempts.map((attempt) => `${harmOf(attempt).join("; ")} (${attempt.answer})`).join(" | ")}`;
}
