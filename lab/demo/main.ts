// `tonearm demo SONG`: plays a file or URL through the whole path (node, encrypted voice, fake Discord) and writes the
// audio that a listener received to a WAV. The first program for newcomers; needs no bot and no Discord.

import { realpathSync } from "node:fs";
import { basename, dirname, resolve } from "node:path";
import { parseArgs } from "node:util";
import { createLogger } from "../../src/log/log.ts";
import { decodeReceived } from "../listen/received.ts";
import { writeWav } from "../listen/wav.ts";
import { sleep } from "../sleep.ts";
import type { Bot } from "../test-environment/bot.ts";
import { TestEnvironment } from "../test-environment/test-environment.ts";
import { PRESETS } from "./presets.ts";

const HELP = `Usage: tonearm demo SONG [--out FILE] [--seconds N] [--volume N] [--filter NAME] [--no-dave]

Plays SONG (a file or an http(s) URL, any supported format) through a real node to a fake
Discord on this machine, end-to-end encrypted, and writes the audio that a listener received.

  --out FILE      the WAV file to write, default received.wav
  --seconds N     stop after N seconds
  --start N       start N seconds into the song
  --volume N      player volume, 0 to 1000, default 100 (Opus is then passed through untouched)
  --filter NAME   a well-known filter: ${Object.keys(PRESETS).slice(0, 8).join(", ")},
                  ${Object.keys(PRESETS).slice(8, 18).join(", ")},
                  ${Object.keys(PRESETS).slice(18).join(", ")}
  --no-dave       without end-to-end encryption, as in a stage channel
`;

const GUILD_ID = "200000000000000001";
const CHANNEL_ID = "300000000000000001";
const PROGRESS_INTERVAL_MS = 200;
/** Length limit of a song: the received audio is held in memory. */
const SECONDS_MAX = 3600;

interface DemoOptions {
  readonly song: string;
  readonly out: string;
  readonly seconds: number;
  readonly startSeconds: number;
  readonly volume: number;
  readonly filters: object;
  readonly hasDave: boolean;
}

/** Runs the demo with the arguments after `demo`; resolves with the exit status. */
export async function runDemo(args: string[]): Promise<number> {
  const options = readOptions(args);
  if (options === undefined) return 2;
  if (options === "help") return 0;
  const isUrl = /^https?:\/\//.test(options.song);
  const folder = isUrl ? undefined : dirname(resolve(options.song));
  const env = await TestEnvironment.start({
    media: folder === undefined ? {} : { root: realpathSync(folder) },
    logger: createLogger((level, message, fields) => {
      if (level === "warn" || level === "error") console.error(`${level}: ${message}`, fields);
    }),
  });
  try {
    const url = isUrl ? options.song : `${env.media.url}/${encodeURIComponent(basename(options.song))}`;
    return await play(env, url, options);
  } finally {
    await env.close();
  }
}

