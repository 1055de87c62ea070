import { expect, test } from "vitest";
import { readIdentifier } from "../../../plugins/youtube/identifiers.ts";

const ALLOWED = { allowSearch: true, allowDirectVideoIds: true, allowDirectPlaylistIds: true };
const VIDEO = { kind: "video", videoId: "dQw4w9WgXcQ" };
const read = (identifier: string) => readIdentifier(identifier, ALLOWED);

test.each([
  "dQw4w9WgXcQ",
  "https://www.youtube.com/watch?v=dQw4w9WgXcQ&t=43s",
  "http://youtube.com/watch?v=dQw4w9WgXcQ",
  "youtube.com/watch?v=dQw4w9WgXcQ",
  "m.youtube.com/watch?v=dQw4w9WgXcQ#t=5",
  "https://music.youtube.com/watch?v=dQw4w9WgXcQ&si=abc",
  "https://www.youtube.com/watch?v=dQw4w9WgXcQand-more",
  "https://www.youtube.com/watch?v=dQw4w9WgXcQ&v=otherotherX",
  "https://www.youtube.com/watch?v=&v=dQw4w9WgXcQ",
  "https://www.youtube.com/watch?v=dQw4w9WgXcQ&list=WL",
  "https://www.youtube.com/watch?v=dQw4w9WgXcQ&list=LL",
  "https://www.youtube.com/watch?v=dQw4w9WgXcQ&list=LM",
  "https://youtu.be/dQw4w9WgXcQ?list=PLx1",
  "www.youtu.be/dQw4w9WgXcQ",
  "https://www.youtube.com/shorts/dQw4w9WgXcQ",
  "https://www.youtube.com/live/dQw4w9WgXcQ?feature=share",
  "https://music.youtube.com/embed/dQw4w9WgXcQ",
])("the identifier %s is a video", (identifier) => {
  expect(read(identifier)).toEqual(VIDEO);
});

test.each([
  ["https://www.youtube.com/watch?v=short"],
  ["https://www.youtube.com/watch?v=bad!bad!bad"],
  ["https://youtu.be/short"],
  ["ytsearch:"],
])("the identifier %s is YouTube's, but names nothing", (identifier) => {
  expect(read(identifier)).toEqual({ kind: "nothing" });
});

test.each([
  ["PLabc", { kind: "playlist", playlistId: "PLabc" }],
  ["UUabc", { kind: "playlist", playlistId: "UUabc" }],
  ["https://www.youtube.com/playlist?list=LL", { kind: "playlist", playlistId: "LL" }],
  ["https://music.youtube.com/playlist?list=OLAK5uy_x", { kind: "playlist", playlistId: "OLAK5uy_x" }],
  [
    "https://www.youtube.com/watch?v=dQw4w9WgXcQ&list=PLx1",
    { kind: "playlist", playlistId: "PLx1", selectedId: "dQw4w9WgXcQ" },
  ],
  [
    "https://music.youtube.com/watch?v=dQw4w9WgXcQ&list=RDAMVMdQw4w9WgXcQ",
    { kind: "mix", playlistId: "RDAMVMdQw4w9WgXcQ", selectedId: "dQw4w9WgXcQ" },
  ],
  ["https://www.youtube.com/playlist?list=RDMMdQw4w9WgXcQ", { kind: "mix", playlistId: "RDMMdQw4w9WgXcQ" }],
  [
    "https://www.youtube.com/playlist?list=RDdQw4w9WgXcQ",
    { kind: "mix", playlistId: "RDdQw4w9WgXcQ", selectedId: "dQw4w9WgXcQ" },
  ],
  ["ytsearch: a song ", { kind: "search", of: "videos", text: "a song" }],
  ["ytmsearch:ytsearch:x", { kind: "search", of: "music", text: "ytsearch:x" }],
  [
    "www.youtube.com/watch_videos?video_ids=dQw4w9WgXcQ,x",
    { kind: "redirect", url: "https://www.youtube.com/watch_videos?video_ids=dQw4w9WgXcQ,x" },
  ],
])("the identifier %s is %o", (identifier, query) => {
  expect(read(identifier)).toEqual(query);
});

test.each([
  "https://www.youtube.com/watch?list=PLx1",
  "https://www.youtube.com/watch/?v=dQw4w9WgXcQ",
  "https://www.youtube.com/clip/Ugkxabc",
  "https://www.youtube.com/@name",
  "https://www.youtube.com/channel/UCabc",
  "https://www.youtube.com/v/dQw4w9WgXcQ",
  "https://www.youtube-nocookie.com/embed/dQw4w9WgXcQ",
  "HTTPS://www.youtube.com/watch?v=dQw4w9WgXcQ",
  "https://www.music.youtube.com/watch?v=dQw4w9WgXcQ",
  "https://youtube.com.example.org/watch?v=dQw4w9WgXcQ",
  "https://example.org/?u=youtube.com/watch?v=dQw4w9WgXcQ",
  "https://www.youtube.com:8443/watch?v=dQw4w9WgXcQ",
  "https://www.youtube.com/embed/videoseries?list=PLx1",
  "https://www.youtube.com/embed/live_stream?channel=UCabc",
  "RDabcdefghijk",
  "OLAK5uy_abcdefghijklmnopqrstuvwxyz0123456",
  "FLabc",
  "LLabc",
  "YTSEARCH:x",
  "scsearch:x",
  "",
])("the identifier %s is not YouTube's", (identifier) => {
  expect(read(identifier)).toBeUndefined();
});
