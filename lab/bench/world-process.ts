// The world around the node under test, in a process of its own so that its CPU time is not the node's: fake Discord
// and web site. Started by world.ts, which talks to it over IPC.

import { ArrivalStatistics, type ArrivalSummary } from "../discord/arrival-statistics.ts";
import { FakeDiscord } from "../discord/fake-discord.ts";
import { MediaServer } from "../media-server/media-server.ts";
import { answering } from "../stage/side-process.ts";
import type { WorldRequest } from "./world.ts";

/** Every packet is counted and timed; this share of them is decrypted and checked in full, to keep the load low. */
const DECRYPT_EVERY = 25;

const [, , mediaRoot = "."] = process.argv;
const discord = await FakeDiscord.start({ keepFrames: false, decryptEvery: DECRYPT_EVERY, udpSocketCount: 4 });
const media = await MediaServer.start({ root: mediaRoot });
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
    case "soundFrames":
      return discord.stats().streams.find((stream) => stream.guildId === request.guildId)?.soundFrames ?? 0;
    default:
      return request satisfies never;
  }
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
