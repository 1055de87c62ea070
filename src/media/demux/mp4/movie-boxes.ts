// Reads the `moov` box of an MP4 file (ISO 14496-12 section 8.2) without loading it whole, and retains the parts that
// playback needs: the tables of one audio track, a few small boxes, the tags. Pictures and the tables of the video are
// skipped. Audio thread.

import { NodeError } from "../../../errors.ts";
import type { ByteCursor } from "../byte-cursor.ts";
import type { DemuxWork } from "../demux-work.ts";
import { readOwned } from "../owned-bytes.ts";
import type { Tags } from "../tags.ts";
import { BOX_HEADER_BYTES_MAX, Fields, parseBoxHeader } from "./box.ts";
import { type ItemList, readItem, readItemKeys, readUserText, USER_TEXTS } from "./item-list.ts";

/** Limit of all boxes read. */
const BOX_COUNT_MAX = 65_536;
/** Memory retained for one track: 24 hours of AAC with every packet in a separate chunk need 30 MB. */
const TRACK_BYTES_MAX = 32 * 1024 * 1024;
/** Limits for the boxes without a count, by name. Longer ones are cut off. */
const SMALL_BOXES: Readonly<Record<string, number>> = {
  mvhd: 128,
  mvex: 64 * 1024,
  tkhd: 128,
  elst: 32 * 1024,
  mdhd: 64,
  hdlr: 64,
  stsd: 1024 * 1024,
};
/** Limit for the names of tags, and for one tag. */
const KEYS_BYTES_MAX = 32 * 1024;
const ITEM_BYTES_MAX = 32 * 1024;
/** Offset of a table's count, and the bytes of its entries. */
const TABLES: Readonly<Record<string, { readonly countAt: number; readonly entryBytes: number }>> = {
  stts: { countAt: 4, entryBytes: 8 },
  stsc: { countAt: 4, entryBytes: 12 },
  stsz: { countAt: 8, entryBytes: 4 },
  stz2: { countAt: 8, entryBytes: 2 },
  stco: { countAt: 4, entryBytes: 4 },
  co64: { countAt: 4, entryBytes: 8 },
};
/** Boxes whose children are entered, and the boxes that are read, by their parent. */
const ENTERED: Readonly<Record<string, readonly string[]>> = {
  moov: ["trak", "udta", "meta"],
  trak: ["edts", "mdia"],
  mdia: ["minf"],
  minf: ["stbl"],
  udta: ["meta"],
  meta: ["ilst"],
};
const READ: Readonly<Record<string, readonly string[]>> = {
  moov: ["mvhd", "mvex"],
  trak: ["tkhd"],
  edts: ["elst"],
  mdia: ["mdhd", "hdlr"],
  stbl: ["stsd", ...Object.keys(TABLES)],
};

/** Bodies of boxes by their names. */
export type Boxes = Map<string, Uint8Array>;

interface MovieBoxes {
  /** The boxes of `moov` itself. */
  readonly own: Boxes;
  /** The boxes of the requested track. */
  readonly track: Boxes | undefined;
  readonly list: ItemList;
}

interface MovieBoxesOptions {
  /** Where `moov` ends; the cursor is at its first child. */
  readonly endBytes: number;
  readonly work: DemuxWork;
  /** Called for each audio track until it returns true. May throw. */
  readonly isNeeded: (track: Boxes) => boolean;
}

/** Reads the movie and leaves the cursor at its end. Throws NodeErrors. */
export async function readMovieBoxes(cursor: ByteCursor, options: MovieBoxesOptions): Promise<MovieBoxes> {
  const { endBytes } = options;
  if (endBytes > (cursor.endBytes ?? Number.POSITIVE_INFINITY)) throw cutOffError();
  const walk = new MovieWalk(cursor, options);
  await walk.enter("moov", endBytes);
  const { own, track } = walk;
  const list = walk.innerList ?? walk.outerList;
  return { own, track, list: { gapless: list?.gapless, tags: { ...walk.userTexts, ...list?.tags } } };
}

function isAudioTrack(track: Boxes): boolean {
  const handler = track.get("hdlr");
  return handler !== undefined && String.fromCharCode(...handler.subarray(8, 12)) === "soun";
}

class MovieWalk {
  readonly own: Boxes = new Map();
  track: Boxes | undefined;
  /** Tags of `udta`, which take precedence, and of a `meta` beside it. */
  innerList: ItemList | undefined;
  outerList: ItemList | undefined;
  /** Texts of QuickTime and 3GP. */
  readonly userTexts: Tags = {};
  readonly #cursor: ByteCursor;
  readonly #options: MovieBoxesOptions;
  #boxCount = 0;
  /** The retained boxes of the track that is being read. */
  #current: Boxes = new Map();
  #currentBytes = 0;
  #isInUserData = false;
  /** Types of items that are called by numbers in the current `meta`. */
  #keys: ReadonlyMap<string, string> = new Map();

  constructor(cursor: ByteCursor, options: MovieBoxesOptions) {
    this.#cursor = cursor;
    this.#options = options;
  }

