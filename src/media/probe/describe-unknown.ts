// Describes bytes that are not known media, so that the user who gave the address sees what went wrong. Audio thread.

import { NodeError } from "../../errors.ts";

/** The start of a web page, in lower case. */
const PAGE = /^<(!doctype )?html/;

/**
 * The error for content that no reader recognises, by its first bytes (behind the tags in front of it) and what its
 * server calls it.
 */
export function describeUnknown(head: Uint8Array, mimeType?: string): NodeError {
  if (isFeed(head, mimeType)) {
    return new NodeError("media-feed", "this is a feed, not a media file; a podcast is loaded as podcast:<address>");
  }
  return new NodeError("media-unknown-format", `unknown file format: ${describe(head)}`);
}

/** RSS or Atom, also where their elements have a prefix. A page is not a feed, even if its MIME type says so. */
function isFeed(head: Uint8Array, mimeType: string | undefined): boolean {
  const start = startOf(head);
  if (!start.startsWith("<") || PAGE.test(start)) return false;
  return /^application\/(rss|atom)\+xml\b/i.test(mimeType ?? "") || /<([\w.-]+:)?(rss|feed)[\s>]/.test(start);
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
  const trimmed = startOf(head);
  if (PAGE.test(trimmed) || /<(head|body|title)[\s>]/.test(trimmed)) {
    return "this is a web page, not a media file; use the address of the media itself";
  }
  if (trimmed.startsWith("<?xml") || trimmed.startsWith("<")) return "this is XML, not a media file";
  if (/^(\{|\[\s*[[{"\d])/.test(trimmed) && isText(head)) return "this is JSON, not a media file";
  if (isText(head)) return "this is a text file without a playable address in it";
  const name = nameOf(head);
  if (name !== undefined) return `this is ${name}, which cannot be played`;
  return "nothing in it looks like audio the node can play";
}

/** The name of the format with its article; undefined when it is not known. */
function nameOf(head: Uint8Array): string | undefined {
  const text = Buffer.from(head.subarray(0, 2048)).toString("latin1");
  const known = SIGNATURES.find(([start, , at = 0]) => text.startsWith(start, at));
  return known?.[1] ?? FRAMES.find(([isFrame]) => isFrame(head))?.[1];
}

/** Unsupported formats and formats played by mistake, by their first bytes, or by those at a position. */
const SIGNATURES: readonly (readonly [start: string, name: string, at?: number])[] = [
  ["\x89PNG", "a PNG picture"],
  ["\xff\xd8\xff", "a JPEG picture"],
  ["GIF8", "a GIF picture"],
  ["WEBP", "a WebP picture", 8],
  ["%PDF", "a PDF document"],
  ["PK\x03\x04", "a ZIP archive or office document"],
  ["Rar!", "a RAR archive"],
  ["7z\xbc\xaf", "a 7-Zip archive"],
  ["\x1f\x8b", "a gzip archive"],
  ["\xfd7zXZ", "an XZ archive"],
  ["BZh", "a bzip2 archive"],
  ["FLV", "an FLV video"],
  ["AVI ", "an AVI video", 8],
  ["RIFX", "RIFX (WAV with the other byte order)"],
  ["RMID", "a MIDI file", 8],
  ["RIFF", "a RIFF file other than WAV"],
  ["riff\x2e\x91\xcf\x11", "Sony Wave64"],
  ["8SVX", "an IFF 8SVX sample", 8],
  ["16SV", "an IFF 16SV sample", 8],
  ["DSD ", "a DSD recording (DSF)"],
  ["FRM8", "a DSD recording (DFF)"],
  ["FORM", "an IFF file other than AIFF"],
  ["\x30\x26\xb2\x75", "a Windows Media file (ASF, WMA)"],
  ["#!AMR", "an AMR recording"],
  ["MThd", "a MIDI file"],
  ["MAC ", "a Monkey's Audio file (APE)"],
  ["wvpk", "a WavPack file"],
  ["MPCK", "a Musepack file (SV8)"],
  ["MP+", "a Musepack file (SV7)"],
  ["tBaK", "a TAK file"],
  ["TTA1", "a True Audio file (TTA)"],
  ["TTA2", "a True Audio file (TTA)"],
  ["OFR ", "an OptimFROG file"],
  ["ajkg", "a Shorten file"],
  ["LA0", "a LosslessAudio file"],
  ["RKA7", "an RKAU file"],
  ["ADIF", "AAC with an ADIF header"],
  ["caff", "a CAF file of an unknown version"],
  [".snd", "a Sun audio file (AU)"],
  ["dns.", "a Sun audio file (AU)"],
  [".RMF", "a RealMedia file"],
  [".ra\xfd", "a RealAudio file"],
  ["Creative Voice File", "a Creative voice file (VOC)"],
  ["TWIN", "a TwinVQ file"],
  ["Speex   ", "Speex"],
  ["#!SILK", "a SILK recording"],
  ["\x02#!SILK", "a SILK recording"],
  ["AA\x57\x90", "an Audible file"],
  ["\x57\x90\x75\x36", "an Audible file", 4],
  ["Extended Module:", "a module (XM)"],
  ["IMPM", "a module (Impulse Tracker)"],
  ["SCRM", "a module (Scream Tracker)", 44],
  ["MMD", "a module (OctaMED)"],
  ["MO3", "a module (MO3)"],
  ["MTM", "a module (MultiTracker)"],
  ["PSM ", "a module (PSM)"],
  ["PSID", "a C64 tune (SID)"],
  ["RSID", "a C64 tune (SID)"],
  ["NESM\x1a", "an NES tune (NSF)"],
  ["SNES-SPC700", "a SNES tune (SPC)"],
  ["Vgm ", "a VGM tune"],
  ["GBS\x01", "a Game Boy tune (GBS)"],
  ["ZXAYEMUL", "an AY tune"],
  ...["M.K.", "M!K!", "M&K!", "FLT4", "FLT8", "OCTA", "CD81", "4CHN", "6CHN", "8CHN"].map(
    (mark) => [mark, "a module (MOD)", 1080] as const,
  ),
  ["\x00\x00\x01\xba", "an MPEG programme stream"],
  ["\x00\x00\x01\xb3", "an MPEG video"],
];

/** Streams without a signature: two frames that follow each other, or a sync word that chance hardly makes. */
const FRAMES: readonly (readonly [isFrame: (head: Uint8Array) => boolean, name: string])[] = [
  [(head) => ac3FramesIn(head, (id) => id <= 10), "AC-3"],
  [(head) => ac3FramesIn(head, (id) => id > 10 && id <= 16), "E-AC-3"],
  [(head) => DTS_SYNCS.includes(hexAt(head, 0, 4)), "DTS"],
  [(head) => hexAt(head, 0, 4) === "64582025", "DTS-HD"],
  [(head) => hexAt(head, 4, 4) === "f8726fba" || hexAt(head, 4, 4) === "f8726fbb", "Dolby TrueHD or MLP"],
  [isLoas, "AAC in LOAS (LATM)"],
  [isMpegFrame, "MPEG audio (MP1, MP2 or MP3) that is damaged, in free format or too short"],
];

const DTS_SYNCS: readonly string[] = ["7ffe8001", "fe7f0180", "1fffe800", "ff1f00e8"];

/** By the upper five of the six bits that code the size. */
const AC3_KBPS = [32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384, 448, 512, 576, 640];
const AC3_RATES = [48_000, 44_100, 32_000];

function ac3FramesIn(head: Uint8Array, isVersion: (id: number) => boolean): boolean {
  const isSwapped = hexAt(head, 0, 2) === "770b";
  const bytes = isSwapped ? Buffer.from(head.subarray(0, head.length & ~1)).swap16() : head;
  if (hexAt(bytes, 0, 2) !== "0b77" || bytes.length < 6) return false;
  const id = bytes[5]! >> 3;
  if (!isVersion(id)) return false;
  const sizeBytes = id <= 10 ? ac3Size(bytes[4]!) : 2 * ((((bytes[2]! & 7) << 8) | bytes[3]!) + 1);
  return sizeBytes > 0 && (sizeBytes + 2 > bytes.length || hexAt(bytes, sizeBytes, 2) === "0b77");
}

function ac3Size(code: number): number {
  const [rate, kbps] = [AC3_RATES[code >> 6], AC3_KBPS[(code & 63) >> 1]];
  if (rate === undefined || kbps === undefined) return 0;
  const words = Math.floor((kbps * 1000 * 96) / rate);
  return 2 * (words + (rate === 44_100 ? code & 1 : 0));
}

/** AudioSyncStream: 11 bits of 0x2b7, 13 of length. */
function isLoas(head: Uint8Array): boolean {
  if (head.length < 3 || head[0] !== 0x56 || (head[1]! & 0xe0) !== 0xe0) return false;
  const next = 3 + (((head[1]! & 0x1f) << 8) | head[2]!);
  return next + 2 > head.length || (head[next] === 0x56 && (head[next + 1]! & 0xe0) === 0xe0);
}

function isMpegFrame(head: Uint8Array): boolean {
  // Not the byte order mark of UTF-16.
  if (head.length < 4 || head[0] !== 0xff || (head[1]! & 0xe0) !== 0xe0 || head[1] === 0xfe) return false;
  const [version, layer] = [(head[1]! >> 3) & 3, (head[1]! >> 1) & 3];
  return version !== 1 && layer !== 0 && head[2]! >> 4 !== 15 && ((head[2]! >> 2) & 3) !== 3;
}

function hexAt(bytes: Uint8Array, at: number, count: number): string {
  return Buffer.from(bytes.subarray(at, at + count)).toString("hex");
}

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
