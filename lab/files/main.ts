// `npm run lab -- files FOLDER`: loads, plays and seeks every media file below a folder with the node's own modules, and
// compares titles, lengths and audio with what ffprobe and ffmpeg make of it. Exit status 0 when all is right or known,
// 1 when something is wrong, 2 when the run failed.

import { readFile, realpath, writeFile } from "node:fs/promises";
import { parseArgs } from "node:util";
import { CannotRun } from "../cannot-run.ts";
import { typedCommand } from "../programs.ts";
import { drawFiles, findFiles } from "./find-files.ts";
import { type Expected, judgeFile, type Verdict } from "./judge-file.ts";
import { compareWithKnown, isLike, type KnownFailure, parseKnownFailures } from "./known-failures.ts";
import { makeFiles } from "./make/make-files.ts";
import { formatFailures, formatStale, formatTable } from "./report.ts";
import { runTrials } from "./run-trials.ts";
import { type FileFacts, SERVERS, type ServerName } from "./try-file.ts";

const HELP = `Tries every media file below a folder on the node's modules, beside ffprobe and ffmpeg: how it loads by path and
over HTTP, its title, artist and length, whether what is heard is what ffmpeg decodes, and one seek to the middle.

  ${typedCommand("files")} FOLDER
  ${typedCommand("files")} --make FOLDER      # makes a few hundred small files of many kinds with ffmpeg, to be tried

  --only PATTERNS   only files like these, separated by commas; * is anything: '*.flac,tags/*'
  --count NUMBER    at most so many files, drawn by the seed; default 10000
  --seed NUMBER     default 1
  --servers LIST    web servers to load from as well: ranges (default), no-ranges, no-length; "none"
  --seconds NUMBER  how much of a file is played and compared at most, default 120
  --timeout NUMBER  time limit of one file in seconds, default 60
  --jobs NUMBER     files at once, default 2
  --known FILE      known failures: PATTERN CHECKS REASON a line; checks: loads,title,length,heard,seeks
  --json FILE       write all measurements to a file as well
  --help            this text

What ffprobe and ffmpeg do not know comes from FOLDER/expected.json: {"PATH": {"title", "artist", "lengthMs", "audio"}},
where "audio" is another file of the folder that ffmpeg decodes instead.
Nothing is fetched: addresses in playlists lead nowhere. "s" in the table is a stream, shown without a length.
`;

const EXPECTED_FILE = "expected.json";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    make: { type: "string" },
    only: { type: "string" },
    count: { type: "string", default: "10000" },
    seed: { type: "string", default: "1" },
    servers: { type: "string", default: "ranges" },
    seconds: { type: "string", default: "120" },
    timeout: { type: "string", default: "60" },
    jobs: { type: "string", default: "2" },
    known: { type: "string" },
    json: { type: "string" },
    help: { type: "boolean", default: false },
  },
});

process.exitCode = await main();

async function main(): Promise<number> {
  const [folder] = positionals;
  if (values.help || (folder === undefined && values.make === undefined)) {
    console.log(HELP);
    return values.help ? 0 : 2;
  }
  if (values.make !== undefined) {
    const made = await makeFiles(values.make, { only: values.only, jobs: number("jobs") });
    console.log(
      `${made.fileCount} files in ${values.make}${made.failures.map((line) => `\nnot made: ${line}`).join("")}`,
    );
    return made.failures.length === 0 ? 0 : 1;
  }
  return tryFolder(folder ?? ".");
}

async function tryFolder(folder: string): Promise<number> {
  const root = await realpath(folder).catch(() => {
    throw new CannotRun(`there is no folder ${folder}`);
  });
  const known = values.known === undefined ? [] : await readKnown(values.known);
  const found = (await findFiles(root)).filter((file) => file !== EXPECTED_FILE && isWanted(file));
  const files = drawFiles(found, { count: number("count"), seed: number("seed") });
  const settings = { root, servers: servers(), seconds: number("seconds"), timeoutMs: number("timeout") * 1000 };
  const expected = await readExpected(root);
  const all = await runTrials({
    settings,
    files: files.map((file) => ({ file, audioFile: expectedOf(expected, file).audio })),
    jobs: number("jobs"),
    onDone: progress(files.length),
  });
  return report(all, { expected, known });
}

async function report(
  all: readonly FileFacts[],
  { expected, known }: { expected: Readonly<Record<string, Expected>>; known: readonly KnownFailure[] },
): Promise<number> {
  const verdicts = all.flatMap((facts): Verdict[] => {
    const verdict = judgeFile(facts, expectedOf(expected, facts.file));
    return verdict === undefined ? [] : [verdict];
  });
  const { failures, stale } = compareWithKnown(verdicts, known);
  const unknown = failures.filter(({ reason }) => reason === undefined);
  const others = all.length - verdicts.length;
  const lines = [
    ...[formatTable(verdicts), ""],
    `${others} of ${all.length} files hold no audio that ffmpeg decodes`,
    `${failures.length} failures, ${failures.length - unknown.length} of them known`,
    ...["", ...formatFailures(failures), ...formatStale(stale)],
  ];
  console.log(lines.join("\n"));
  if (values.json !== undefined) {
    await writeFile(values.json, `${JSON.stringify({ verdicts, failures, stale, facts: all }, undefined, 2)}\n`);
  }
  return unknown.length === 0 ? 0 : 1;
}

function isWanted(file: string): boolean {
  return values.only?.split(",").some((pattern) => isLike(file, pattern)) ?? true;
}

function servers(): ServerName[] {
  if (values.servers === "none") return [];
  return values.servers.split(",").map((name) => {
    if (!Object.hasOwn(SERVERS, name)) throw new CannotRun(`--servers ${name}: use ${Object.keys(SERVERS).join(", ")}`);
    return name as ServerName; // a key, as checked
  });
}

function number(name: "count" | "seed" | "seconds" | "timeout" | "jobs"): number {
  const value = Number(values[name]);
  if (!Number.isInteger(value) || value < 1)
    throw new CannotRun(`--${name} ${values[name]}: use a whole number from 1`);
  return value;
}

async function readKnown(path: string): Promise<KnownFailure[]> {
  try {
    return parseKnownFailures(await readFile(path, "utf8"));
  } catch (error) {
    throw new CannotRun(`--known ${path}: ${error instanceof Error ? error.message : error}`);
  }
}

async function readExpected(root: string): Promise<Readonly<Record<string, Expected>>> {
  const text = await readFile(`${root}/${EXPECTED_FILE}`, "utf8").catch(() => "{}");
  try {
    return JSON.parse(text); // written by hand or by --make, and only compared with
  } catch (error) {
    throw new CannotRun(`${root}/${EXPECTED_FILE}: ${error instanceof Error ? error.message : error}`);
  }
}

function expectedOf(expected: Readonly<Record<string, Expected>>, file: string): Expected {
  return (Object.hasOwn(expected, file) ? expected[file] : undefined) ?? {};
}

/** Says on a terminal which file is done; stdout has the report. */
function progress(count: number): (facts: FileFacts) => void {
  let done = 0;
  return ({ file }) => {
    done += 1;
    if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K${done} of ${count} ${JSON.stringify(file).slice(0, 60)}`);
    if (process.stderr.isTTY && done === count) process.stderr.write("\r\x1b[K");
  };
}
