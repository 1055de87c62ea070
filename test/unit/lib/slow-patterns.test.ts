// Texts of clients and sites that are crafted to make a search go back over what it has seen. One that takes time in
// proportion to the text needs milliseconds here, one that takes the square of it minutes: the time limit is the check.

import { expect, test } from "vitest";
import { IsrcIndex } from "../../../plugins/reading/isrc-index.ts";
import { toWireError } from "../../../src/bridge/wire-error.ts";
import { NodeError } from "../../../src/errors.ts";
import { escapeControls } from "../../../src/lib/escape-controls.ts";
import { redactText } from "../../../src/lib/redact-text.ts";
import { parseAttributes } from "../../../src/media/demux/hls/hls-attributes.ts";
import { looseContentRangeOf } from "../../../src/media/input/http-headers.ts";
import { parseStreamTitle } from "../../../src/media/input/icy-metadata.ts";
import { CookieJar, type PluginHost } from "../../../src/plugin-api/plugin.ts";
import { scoreRecording } from "../../../src/recordings/same-recording.ts";

const LENGTH = 200_000;
const RECORDING = { title: "x", author: "y", length: 1000, isStream: false, isrc: null };
const PIECES = [
  " ",
  "\n",
  "a",
  "1",
  "A-",
  "=",
  '"',
  "'",
  "(",
  " (",
  ":1",
  ";",
  ",",
  "/",
  "\\",
  "%25",
  "\u009b",
  "\u0301",
  "[]",
  "a, ",
  "ライブ",
];

const { signal } = new AbortController();
/** Asks at once, and finds nothing. */
const ISRCS = new IsrcIndex({
  cache: () => ({ getOrMake: async (_key: string, { make }: { make(signal: AbortSignal): unknown }) => make(signal) }),
  backend: () => ({ run: (work: () => unknown) => work() }),
  clock: { now: () => 0 },
  http: { json: async () => ({ data: [] }) },
} as unknown as PluginHost);

const READERS: readonly (readonly [string, readonly string[], (text: string) => unknown])[] = [
  ["an error", ["", "\n at "], (text) => toWireError(new NodeError("internal", "x", { cause: new Error(text) }))],
  ["a log line", ["", "token", "Authorization:", '"token"'], (text) => escapeControls(redactText(text))],
  ["the title of a station", ["", "StreamTitle='"], (text) => parseStreamTitle(Buffer.from(text))],
  ["a Content-Range", ["bytes", "bytes 1-2/3"], (text) => looseContentRangeOf({ "content-range": text })],
  ["a cookie", ["a=b;", "a=b; Domain"], (text) => new CookieJar().take("http://host.example/", text)],
  [
    "a recording",
    ["", "feat. ", "a prod by ", "a - ", "(from ", "02. ", "【", "👩‍🚀"],
    (text) =>
      scoreRecording({ ...RECORDING, title: text, author: text }, { ...RECORDING, title: `x ${text}`, author: text }),
  ],
  ["attributes of a playlist", ["", "A=", 'A="'], parseAttributes],
  [
    "the title of a track whose ISRC is wanted",
    ["", "(feat"],
    (text) => void ISRCS.find({ identifier: "x", title: text, author: text, lengthMs: 1000 }, signal),
  ],
];

test.each(READERS)("%s is read in time proportional to its length", (_name, starts, read) => {
  for (const start of starts) {
    for (const piece of PIECES) {
      const text = `${start}${piece.repeat(LENGTH / piece.length)}`;
      expect(() => [text, `${text}!`].map(read)).not.toThrow();
    }
  }
});
