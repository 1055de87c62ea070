// Tags as taggers write them, well and badly: ID3 of every version, ID3v1, APE, Lyrics3. For made files. Lab only.

import { ascii, be, concat, le } from "./bytes.ts";

/** ID3's text encodings by their number: Latin-1, UTF-16 with a byte order mark, UTF-16BE, UTF-8. */
export type TextEncoding = 0 | 1 | 2 | 3;

/** A text in one of ID3's encodings, with the byte that names it. Code points above 255 are lost in Latin-1. */
export function id3Text(text: string, encoding: TextEncoding): Uint8Array {
  const bytes = {
    0: () => ascii(text),
    1: () => concat(Uint8Array.of(0xff, 0xfe), utf16le(text)),
    2: () => utf16le(text).map((_, index, all) => all[index ^ 1]!),
    3: () => new Uint8Array(Buffer.from(text, "utf8")),
  }[encoding]();
  return concat(Uint8Array.of(encoding), bytes);
}

interface Id3Frame {
  /** Three letters in version 2.2, else four bytes. */
  readonly id: string;
  readonly body: Uint8Array;
}

interface Id3Options {
  /** Of the header and the frames' sizes. */
  readonly version: 2 | 3 | 4;
  readonly frames: readonly Id3Frame[];
  /** 2.4 with sizes that are plain numbers, as iTunes wrote them. */
  readonly hasPlainSizes?: boolean;
  /** Every 0xff that is followed by 0xe0 or more, or by 0, gets a 0 behind it; in 2.4 in the frames, else in the whole tag. */
  readonly isUnsynchronised?: boolean;
  readonly paddingBytes?: number;
  /** An extended header of six bytes in front of the frames, 2.3 only. */
  readonly hasExtendedHeader?: boolean;
}

/** An ID3v2 tag, to stand before audio. */
export function id3Tag(options: Id3Options): Uint8Array {
  const { version, frames, paddingBytes = 0, hasExtendedHeader = false, isUnsynchronised = false } = options;
  const extended = hasExtendedHeader ? concat(be(6, 4), be(0, 6)) : new Uint8Array(0);
  const plain = concat(extended, ...frames.map((frame) => frameBytes(frame, options)), new Uint8Array(paddingBytes));
  const body = isUnsynchronised && version < 4 ? unsynchronise(plain) : plain;
  const flags = (isUnsynchronised ? 0x80 : 0) | (hasExtendedHeader ? 0x40 : 0);
  return concat(ascii("ID3"), Uint8Array.of(version, 0, flags), syncSafe(body.length), body);
}

function frameBytes({ id, body: plain }: Id3Frame, options: Id3Options): Uint8Array {
  const { version, hasPlainSizes = false, isUnsynchronised = false } = options;
  if (version === 2) return concat(ascii(id), be(plain.length, 3), plain);
  const isOwn = version === 4 && isUnsynchronised;
  const body = isOwn ? unsynchronise(plain) : plain;
  const size = version === 4 && !hasPlainSizes ? syncSafe(body.length) : be(body.length, 4);
  return concat(ascii(id), size, be(isOwn ? 2 : 0, 2), body);
}

/** A picture of this many bytes, for tags whose text follows it. */
export function id3Picture(sizeBytes: number): Uint8Array {
  return concat(ascii("\0image/jpeg\0\x03\0\xff\xd8\xff"), new Uint8Array(sizeBytes).fill(0x55));
}

/** The 128 bytes at the end of a file, in whatever bytes the texts are. */
export function id3v1(title: Uint8Array, artist: Uint8Array): Uint8Array {
  const field = (text: Uint8Array, length: number) =>
    concat(text.subarray(0, length), new Uint8Array(length)).subarray(0, length);
  return concat(ascii("TAG"), field(title, 30), field(artist, 30), new Uint8Array(65));
}

/** An APE tag of version 2 with header and footer, to stand behind audio. */
export function apeTag(items: Readonly<Record<string, string>>, paddingBytes = 0): Uint8Array {
  const all = { ...items, ...(paddingBytes > 0 ? { Padding: "x".repeat(paddingBytes) } : {}) };
  const body = concat(
    ...Object.entries(all).map(([key, value]) => {
      const text = Buffer.from(value, "utf8");
      return concat(le(text.length, 4), le(0, 4), ascii(key), Uint8Array.of(0), text);
    }),
  );
  const edge = (flags: number) =>
    concat(
      ascii("APETAGEX"),
      le(2000, 4),
      le(body.length + 32, 4),
      le(Object.keys(all).length, 4),
      le(flags, 4),
      le(0, 8),
    );
  return concat(edge(0xa0000000), body, edge(0x80000000));
}

/** Lyrics3 of version 2, to stand between audio and an ID3v1 tag. */
export function lyrics3(sizeBytes: number): Uint8Array {
  const fields = `LYRICSBEGINLYR${String(sizeBytes).padStart(5, "0")}${"la ".repeat(sizeBytes).slice(0, sizeBytes)}`;
  return ascii(`${fields}${String(fields.length).padStart(6, "0")}LYRICS200`);
}

function utf16le(text: string): Uint8Array {
  return new Uint8Array(Buffer.from(text, "utf16le"));
}

function syncSafe(value: number): Uint8Array {
  return Uint8Array.of((value >> 21) & 127, (value >> 14) & 127, (value >> 7) & 127, value & 127);
}

function unsynchronise(bytes: Uint8Array): Uint8Array {
  const out: number[] = [];
  for (const [index, byte] of bytes.entries()) {
    out.push(byte);
    const next = bytes[index + 1] ?? 0;
    if (byte === 0xff && (next >= 0xe0 || next === 0)) out.push(0);
  }
  return Uint8Array.from(out);
}
