import { expect, test } from "vitest";
import { trackName } from "../../../../dashboard/state/track-name.ts";

const UNTAGGED = { title: "Unknown title", author: "Unknown artist" };

test.each([
  ["https://cdn.example/a/night%20song.mp3?key=1#t=2", "night song.mp3", "cdn.example"],
  ["https://<redacted>@radio.example:8000/live?token=<redacted>", "live", "radio.example:8000"],
  ["http://radio.example:8000/", "radio.example:8000", "radio.example:8000"],
  ["http://radio.example:8000/;", "radio.example:8000", "radio.example:8000"],
  ["http://radio.example:8000/%20/;?x=1", "radio.example:8000", "radio.example:8000"],
  ["http://radio.example/夜/;", "夜", "radio.example"],
  ["http://radio.example/50%.mp3", "50%.mp3", "radio.example"],
  ["/srv/music/what?.flac", "what?.flac", "Unknown artist"],
  ["C:\\music\\one.wav", "one.wav", "Unknown artist"],
  [null, "Unknown title", "Unknown artist"],
])("an untagged track at %s is called %s, by %s", (uri, title, author) => {
  expect(trackName({ ...UNTAGGED, uri })).toEqual({ title, author });
});

test("an untagged track of a known author shows the author and the host, a tagged one only its tags", () => {
  const uri = "https://cdn.example/1.mp3";
  expect(trackName({ title: "", author: "Nora", uri })).toEqual({ title: "1.mp3", author: "Nora, cdn.example" });
  expect(trackName({ title: "One", author: "Nora", uri })).toEqual({ title: "One", author: "Nora" });
  expect(trackName({ title: " ", author: "", uri: null })).toEqual({ title: "Without a title", author: "" });
});
