// The file of an entry: an ordinary Ogg Opus file (RFC 7845) of frames that were sent, whose comment says what it is and
// what its bytes must be. It begins with the first sample of the track (no pre-skip, as the transcoder hides the delay of
// the encoder), and its last granule is the length of the track, so start, length and positions are those of the first
// play. Audio thread.
//
//   page 0: OpusHead | page 1: OpusTags with "TONEARM_CACHE=1 <key> <samples> <SHA-256 of all further pages>" | frames

import type { OpusCacheKey } from "../../bridge/opus-cache.ts";
import { PAGE_SEGMENTS_MAX, segmentCountOf, writeOggPage } from "../demux/ogg/write-page.ts";
import { FRAME_SAMPLES, SAMPLE_RATE_HZ } from "../format/audio-format.ts";

/** Increase it when other audio is to be made of the same tracks: no former entry is found then. */
export const FORMAT_VERSION = 1;
const SERIAL = 1;
/** A second: a seek reads no more than it needs. */
const PAGE_FRAMES_MAX = 50;
const CHANNEL_COUNT = 2;
const VENDOR = "Tonearm";
const FIRST_OF_STREAM = 2;
const LAST_OF_STREAM = 4;
/** Longer than any track that is stored. */
const SAMPLE_DIGITS = 12;
const SHA256_DIGITS = 64;

/** What the head of an entry says. */
export interface EntryHead {
  readonly key: OpusCacheKey;
  readonly lengthSamples: number;
  /** Of everything behind the head, 64 hexadecimal digits. */
  readonly sha256: string;
}

/** The first two pages, always of the same size. */
export function writeEntryHead({ key, lengthSamples, sha256 }: EntryHead): Buffer {
  const samples = String(lengthSamples).padStart(SAMPLE_DIGITS, "0");
  const comment = Buffer.from(`TONEARM_CACHE=${FORMAT_VERSION} ${key} ${samples} ${sha256}`);
  const tags = Buffer.concat([
    Buffer.from("OpusTags"),
    u32le(VENDOR.length),
    Buffer.from(VENDOR),
    u32le(1),
    u32le(comment.length),
    comment,
  ]);
  const pages = [opusHead(), tags].map((packet, sequence) =>
    writeOggPage({
      serial: SERIAL,
      sequence,
      granule: 0,
      flags: sequence === 0 ? FIRST_OF_STREAM : 0,
      packets: [packet],
    }),
  );
  return Buffer.concat(pages);
}

const EMPTY_HEAD: EntryHead = {
  key: "0".repeat(SHA256_DIGITS),
  lengthSamples: 0,
  sha256: "0".repeat(SHA256_DIGITS),
};

export const ENTRY_HEAD_BYTES = writeEntryHead(EMPTY_HEAD).length;

/** Undefined when it is not exactly the head of that entry. */
export function readEntryHead(bytes: Uint8Array, key: OpusCacheKey): EntryHead | undefined {
  const text = Buffer.from(bytes).toString("latin1");
  const [, samples, sha256] =
    new RegExp(`${key} (\\d{${SAMPLE_DIGITS}}) ([0-9a-f]{${SHA256_DIGITS}})$`).exec(text) ?? [];
  if (samples === undefined || sha256 === undefined) return undefined;
  const head = { key, lengthSamples: Number(samples), sha256 };
  return writeEntryHead(head).equals(bytes) ? head : undefined;
}

/** Puts frames into pages. */
export class EntryPages {
  #frames: Uint8Array[] = [];
  #segmentCount = 0;
  #frameCount = 0;
  #sequence = 2;

  /** Takes the next frame. Returns the pages that are full, none or one. */
  add(frame: Uint8Array): readonly Uint8Array[] {
    const segmentCount = segmentCountOf(frame);
    const isFull = this.#frames.length >= PAGE_FRAMES_MAX || this.#segmentCount + segmentCount > PAGE_SEGMENTS_MAX;
    // The last page is not known to be the last before `end`: it waits for a frame behind it.
    const pages = isFull ? [this.#take(0, this.#frameCount * FRAME_SAMPLES)] : [];
    this.#frames.push(frame);
    this.#segmentCount += segmentCount;
    this.#frameCount += 1;
    return pages;
  }

  /** The last page. Undefined when the frames are not just as many as that length takes. */
  end(lengthSamples: number): Uint8Array | undefined {
    const paddingSamples = this.#frameCount * FRAME_SAMPLES - lengthSamples;
    if (this.#frameCount === 0 || paddingSamples < 0 || paddingSamples >= FRAME_SAMPLES) return undefined;
    return this.#take(LAST_OF_STREAM, lengthSamples);
  }

  #take(flags: number, granule: number): Uint8Array {
    const page = writeOggPage({ serial: SERIAL, sequence: this.#sequence, granule, flags, packets: this.#frames });
    this.#sequence += 1;
    this.#frames = [];
    this.#segmentCount = 0;
    return page;
  }
}

function opusHead(): Buffer {
  const head = Buffer.alloc(19);
  head.write("OpusHead");
  head[8] = 1;
  head[9] = CHANNEL_COUNT;
  head.writeUInt32LE(SAMPLE_RATE_HZ, 12);
  return head;
}

function u32le(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
}
