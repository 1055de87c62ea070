// Files from a station server: the answer looks like a station's, but its content has an end.

import { readFileSync } from "node:fs";
import { afterEach, expect, test } from "vitest";
import { MediaServer } from "../../../../lab/media-server/media-server.ts";
import { openInput } from "../../../../src/media/input/open-input.ts";
import { openDemuxer } from "../../../../src/media/probe/open-demuxer.ts";
import { FakeClock } from "../../../support/fake-clock.ts";
import { createInputDeps, hurry } from "../../../support/input-builders.ts";

const SONG = readFileSync(new URL("../../../fixtures/media/song.m4a", import.meta.url));

let cleanups: (() => unknown)[] = [];

afterEach(async () => {
  for (const cleanup of cleanups.reverse()) await cleanup();
  cleanups = [];
});

test.each(["icy", "shoutcast"])("an M4A with its index at the end is read behind the answer of /%s/", async (path) => {
  const server = await MediaServer.start({ files: { "song.m4a": SONG } });
  const clock = new FakeClock();
  const deps = createInputDeps({ clock });
  cleanups.push(
    () => server.close(),
    () => deps.client.close(),
  );
  const { source } = await openInput(
    { kind: "http", url: `${server.url}/${path}/song.m4a`, container: undefined },
    deps,
  );
  const demuxer = await hurry(clock, openDemuxer(source, {}, deps.budget));
  cleanups.push(() => demuxer.close());
  expect(demuxer.info).toMatchObject({ probeName: "mp4", lengthMs: expect.any(Number) });
  let count = 0;
  while ((await hurry(clock, demuxer.next())) !== undefined) count++;
  expect(count).toBeGreaterThan(100);
});
