import { expect, test } from "vitest";
import { ascii, be, concat } from "../../../../lab/media-files/bytes.ts";
import { cluster, ebml, matroskaHead, simpleBlock } from "../../../../lab/media-files/containers.ts";
import { openDemuxer } from "../../../../src/media/probe/open-demuxer.ts";
import { MemoryByteSource } from "../../../support/memory-byte-source.ts";
import { createTrackBudget } from "../../../support/track-budgets.ts";

interface Tag {
  readonly level?: number;
  readonly type?: string;
  readonly trackUid?: number;
  readonly chapterUid?: number;
  readonly title?: string;
  readonly artist?: string;
}

function element(id: number, value: number | string | undefined): Uint8Array {
  if (value === undefined) return new Uint8Array(0);
  return ebml(id, typeof value === "string" ? ascii(value) : be(value, 2));
}

function tagElement({ level, type, trackUid, chapterUid, title, artist }: Tag): Uint8Array {
  const targets = [
    element(0x68ca, level),
    element(0x63ca, type),
    element(0x63c5, trackUid),
    element(0x63c4, chapterUid),
  ];
  const texts = Object.entries({ TITLE: title, ARTIST: artist }).map(([name, text]) => {
    return text === undefined ? new Uint8Array(0) : ebml(0x67c8, concat(element(0x45a3, name), element(0x4487, text)));
  });
  return ebml(0x7373, concat(ebml(0x63c0, concat(...targets)), ...texts));
}

/** A file whose only track has the UID 1. */
async function infoOf(tags: readonly Tag[], fileTitle?: string) {
  const head = matroskaHead({ codec: "A_PCM/INT/LIT", rateHz: 8000, channels: 1, bitsPerSample: 16 }, 20);
  const title = fileTitle === undefined ? new Uint8Array(0) : ebml(0x1549a966, element(0x7ba9, fileTitle));
  const block = cluster(0, [simpleBlock(0, new Uint8Array(320))]);
  const bytes = concat(head, title, ebml(0x1254c367, concat(...tags.map(tagElement))), block);
  return (await openDemuxer(new MemoryByteSource(bytes), {}, createTrackBudget())).info;
}

const ALBUM: Tag = { level: 50, title: "Album", artist: "Album artist" };

test.each([
  ["the song's title, not the album's", [ALBUM, { level: 30, title: "Song" }], undefined, "Song"],
  ["the song's title before the file's", [{ level: 30, title: "Song" }], "File", "Song"],
  [
    "the track's own title before the song's",
    [
      { level: 30, title: "Song" },
      { trackUid: 1, title: "Own" },
    ],
    "File",
    "Own",
  ],
  ["the file's title before the album's", [ALBUM], "File", "File"],
  ["a title without a level", [ALBUM, { title: "Plain" }], undefined, "Plain"],
  ["the title of a film", [{ level: 50, type: "MOVIE", title: "Film" }], undefined, "Film"],
  ["no title of an album", [ALBUM], undefined, undefined],
  ["no title of a collection", [{ level: 70, title: "Box" }], undefined, undefined],
  ["no title of another track", [{ level: 30, trackUid: 2, title: "Other" }], undefined, undefined],
  ["no title of a chapter", [{ level: 30, chapterUid: 7, title: "Chapter" }], undefined, undefined],
  ["no title of a part of the song", [{ level: 20, title: "Movement" }], undefined, undefined],
] as const)("Matroska has %s", async (_, tags: readonly Tag[], fileTitle, wanted) => {
  expect((await infoOf(tags, fileTitle)).title).toBe(wanted);
});

test("Matroska takes the artist of the album only where the song has none", async () => {
  expect((await infoOf([ALBUM, { level: 30, title: "Song" }])).author).toBe("Album artist");
  expect((await infoOf([ALBUM, { level: 30, artist: "Singer" }])).author).toBe("Singer");
});
