// A fake yt-dlp program: a small executable file in its own folder that is as strict about its arguments as we must be,
// and answers from a table next to it, in the shape that yt-dlp 2026.10.26 prints with `-J` and `--flat-playlist` (seen
// in runs of it against loopback; members as in the sheet of sources, section 4.7). The media of its answers are served
// on loopback, behind links that are new with each run. Runs in the process that starts it.

import { mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type SiteRequest, SiteServer } from "./site-server.ts";

/** The result of one run. In texts of `json`, `{{link:NAME}}` becomes a fresh link to that file. */
interface FakeAnswer {
  readonly json?: unknown;
  /** Printed as it is. */
  readonly stdout?: string;
  /** This many letters, as fast as possible. */
  readonly hugeBytes?: number;
  readonly stderr?: string;
  /** Default 0. */
  readonly exitCode?: number;
  /** Ends as in a crash. */
  readonly killsItself?: boolean;
  /** Never ends by itself. */
  readonly hangs?: boolean;
  /** Leaves a process behind that holds the output open for a minute. */
  readonly leavesChild?: boolean;
}

interface FakeCall {
  readonly args: readonly string[];
  /** Names of its environment variables. */
  readonly env: readonly string[];
}

const LINK_HOST = "links.stand-in";

export class FakeYtDlp {
  /** The value of the option `path`. */
  readonly path: string;
  readonly site: SiteServer;
  readonly #folder: string;
  readonly #answers: Record<string, FakeAnswer> = {};
  #version: FakeAnswer = { stdout: "2026.10.26\n" };
  #rest: FakeAnswer | undefined;

  /** `name`: of its file. */
  static async start(name = "yt-dlp"): Promise<FakeYtDlp> {
    let fake: FakeYtDlp | undefined;
    const site = await SiteServer.start((request) => fake?.answerLink(request));
    fake = new FakeYtDlp(name, site);
    return fake;
  }

  private constructor(name: string, site: SiteServer) {
    this.#folder = mkdtempSync(join(tmpdir(), "fake yt-dlp "));
    this.site = site;
    this.path = join(this.#folder, name);
    writeFileSync(this.path, `#!/usr/bin/env node\n${PROGRAM}`, { mode: 0o700 });
    this.#write();
  }

  /** Sets the answer to a link or a search; anything else is unsupported. */
  answer(input: string, answer: FakeAnswer): void {
    this.#answers[input] = answer;
    this.#write();
  }

  /** Sets the answer to everything else; undefined: unsupported. */
  answerRest(answer: FakeAnswer | undefined): void {
    this.#rest = answer;
    this.#write();
  }

  answerVersion(answer: FakeAnswer): void {
    this.#version = answer;
    this.#write();
  }

  /** A page with a playable song. */
  addSong(page: string, song: { readonly title: string; readonly bytes: Uint8Array; readonly mimeType: string }): void {
    const name = `song-${Object.keys(this.#answers).length}`;
    this.site.addMedia(name, song);
    const format = { format_id: "audio", url: `{{link:${name}}}`, protocol: "http", vcodec: "none" };
    this.answer(page, { json: { _type: "video", id: name, title: song.title, webpage_url: page, ...format } });
  }

  /** Its runs so far, without those that only asked for the version. */
  get calls(): readonly FakeCall[] {
    return this.#runs.filter(({ args }) => args[0] !== "--version");
  }

  get versionCalls(): readonly FakeCall[] {
    return this.#runs.filter(({ args }) => args[0] === "--version");
  }

  /** As when the operator removes it. */
  remove(): void {
    rmSync(this.path);
  }

  async close(): Promise<void> {
    await this.site.close();
    rmSync(this.#folder, { recursive: true, force: true });
  }

  answerLink({ host, query }: SiteRequest): { readonly text: string } | undefined {
    return host === LINK_HOST ? { text: this.site.link(query.get("name") ?? "") } : undefined;
  }

  get #runs(): readonly FakeCall[] {
    try {
      const lines = readFileSync(join(this.#folder, "runs"), "utf8").trim().split("\n");
      return lines.map((line) => JSON.parse(line) as FakeCall); // written by the program below
    } catch {
      // It has not been run yet.
      return [];
    }
  }

  #write(): void {
    const links = `${this.site.url}/${LINK_HOST}/`;
    const table = { version: this.#version, answers: this.#answers, rest: this.#rest, links };
    const path = join(this.#folder, "table.json");
    writeFileSync(`${path}.new`, JSON.stringify(table));
    // Replaces the file atomically: a running program may be reading it.
    renameSync(`${path}.new`, path);
  }
}

/** Plain JavaScript: it is a separate program. It knows only the folder that it is in. */
const PROGRAM = String.raw`
const { appendFileSync, readFileSync, writeSync } = require("node:fs");
const { spawn } = require("node:child_process");
const { dirname, join } = require("node:path");

const here = (name) => join(dirname(process.argv[1]), name);
const args = process.argv.slice(2);
appendFileSync(here("runs"), JSON.stringify({ args, env: Object.keys(process.env) }) + "\n");
const { version, answers, rest, links } = JSON.parse(readFileSync(here("table.json"), "utf8"));

const FLAGS = ["--ignore-config", "--no-exec", "-J", "-q", "--no-warnings", "--flat-playlist"];
const VALUES = ["--playlist-end", "--socket-timeout", "--proxy", "--password", "--js-runtimes"];
const JOINED = /^--(?:format|use-extractors|proxy|user-agent)=./;

function usage(problem) {
  process.stderr.write("\nUsage: yt-dlp [OPTIONS] URL [URL...]\n\nyt-dlp: error: " + problem + "\n");
  process.exit(2);
}

function inputOf() {
  const end = args.indexOf("--");
  if (end < 0) usage("-- is missing");
  for (let index = 0; index < end; index++) {
    if (VALUES.includes(args[index])) index++;
    else if (!FLAGS.includes(args[index]) && !JOINED.test(args[index])) usage("no such option: " + args[index]);
  }
  for (const flag of ["--ignore-config", "--no-exec", "-J"]) if (!args.includes(flag)) usage(flag + " is missing");
  if (args.length !== end + 2) usage("exactly one URL is required");
  return args[end + 1];
}

async function withLinks(text) {
  let whole = text;
  for (const [mark, name] of text.matchAll(/\{\{link:([\w.-]+)\}\}/g)) {
    whole = whole.replace(mark, await (await fetch(links + "?name=" + name)).text());
  }
  return whole;
}

async function answer(result) {
  if (result.leavesChild) {
    const stdio = ["ignore", "inherit", "inherit"];
    spawn(process.execPath, ["-e", "setTimeout(() => {}, 60_000)"], { stdio }).unref();
  }
  if (result.stderr) process.stderr.write(result.stderr);
  if (result.hangs) return void setInterval(() => {}, 1000);
  const letters = "x".repeat(65536);
  for (let left = result.hugeBytes ?? 0; left > 0; left -= letters.length) {
    try { writeSync(1, letters); } catch (error) { if (error.code !== "EAGAIN") throw error; left += letters.length; }
  }
  const text = result.json === undefined ? (result.stdout ?? "") : (await withLinks(JSON.stringify(result.json))) + "\n";
  process.stdout.write(text, () => {
    if (result.killsItself) process.kill(process.pid, "SIGKILL");
    else process.exit(result.exitCode ?? 0);
  });
}

if (args[0] === "--version") answer(version);
else {
  const input = inputOf();
  const known = { stderr: "ERROR: Unsupported URL: " + input + "\n", stdout: "null\n", exitCode: 1 };
  answer(answers[input] ?? rest ?? known);
}
`;
