// `npm run bench -- compare`: our node, alone or in alternating rounds with another one, under the loads that bots
// make, against a fake Discord with DAVE on. Prints tables as it goes; writes JSON and a chart where asked, also of a
// run that was interrupted. Needs Linux (/proc), and ffmpeg for the songs unless `--media FOLDER` has them.

import { rm, writeFile } from "node:fs/promises";
import { cpus } from "node:os";
import { typedCommand } from "../../programs.ts";
import { makeBenchMedia } from "../media.ts";
import { NodeTrouble } from "../trouble.ts";
import { type BenchRunOptions, expectedSeconds, parseBenchOptions, USAGE, WrongArgument } from "./options.ts";
import { emptyRamp, type RampResult, runRamp } from "./ramp.ts";
import { emptyResult, playersOf, type RunEnvironment, runRounds, type WorkloadResult } from "./rounds.ts";
import { CAVEAT, type RunResult, rampTable, runChart, runJson, summaryTable, workloadTable } from "./run-report.ts";

/** Length of a song beyond the window: players join, settle, and seek. */
const SONG_SECONDS_MORE = 170;

const options = readOptions();
// Does not wait for answers of a node that has ended.
if (options !== undefined) process.exit(await run(options));

function readOptions(): BenchRunOptions | undefined {
  const args = process.argv.slice(2);
  if (args.includes("--help")) {
    console.log(USAGE);
    return undefined;
  }
  try {
    return parseBenchOptions(args);
  } catch (error) {
    if (!(error instanceof WrongArgument)) throw error;
    console.error(`${error.message}\nAll arguments: ${typedCommand("compare")} --help`);
    process.exitCode = 2;
    return undefined;
  }
}

/** Returns the exit status: 1 when the run was interrupted. */
async function run(asked: BenchRunOptions): Promise<number> {
  const about = [
    `${cpus().length} cores, ${cpus()[0]?.model.trim()}, Node.js ${process.version}, ${new Date().toISOString()}, ` +
      `DAVE ${asked.daveVersion === 0 ? "off" : "on"}`,
  ];
  console.log(`${about.join("\n")}\n${CAVEAT}\n${plannedText(asked)}\n`);
  const mediaRoot = asked.mediaRoot ?? (await makeBenchMedia(asked.seconds + SONG_SECONDS_MORE));
  const workloads: WorkloadResult[] = [];
  const ramps: RampResult[] = [];
  const result: RunResult = { about, nodes: asked.plans.map(({ name }) => name), workloads, ramps };
  const environment: RunEnvironment = {
    options: asked,
    mediaRoot,
    interrupted: interruption(),
    report: (line) => console.log(line),
  };
  let trouble: string | undefined;
  try {
    await measureAll(environment, { workloads, ramps, save: () => save(asked, result) });
  } catch (error) {
    if (!(error instanceof NodeTrouble)) throw error;
    trouble = error.message;
    console.error(`\nThe run ended early: ${trouble}\nWhat was measured until then:\n`);
    for (const each of workloads.slice(-1)) console.log(workloadTable(each));
    for (const each of ramps.slice(-1)) console.log(rampTable(each));
  } finally {
    if (workloads.length > 1) console.log(summaryTable(result));
    await save(asked, trouble === undefined ? result : { ...result, trouble });
    if (asked.mediaRoot === undefined) await rm(mediaRoot, { recursive: true, force: true });
  }
  return trouble === undefined ? 0 : 1;
}

/** Which nodes are measured, and how long it takes. */
function plannedText(asked: BenchRunOptions): string {
  const { plans, workloads, rounds } = asked;
  const names = plans.map(({ name }) => name).join(" and ");
  const who = plans.length > 1 ? names : `${names} alone: --against names a node to compare it with`;
  const seconds = expectedSeconds(asked);
  const length = seconds === undefined ? "until a node fails" : `about ${Math.ceil(seconds / 60)} min`;
  return `Measuring ${who}; ${workloads.length} workloads, ${rounds} rounds, ${length} on a quiet machine.`;
}

async function measureAll(
  environment: RunEnvironment,
  into: { readonly workloads: WorkloadResult[]; readonly ramps: RampResult[]; readonly save: () => Promise<void> },
): Promise<void> {
  for (const workload of environment.options.workloads) {
    environment.report(`${workload.name}, ${playersOf(workload, environment.options)} players …`);
    if (environment.options.ramp === undefined) {
      const result = emptyResult(workload, environment);
      into.workloads.push(result);
      await runRounds(workload, environment, result);
      environment.report(`\n${workloadTable(result)}`);
    } else {
      const result = emptyRamp(workload, environment);
      into.ramps.push(result);
      await runRamp(workload, environment, result);
      environment.report(`\n${rampTable(result)}`);
    }
    await into.save();
  }
}

async function save({ jsonPath, svgPath }: BenchRunOptions, result: RunResult): Promise<void> {
  if (jsonPath !== undefined) await writeFile(jsonPath, runJson(result));
  if (svgPath !== undefined) await writeFile(svgPath, runChart(result));
}

/** Rejects when the user ends the run; a second time ends it at once. */
function interruption(): Promise<never> {
  const interrupted = new Promise<never>((_, reject) => {
    for (const signal of ["SIGINT", "SIGTERM"] as const) {
      process.once(signal, () => reject(new NodeTrouble("interrupted by the user")));
    }
  });
  interrupted.catch(() => undefined); // nothing waits between two workloads
  return interrupted;
}
