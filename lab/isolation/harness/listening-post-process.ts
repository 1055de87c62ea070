// The other end of the control players: fake Discord, their songs, a listener for each, and a timer on GET /version. A
// separate process; started by listening-post.ts, which talks to it over IPC.

import { monitorEventLoopDelay } from "node:perf_hooks";
import { FakeDiscord } from "../../discord/fake-discord.ts";
import { controlSongs } from "../../media-files/songs.ts";
import { MediaServer } from "../../media-server/media-server.ts";
import { answering } from "../../test-environment/side-process.ts";
import { AudioWatch } from "./audio-watch.ts";
import type { PostRequest, WindowResult } from "./listening-post.ts";
import { VersionClock } from "./version-clock.ts";

const discord = await FakeDiscord.start({ keepFrames: false, udpSocketCount: 2 });
const media = await MediaServer.start({ files: await controlSongs() });
const watches = new Map<string, AudioWatch>();
const ownDelay = monitorEventLoopDelay({ resolution: 2 });
ownDelay.enable();
let versionClock: VersionClock | undefined;
let openedMs = 0;

function closeWindow(): WindowResult {
  const nowMs = performance.now();
  return {
    seconds: (nowMs - openedMs) / 1000,
    received: [...watches.values()].map((watch) => watch.close(nowMs)),
    ...(versionClock?.read() ?? { versionMsMax: 0, versionFailures: 0 }),
    ownDelayMsMax: ownDelay.max / 1e6,
  };
}

function openWindow(): void {
  openedMs = performance.now();
  ownDelay.reset();
  versionClock?.reset();
  for (const watch of watches.values()) watch.open(openedMs);
}

async function answer(request: PostRequest): Promise<unknown> {
  switch (request.kind) {
    case "mediaUrl":
      return media.url;
    case "issueVoice":
      return discord.issueVoice(request);
    case "watch": {
      const { listener } = discord.channel(request.channelId);
      watches.set(request.guildId, await AudioWatch.start(request.guildId, listener, request.isDecoded));
      return undefined;
    }
    case "forget":
      return watches.clear();
    case "audioPackets":
      return discord.session(request.guildId).audioFrameCount;
    case "askVersion":
      versionClock?.stop();
      versionClock = new VersionClock(request.url);
      return undefined;
    case "openWindow":
      return openWindow();
    case "closeWindow":
      return closeWindow();
    default:
      return request satisfies never;
  }
}

answering(answer);
