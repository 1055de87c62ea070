// HLS streams from a web server that answers by a script, on a clock that only moves when told. Closed after the test.

import { onTestFinished } from "vitest";
import type { Answer } from "../../lab/media-server/answer-plan.ts";
import { type LoggedRequest, MediaServer } from "../../lab/media-server/media-server.ts";
import { HlsDemuxer } from "../../src/media/demux/hls/hls-demuxer.ts";
import { FakeClock } from "./fake-clock.ts";
import { openFakeSegment } from "./fake-segments.ts";
import { createInputDeps, hurry } from "./input-builders.ts";

/** Starts the server; `open` takes the playlist's path, and the one that redirected to it. */
export async function startHls(script: (request: LoggedRequest) => Answer | undefined) {
  const server = await MediaServer.start({ script });
  const clock = new FakeClock();
  const deps = createInputDeps({ clock });
  onTestFinished(async () => {
    await deps.client.close();
    await server.close();
  });
  const open = async (path: string, originPath = path): Promise<HlsDemuxer> => {
    const originUrl = new URL(originPath, server.url);
    const opening = HlsDemuxer.open(new URL(path, server.url), { ...deps, originUrl, openSegment: openFakeSegment });
    const demuxer = await hurry(clock, opening);
    onTestFinished(() => demuxer.close());
    return demuxer;
  };
  const countOf = (path: string): number => server.requests.filter((request) => request.path === path).length;
  return { server, clock, open, countOf };
}
