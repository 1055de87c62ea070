// The world around the node under test: fake Discord and web site, in a separate process so that its CPU time is not
// counted as the node's. Started by world.ts, which talks to it over IPC.

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { ArrivalStatistics, type ArrivalSummary } from "../discord/arrival-statistics.ts";
import { FakeDiscord } from "../discord/fake-discord.ts";
import { steadinessOf } from "../discord/packet-timing.ts";
import { MediaServer } from "../media-server/media-server.ts";
import { answering } from "../test-environment/side-process.ts";
import { type Handshakes, monotonicMs, type WindowAudio, type WorldRequest } from "./world.ts";

/** Every packet is counted and timed; this share of them is decrypted and checked in full, to keep the load low. */
const DECRYPT_EVERY = 25;

const [, , mediaRoot = "."] = process.argv;
const discord = await FakeDiscord.start({ keepFrames: false, decryptEvery: DECRYPT_EVERY, udpSocketCount: 4 });
// In memory once: with a copy of a song for each of a thousand players this process would need gigabytes.
const songs = readdirSync(mediaRoot).filter((name) => name.startsWith("song."));
const files = Object.fromEntries(songs.map((name) => [name, readFileSync(join(mediaRoot, name))]));
const media = await MediaServer.start({ root: mediaRoot, files });
/** From the fake Discord's clock to the one that all processes share. */
const clockOffsetMs = monotonicMs() - performance.now();
let countedBefore = countFrames();
let windowStartMs = performance.now();
const sums = new Map<string, ArrivalStatistics>();

function answer(request: WorldRequest): unknown {
  switch (request.kind) {
    case "address":
      return { mediaUrl: media.url };
    case "issueVoice":
      return discord.issueVoice(request);
    case "stats":
      return { ...discord.stats().total, violations: discord.violations.slice(0, 5) };
    case "clearArrivals":
      discord.clearArrivals();
      return undefined;
    case "takeArrivals":
      return takeArrivals(request.sum);
    case "arrivalsOf":
      return sumOf(request.sum).summary();
    case "moveVoice":
      return discord.moveVoice(request);
    case "firstAudio":
      return request.guildIds.map(firstAudioOf);
    case "beginWindow":
      beginWindow();
      return undefined;
    case "endWindow":
      return endWindow();
    case "handshakes":
      return handshakes();
    case "cpuSeconds":
      return (process.cpuUsage().user + process.cpuUsage().system) / 1e6;
    default:
      return request satisfies never;
  }
}

function firstAudioOf(guildId: string): number | null {
  const atMs = discord.session(guildId).receivers.at(-1)?.firstAudioMs;
  return atMs === undefined ? null : atMs + clockOffsetMs;
}

function beginWindow(): void {
  windowStartMs = performance.now();
  countedBefore = countFrames();
  for (const { timing } of discord.receivers) timing.begin();
}

/** Streams that began within the window are counted but not timed, as they have yet to settle. */
function endWindow(): WindowAudio {
  const timings = discord.receivers.map(({ timing }) => timing);
  const seconds = (performance.now() - windowStartMs) / 1000;
  for (const timing of timings) timing.end();
  const counted = countFrames();
  return {
    seconds,
    ...steadinessOf(timings),
    silentFrames: counted.silent - countedBefore.silent,
    lostPackets: counted.lost - countedBefore.lost,
    skippedFrames: counted.skipped - countedBefore.skipped,
  };
}

function countFrames() {
  const counts = { silent: 0, lost: 0, skipped: 0 };
  for (const { frameCount, audioFrameCount, lostPackets, skippedFrames } of discord.receivers) {
    counts.silent += frameCount - audioFrameCount;
    counts.lost += lostPackets;
    counts.skipped += skippedFrames;
  }
  return counts;
}

function handshakes(): Handshakes {
  const closeCodes: Record<number, number> = {};
  for (const { closedBy, closeCode } of discord.connections) {
    if (closedBy === "server" && closeCode !== undefined) closeCodes[closeCode] = (closeCodes[closeCode] ?? 0) + 1;
  }
  return {
    upgrades: discord.upgradeCount,
    tlsAttempts: discord.tlsAttemptCount,
    closeCodes,
  };
}

function takeArrivals(name: string): ArrivalSummary {
  const arrivals = discord.takeArrivals();
  sumOf(name).merge(arrivals);
  return arrivals.summary();
}

function sumOf(name: string): ArrivalStatistics {
  const sum = sums.get(name) ?? new ArrivalStatistics();
  sums.set(name, sum);
  return sum;
}

answering(answer);