  /** Reads the children of a box, from the cursor to its end. Nests no deeper than `ENTERED` does. */
  async enter(parent: string, endBytes: number): Promise<void> {
    const { work } = this.#options;
    const cursor = this.#cursor;
    while (endBytes - cursor.position >= 8) {
      if (work.isSpent) await work.yield();
      if (++this.#boxCount > BOX_COUNT_MAX) throw damaged("its index has too many parts");
      const head = await cursor.peek(BOX_HEADER_BYTES_MAX);
      if (head.length < 8) throw cutOffError();
      const header = parseBoxHeader(head);
      if (header === undefined) break;
      const childEnd = Math.min(cursor.position + header.sizeBytes, endBytes);
      cursor.skip(header.headerBytes);
      await this.#visit(parent, header.type, childEnd);
      cursor.moveTo(childEnd);
    }
    cursor.moveTo(endBytes);
  }

  async #visit(parent: string, type: string, endBytes: number): Promise<void> {
    if (parent === "ilst") return this.#readItem(this.#keys.get(type) ?? type, endBytes);
    if (parent === "meta" && type === "keys") return this.#readKeys(endBytes);
    if (parent === "udta" && Object.hasOwn(USER_TEXTS, type)) {
      const sizeBytes = Math.min(endBytes - this.#cursor.position, ITEM_BYTES_MAX);
      return readUserText(type, await this.#cursor.read(sizeBytes), this.userTexts);
    }
    const isTrackPart = parent !== "moov" && parent !== "udta" && parent !== "meta";
    if (isTrackPart && this.#current.has("hdlr") && !isAudioTrack(this.#current)) return;
    if (READ[parent]?.includes(type)) return this.#read(parent === "moov" ? this.own : this.#current, type, endBytes);
    if (!ENTERED[parent]?.includes(type)) return;
    if (type === "trak") return this.#readTrack(endBytes);
    if (type === "meta") {
      this.#keys = new Map();
      await this.#skipMetaVersion();
    }
    this.#isInUserData = parent === "udta" || (this.#isInUserData && parent === "meta");
    await this.enter(type, endBytes);
  }

  async #readTrack(endBytes: number): Promise<void> {
    if (this.track !== undefined) return;
    this.#current = new Map();
    this.#currentBytes = 0;
    await this.enter("trak", endBytes);
    if (isAudioTrack(this.#current) && this.#options.isNeeded(this.#current)) this.track = this.#current;
    else this.#options.work.release(this.#currentBytes);
  }

  /** Only the first box of a name is read. */
  async #read(boxes: Boxes, type: string, endBytes: number): Promise<void> {
    if (boxes.has(type)) return;
    const bodyBytes = endBytes - this.#cursor.position;
    const neededBytes = SMALL_BOXES[type] ?? (await this.#tableBytes(type));
    const sizeBytes = Math.min(bodyBytes, neededBytes);
    this.#currentBytes += sizeBytes;
    if (this.#currentBytes > TRACK_BYTES_MAX) throw damaged("its index is too large");
    const body = await readOwned(this.#cursor, { sizeBytes, work: this.#options.work, purpose: "its index" });
    if (body.length < sizeBytes) throw cutOffError();
    boxes.set(type, body);
  }

  /** Bytes that a table needs for the number of entries it claims. */
  async #tableBytes(type: string): Promise<number> {
    const { countAt, entryBytes } = TABLES[type] ?? { countAt: 0, entryBytes: 0 };
    const fields = new Fields(await this.#cursor.peek(countAt + 4));
    const isFixedSize = type === "stsz" && fields.u32(4) > 0;
    return countAt + 4 + (isFixedSize ? 0 : fields.u32(countAt) * entryBytes);
  }

  async #readKeys(endBytes: number): Promise<void> {
    const sizeBytes = Math.min(endBytes - this.#cursor.position, KEYS_BYTES_MAX);
    this.#keys = readItemKeys(await this.#cursor.read(sizeBytes));
  }

  async #readItem(type: string, endBytes: number): Promise<void> {
    const sizeBytes = Math.min(endBytes - this.#cursor.position, ITEM_BYTES_MAX);
    const list = this.#isInUserData ? this.innerList : this.outerList;
    const filled = list ?? { tags: {}, gapless: undefined };
    if (this.#isInUserData) this.innerList = filled;
    else this.outerList = filled;
    if (ITEM_TYPES.includes(type)) readItem(type, await this.#cursor.read(sizeBytes), filled);
  }

  /** In MP4 `meta` has version and flags, in QuickTime it starts with its first child. */
  async #skipMetaVersion(): Promise<void> {
    const head = await this.#cursor.peek(8);
    if (String.fromCharCode(...head.subarray(4, 8)) !== "hdlr") this.#cursor.skip(4);
  }
}

const ITEM_TYPES: readonly string[] = ["\u00a9nam", "\u00a9ART", "----"];

function cutOffError(): NodeError {
  return damaged("its index (moov) is cut off");
}

function damaged(why: string): NodeError {
  return new NodeError("media-damaged", `the MP4 file cannot be read: ${why}`);
}
