// `npm run lab -- isolation generate`: tries thousands of generated files of every container, and reports the seeds
// that failed, and the slow ones.

import { parseArgs } from "node:util";
import { CONTAINERS, type Container, generateFile } from "../generators/generate-file.ts";
import { runFuzz } from "./run-fuzz.ts";
import type { FuzzResult } from "./try-file.ts";

const SLOWEST_SHOWN = 3;

/** Resolves with the exit status: 0 when all passed. */
export async function runGenerate(args: string[]): Promise<number> {
  const { values } = parseArgs({
    args,
    options: {
      files: { type: "string", default: "10000" },
      container: { type: "string" },
      seed: { type: "string", default: "1" },
      out: { type: "string" },
    },
  });
  const selected = values.container?.split(",");
  const containers = CONTAINERS.filter((container) => selected?.includes(container) ?? true);
  const firstSeed = Number(values.seed);
  if (values.out !== undefined) return writeOne(containers[0] ?? "wav", firstSeed, values.out);
  let failures = 0;
  for (const container of containers) {
    const results = await runFuzz({ container, firstSeed, count: Number(values.files) });
    console.log(describe(container, results));
    failures += results.filter(({ problems }) => problems.length > 0).length;
  }
  return failures === 0 && containers.length > 0 ? 0 : 1;
}

/** Writes one file as it was tried, for inspection. */
async function writeOne(container: Container, seed: number, path: string): Promise<number> {
  const { bytes, changes } = generateFile(container, seed);
  const { writeFile } = await import("node:fs/promises");
  await writeFile(path, bytes);
  console.log(`${container} ${seed}, ${bytes.length} bytes: ${changes.join("; ") || "unchanged"}`);
  return 0;
}

function describe(container: Container, results: readonly FuzzResult[]): string {
  const outcomes = new Map<string, number>();
  for (const { outcome } of results) outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
  const slowest = results.toSorted((a, b) => b.tookMs - a.tookMs).slice(0, SLOWEST_SHOWN);
  const slowestTexts = slowest.map(
    ({ seed, tookMs, sizeBytes }) => `${seed} (${tookMs.toFixed(0)} ms, ${sizeBytes} bytes)`,
  );
  const longest = results.toSorted((a, b) => b.stretchCountMax - a.stretchCountMax)[0];
  const shares = Array.from(outcomes, ([outcome, count]) => `${count} ${outcome}`).join(", ");
  return [
    `${container}: ${results.length} files, ${shares}`,
    `  slowest: ${slowestTexts.join(", ")}`,
    `  most reads without yielding: ${longest?.stretchCountMax ?? 0} (${longest?.seed})`,
    ...failuresOf(results),
  ].join("\n");
}

/** Equal problems are listed once, with their count. */
function failuresOf(results: readonly FuzzResult[]): string[] {
  const seen = new Map<string, FuzzResult[]>();
  for (const result of results) {
    for (const problem of result.problems) {
      const kind = problem.replaceAll(/\d+/g, "#");
      seen.set(kind, [...(seen.get(kind) ?? []), result]);
    }
  }
  return Array.from(seen.values(), (group) => {
    const [first] = group;
    const seeds = group.slice(0, 5).map(({ seed }) => seed);
    return (
      `  FAILED ${group.length} times, seeds ${seeds.join(", ")}: ${first?.problems.join("; ")}\n    ` +
      `(${first?.changes.join("; ")})`
    );
  });
}
