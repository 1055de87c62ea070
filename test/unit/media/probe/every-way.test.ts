// Every fixture by path and from web servers with and without ranges and lengths: the answer may not depend on the way.
// Files hand out other kinds of arrays than sockets do, in other pieces.

import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ascii, concat } from "../../../../lab/media-files/bytes.ts";
import { MediaServer } from "../../../../lab/media-server/media-server.ts";
import { NodeError } from "../../../../src/errors.ts";
import type { Demuxer } from "../../../../src/media/demux/demuxer.ts";
import { type InputDeps, openInput } from "../../../../src/media/input/open-input.ts";
import { openDemuxer } from "../../../../src/media/probe/open-demuxer.ts";
import { FakeClock } from "../../../support/fake-clock.ts";
import { createInputDeps, hurry } from "../../../support/input-builders.ts";
import { id3Tag } from "../../../support/media-builders.ts";
import { readMediaFixture } from "../../../support/media-fixture.ts";

const FOLDERS = ["demux", "media"] as const;
const FIXTURES = FOLDERS.flatMap((folder) => {
  const url = new URL(`../../../fixtures/${folder}/`, import.meta.url);
  return readdirSync(url).map((name) => [`${folder}-${name}`, new URL(name, url)] as const);
});
const BEHIND_ID3 = ["plain.flac", "cbr.mp3", "aac.aac"];
const NAMES = [...FIXTURES.map(([name]) => name), ...BEHIND_ID3.map((name) => `id3-${name}`)];

const clock = new FakeClock();
const folder = mkdtempSync(join(tmpdir(), "tonearm-every-way-"));
let server: MediaServer;
let deps: InputDeps;

beforeAll(async () => {
  for (const [name, url] of FIXTURES) writeFileSync(join(folder, name), readFileSync(url));
  const title = concat(ascii("TIT2"), Uint8Array.of(0, 0, 0, 7, 0, 0, 0), ascii("Tagged"));
  for (const name of BEHIND_ID3) {
    writeFileSync(join(folder, `id3-${name}`), concat(id3Tag(4, 0, title), readMediaFixture(name)));
  }
  server = await MediaServer.start({ root: folder });
  deps = createInputDeps({ clock, settings: { localRoots: [folder] } });
});

afterAll(async () => {
  await deps.client.close();
  await server.close();
  rmSync(folder, { recursive: true, force: true });
});

/** What clients get to know, and the packets up to a limit, or the reason why it is refused. */
async function factsOf(name: string, way: string) {
  const input =
    way === "path"
      ? ({ kind: "local", path: join(folder, name), container: undefined } as const)
      : ({ kind: "http", url: `${server.url}/${way}/${name}`, container: undefined } as const);
  const { source } = await hurry(clock, openInput(input, deps));
  let demuxer: Demuxer;
  try {
    demuxer = await hurry(clock, openDemuxer(source, {}, deps.budget));
  } catch (error) {
    source.close();
    if (error instanceof NodeError) return { refusal: error.message };
    throw error;
  }
  const { codec, sampleRateHz, channelCount } = demuxer.stream;
  const { isSeekable, info } = demuxer;
  let packetBytes = 0;
  for (
    let packet = await hurry(clock, demuxer.next());
    packet !== undefined;
    packet = await hurry(clock, demuxer.next())
  )
    packetBytes += packet.data.length;
  demuxer.close();
  return { info, isSeekable, codec, sampleRateHz, channelCount, packetBytes };
}

test.each(NAMES)("%s gives the same answer by path and over HTTP with ranges", async (name) => {
  const byPath = await factsOf(name, "path");
  expect(await factsOf(name, "ranges")).toEqual(byPath);
  expect(byPath.refusal === undefined).toBe(!/speex|video-only|ac3/.test(name));
});

test.each(NAMES)("%s gives the same answer without ranges or length, except for what is at its end", async (name) => {
  const byPath = await factsOf(name, "path");
  for (const way of ["norange", "chunked", "close"]) {
    const facts = await factsOf(name, way);
    if (facts.info === undefined || byPath.info === undefined) {
      expect(facts).toEqual(byPath);
      continue;
    }
    const { lengthMs, ...rest } = facts.info;
    expect(byPath).toMatchObject({ ...facts, info: rest, isSeekable: byPath.isSeekable });
    if (lengthMs !== undefined) expect(lengthMs, way).toBe(byPath.info.lengthMs);
  }
});
