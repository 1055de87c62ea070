// Describes bytes that are not known media, so that the user who gave the address sees what went wrong. Audio thread.

import { NodeError } from "../../errors.ts";

/** The start of a web page, in lower case. */
const PAGE = /^<(!doctype )?html/;

/** The error for content that no reader recognises, by its first bytes and what its server calls it. */
export function describeUnknown(head: Uint8Array, mimeType?: string): NodeError {
  if (isFeed(head, mimeType)) {
    return new NodeError("media-feed", "this is a feed, not a media file; a podcast is loaded as podcast:<address>");
  }
  return new NodeError("media-unknown-format", `unknown file format: ${describe(head)}`);
}

/** RSS or Atom. A page is not a feed, even if its MIME type says so. */
function isFeed(head: Uint8Array, mimeType: string | undefined): boolean {
  const start = startOf(head);
  if (!start.startsWith("<") || PAGE.test(start)) return false;
  return /^application\/(rss|atom)\+xml\b/i.test(mimeType ?? "") || /<(rss|feed)[\s>]/.test(start);
}

/** The start of a text, in lower case. */
function startOf(head: Uint8Array): string {
  const text = Buffer.from(head.subarray(0, 512)).toString("latin1");
  return text
    .replace(/^\u00ef\u00bb\u00bf/, "")
    .trimStart()
    .toLowerCase();
}

function describe(head: Uint8Array): string {
  if (head.length === 0) return "the file is empty";
  const text = Buffer.from(head.subarray(0, 512)).toString("latin1");
  const trimmed = startOf(head);
  if (PAGE.test(trimmed) || /<(head|body|title)[\s>]/.test(trimmed)) {
    return "this is a web page, not a media file; use the address of the media itself";
  }
  if (trimmed.startsWith("<?xml") || trimmed.startsWith("<")) return "this is XML, not a media file";
  if (/^(\{|\[\s*[[{"\d])/.test(trimmed) && isText(head)) return "this is JSON, not a media file";
  if (isText(head)) return "this is a text file without a playable address in it";
  const known = SIGNATURES.find(([start]) => text.startsWith(start));
  if (known !== undefined) return `this is ${known[1]}, which cannot be played`;
  return "nothing in it looks like audio the node can play";
}

/** Unsupported formats and formats played by mistake, by their first bytes. */
const SIGNATURES: readonly (readonly [start: string, name: string])[] = [
  ["\x89PNG", "a PNG picture"],
  ["\xff\xd8\xff", "a JPEG picture"],
  ["GIF8", "a GIF picture"],
  ["%PDF", "a PDF document"],
  ["PK\x03\x04", "a ZIP archive or office document"],
  ["Rar!", "a RAR archive"],
  ["7z\xbc\xaf", "a 7-Zip archive"],
  ["\x1f\x8b", "a gzip archive"],
  ["FLV", "an FLV video"],
  ["RIFF", "a RIFF file other than WAV"],
  ["FORM", "an AIFF file"],
  ["\x30\x26\xb2\x75", "a Windows Media file"],
  ["#!AMR", "an AMR recording"],
  ["MThd", "a MIDI file"],
  ["MAC ", "a Monkey's Audio file"],
  ["wvpk", "a WavPack file"],
  ["MPCK", "a Musepack file"],
  ["\x00\x00\x01\xba", "an MPEG programme stream"],
];

/** True when nearly all bytes are printable or white space; bytes from 0x80 count as UTF-8. */
function isText(head: Uint8Array): boolean {
  const sample = head.subarray(0, 512);
  let control = 0;
  for (const byte of sample) if (byte < 0x20 && byte !== 0x09 && byte !== 0x0a && byte !== 0x0d) control += 1;
  return control * 100 <= sample.length && isUtf8(sample);
}

function isUtf8(sample: Uint8Array): boolean {
  // A character may be cut off at the end of the sample: up to three replacement characters are ignored there.
  const text = new TextDecoder("utf-8").decode(sample);
  const first = text.indexOf("\ufffd");
  return first < 0 || first >= text.length - 3;
}