function readOptions(args: string[]): DemoOptions | "help" | undefined {
  try {
    const { values, positionals } = parseArgs({
      args,
      allowPositionals: true,
      options: {
        out: { type: "string", default: "received.wav" },
        seconds: { type: "string", default: String(SECONDS_MAX) },
        start: { type: "string", default: "0" },
        volume: { type: "string", default: "100" },
        filter: { type: "string" },
        "no-dave": { type: "boolean", default: false },
        help: { type: "boolean", short: "h", default: false },
      },
    });
    const [song, ...more] = positionals;
    if (values.help) {
      console.log(HELP);
      return "help";
    }
    if (song === undefined || more.length > 0) throw new Error("name one song: a file or an http(s) URL");
    return {
      song,
      out: values.out,
      seconds: Math.min(SECONDS_MAX, numberOf("--seconds", values.seconds)),
      startSeconds: numberOf("--start", values.start),
      volume: numberOf("--volume", values.volume),
      filters: filtersOf(values.filter),
      hasDave: !values["no-dave"],
    };
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : String(error)}\n\n${HELP}`);
    return undefined;
  }
}

function filtersOf(name: string | undefined): object {
  if (name === undefined) return {};
  const filters = new Map(Object.entries(PRESETS)).get(name.toLowerCase());
  if (filters === undefined) throw new Error(`there is no filter named "${name}"`);
  return filters;
}

function numberOf(name: string, text: string): number {
  const value = Number(text);
  if (!Number.isFinite(value) || value < 0) throw new Error(`${name} needs a number of 0 or more, not "${text}"`);
  return value;
}

async function play(env: TestEnvironment, url: string, options: DemoOptions): Promise<number> {
  const bot = await env.connectBot();
  const loaded = await bot.load(url);
  if (loaded.body.loadType !== "track") {
    console.error(`could not load ${options.song}: ${explain(loaded.body)}`);
    return 1;
  }
  const track = loaded.body.data as { encoded: string; info: { title: string; author: string; length: number } };
  const isEndless = track.info.length > SECONDS_MAX * 1000;
  console.log(
    `${track.info.title} by ${track.info.author}${isEndless ? " (stream)" : `, ${clock(track.info.length)}`}`,
  );

  await env.joinVoice(bot, { guildId: GUILD_ID, channelId: CHANNEL_ID, daveVersion: options.hasDave ? 1 : 0 });
  const { listener } = env.discord.channel(CHANNEL_ID);
  const startedMs = performance.now();
  let firstFrameMs: number | undefined;
  listener.onFrame = () => {
    firstFrameMs ??= performance.now();
  };
  await bot.update(GUILD_ID, {
    track: { encoded: track.encoded },
    volume: options.volume,
    filters: options.filters,
    position: Math.round(options.startSeconds * 1000),
  });
  await showProgress(bot, options, track.info.length);
  await bot.update(GUILD_ID, { track: { encoded: null } }).catch(() => undefined); // ended by itself already
  await bot.destroy(GUILD_ID);

  const exception = bot.events("TrackExceptionEvent")[0];
  if (exception !== undefined) console.error(`\nthe track failed: ${explain({ data: exception.exception })}`);
  await writeReceived(env, options.out);
  report(env, firstFrameMs === undefined ? undefined : firstFrameMs - startedMs);
  return exception === undefined && firstFrameMs !== undefined ? 0 : 1;
}

/** Shows the position that the node reports until the track or the time is over. */
async function showProgress(bot: Bot, options: DemoOptions, lengthMs: number): Promise<void> {
  const isTty = process.stdout.isTTY === true;
  const isOver = () => bot.events("TrackEndEvent").length > 0;
  const deadlineMs = performance.now() + options.seconds * 1000;
  while (!isOver() && performance.now() < deadlineMs) {
    await sleep(Math.min(PROGRESS_INTERVAL_MS, deadlineMs - performance.now()));
    const { state } = await bot.player(GUILD_ID);
    const whole = lengthMs > SECONDS_MAX * 1000 ? "" : ` / ${clock(lengthMs)}`;
    if (isTty) process.stdout.write(`\r  ${clock(state.position)}${whole}   voice ping ${state.ping} ms  `);
  }
  if (isTty) process.stdout.write("\n");
}

async function writeReceived(env: TestEnvironment, out: string): Promise<void> {
  const frames = env.discord.channel(CHANNEL_ID).listener.received;
  const audio = await decodeReceived(frames.map((frame) => frame.opus));
  await writeWav(out, { ...audio, sampleRateHz: 48_000 });
  console.log(`received ${frames.length} frames, written to ${out}`);
}

function report(env: TestEnvironment, latencyMs: number | undefined): void {
  const { total, violationCount } = env.discord.stats();
  const lines: [string, string][] = [
    [
      "start latency",
      latencyMs === undefined ? "no audio was received" : `${latencyMs.toFixed(1)} ms from PATCH to first packet`,
    ],
    ["frames sent", `${total.frames} (${total.audioFrames} of audio)`],
    ["frames lost", `${total.lostPackets} in transit, ${total.skippedFrames} skipped by the node`],
    [
      "lateness",
      `p50 ${total.latenessMsP50.toFixed(1)} ms, p99 ${total.latenessMsP99.toFixed(1)} ms, max ` +
        `${total.latenessMsMax.toFixed(1)} ms`,
    ],
    ["Discord's rules", violationCount === 0 ? "none broken" : `${violationCount} broken`],
  ];
  for (const [name, text] of lines) console.log(`  ${name.padEnd(16)}${text}`);
  for (const violation of env.discord.violations) console.log(`    ${violation.kind}: ${violation.detail}`);
}

function explain(answer: unknown): string {
  const data = (answer as { data?: { message?: unknown; cause?: unknown } | null }).data; // a load result or exception
  if (data === null || data === undefined) return "nothing was found";
  return `${String(data.message)} (${String(data.cause)})`;
}

function clock(ms: number): string {
  const seconds = Math.floor(ms / 1000);
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
}
