import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { listBody, writtenInto } from "../../../../src/control/api/list-answer.ts";
import { v3WrittenPart } from "../../../../src/control/api/v3/json-forms.ts";
import type { LoadResult } from "../../../../src/control/sources/load-result.ts";
import { systemClock } from "../../../../src/lib/clock.ts";
import { TaskSlicer } from "../../../../src/lib/task-slicer.ts";
import { createTrack, type Track } from "../../../../src/track/track.ts";
import { UNKNOWN_LENGTH_MS } from "../../../../src/track/track-details.ts";
import { writeTracks } from "../../../../src/track/written-tracks.ts";
import { ApiServer, PASSWORD } from "../../../support/api-server.ts";
import { buildTrack } from "../../../support/track-builder.ts";

const TRACKS = Array.from({ length: 5000 }, (_, index) => numbered(index));
const WRITTEN = writeTracks(TRACKS);
/** A text that looks like the JSON around it, and like a time beyond 2^53. */
const TRICKY = '[]}"length":99999999999999999999,"position":"99999999999999999999"';

let server: ApiServer;
let loads: Record<string, LoadResult>;

beforeAll(async () => {
  server = await ApiServer.start({ load: async (identifier) => loads[identifier] ?? { kind: "empty" } });
});

afterAll(() => server.close());

/** The same tracks, plain and written, in both kinds of lists. */
function bothWays(tracks: readonly Track[]): Record<string, LoadResult> {
  const playlist = { name: TRICKY, selectedTrack: tracks.length - 1, pluginInfo: { tracks: [], [TRICKY]: TRICKY } };
  const written = writeTracks(tracks);
  return {
    playlist: { kind: "playlist", playlist: { ...playlist, tracks } },
    search: { kind: "search", tracks },
    "playlist-written": { kind: "playlist", playlist: { ...playlist, tracks: written } },
    "search-written": { kind: "search", tracks: written },
  };
}

async function load(version: string, identifier: string) {
  const { status, body, json, headers } = await server.request("GET", `${version}/loadtracks?identifier=${identifier}`);
  return { status, body, json, contentType: headers["content-type"] };
}

describe.each(["/v4", "/v3", ""])("written tracks in %s/loadtracks", (version) => {
  test.each([0, 1, 99, 100, 101, 5000])("are answered as the same %i tracks that are not", async (count) => {
    loads = bothWays(TRACKS.slice(0, count));
    for (const kind of ["playlist", "search"]) {
      const written = await load(version, `${kind}-written`);
      expect(written.json).toBeDefined();
      expect(written).toEqual(await load(version, kind));
    }
  });

  test("keep texts and times that are easily taken for others", async () => {
    const { info, details } = buildTrack({ title: TRICKY, length: UNKNOWN_LENGTH_MS, position: -(2n ** 60n) });
    const members = { length: 99999999999999999999n, position: TRICKY, list: [] };
    const track = { ...createTrack(info, details, members), userData: { info: members } };
    loads = bothWays([buildTrack(), track, buildTrack({ title: "\ud800" })]);
    for (const kind of ["playlist", "search"]) {
      const { body } = await load(version, `${kind}-written`);
      expect(body).toBe((await load(version, kind)).body);
      expect(body).toContain('"length":9223372036854775807,');
      expect(body).toContain('"position":-1152921504606846976,');
    }
  });
});

test("a part that is not JSON ends its answer, and the node continues", async () => {
  const broken = { count: 200, parts: [...writeTracks(TRACKS.slice(0, 100)).parts, Buffer.from("{")] };
  loads = { broken: { kind: "search", tracks: broken }, ...bothWays(TRACKS.slice(0, 3)) };
  await expect(cutShort("/v3/loadtracks?identifier=broken")).resolves.toBe(true);
  expect((await load("/v3", "search-written")).json.tracks).toHaveLength(3);
});

describe("the thread", () => {
  test("the thread is free after each part that v3 rewrites, and one is rewritten before the answer begins", async () => {
    let count = 0;
    const slicer = new CountingSlicer(systemClock);
    const body = listBody(
      writtenInto({ tracks: [] }, WRITTEN.parts, (part) => {
        count++;
        return v3WrittenPart(part);
      }),
      slicer,
    );
    expect(count).toBe(1);
    let text = "";
    for await (const piece of body) text += piece;
    expect(JSON.parse(text).tracks).toHaveLength(5000);
    expect([WRITTEN.parts.length, count, slicer.count]).toEqual([50, 50, 49]);
  });

  test("the thread is free after each 256 KiB that v4 passes on", async () => {
    const slicer = new CountingSlicer(systemClock);
    const sizes: number[] = [];
    for await (const piece of listBody(writtenInto([], WRITTEN.parts), slicer)) sizes.push(piece.length);
    expect(Math.max(...sizes)).toBeLessThan(256 * 1024 + Math.max(...WRITTEN.parts.map((part) => part.length)) + 100);
    expect(slicer.count).toBe(sizes.length - 1);
  });
});

class CountingSlicer extends TaskSlicer {
  count = 0;

  override next() {
    this.count++;
    return super.next();
  }
}

/** Whether the connection ended within the answer. */
async function cutShort(path: string): Promise<boolean> {
  const answer = await fetch(`http://127.0.0.1:${server.port}${path}`, { headers: { Authorization: PASSWORD } });
  return answer.text().then(
    () => false,
    () => true,
  );
}

function numbered(index: number): Track {
  return buildTrack({
    identifier: `http://media.example/${index}.mp3`,
    title: `Ä title of usual length, number ${index}`,
    artworkUrl: `http://media.example/${index}/artwork.jpg`,
    ...(index % 50 === 0 ? { isStream: true, isSeekable: false, length: UNKNOWN_LENGTH_MS } : {}),
  });
}
