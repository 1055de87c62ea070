// The tags of a Matroska file (RFC 9559 section 5.1.8), each of which is about a track, the file, an album, a chapter …:
// collected while the head is read, and merged when the track to play is known. Audio thread.

import type { DemuxWork } from "../demux-work.ts";
import { decodeTag, setTag, type Tags, tagForName } from "../tags.ts";
import { ID, readElements, readUnsigned } from "./ebml.ts";

/** Tags that are kept: more than a file has tracks. */
const GROUP_COUNT_MAX = 64;
/** Fields of a small element: more is damage. */
const FIELD_COUNT_MAX = 64;
/** `TargetTypeValue` of a track or song. Lower ones are about parts of it, higher ones about albums and collections. */
const LEVEL_TRACK = 30;
/** `TargetType` of things that are one file with one title, though on the level of an album. */
const SINGLE_TYPES: readonly string[] = ["OPERA", "CONCERT", "MOVIE", "EPISODE"];
const OTHER_TARGETS: readonly number[] = [ID.tagEditionUid, ID.tagChapterUid, ID.tagAttachmentUid];

/** One `Tag` element. */
interface TagGroup {
  readonly tags: Tags;
  readonly target: Target;
}

interface Target {
  /** Undefined when the file does not say; muxers then mean the file or the track. */
  level: number | undefined;
  type: string;
  readonly trackUids: number[];
  isOther: boolean;
}

/** At most 64 tags of the file and its tracks. */
export class MatroskaTags {
  readonly #groups: TagGroup[] = [];

  /** True when nothing is missing that the protocol shows. */
  get isComplete(): boolean {
    return this.#groups.some(({ tags }) => tags.title !== undefined && tags.author !== undefined);
  }

  /** Reads the body of a `Tags` element. */
  async read(body: Uint8Array, work: DemuxWork): Promise<void> {
    for (const tag of readElements(body)) {
      if (work.isSpent) await work.yield();
      if (tag.id !== ID.tag || this.#groups.length >= GROUP_COUNT_MAX) continue;
      const target: Target = { level: undefined, type: "", trackUids: [], isOther: false };
      const tags: Tags = {};
      for (const { id, body: field } of readElements(tag.body)) {
        if (work.isSpent) await work.yield();
        if (id === ID.simpleTag) readSimpleTag(field, tags);
        else if (id === ID.targets) readTargets(field, target);
      }
      if (!target.isOther && Object.keys(tags).length > 0) this.#groups.push({ tags, target });
    }
  }

  /**
   * The tags for a track: its own ones first, then those about one song, the title of the file, those about whatever the
   * file is, and from an album the artist. Tags of other tracks never count.
   */
  merge(trackUid: number, fileTitle: string | undefined): Tags {
    const merged: Tags = {};
    const own = this.#groups.filter(({ target }) => trackUid !== 0 && target.trackUids.includes(trackUid));
    const common = this.#groups.filter(({ target }) => target.trackUids.length === 0);
    const isSong = ({ target: { level } }: TagGroup) => level === LEVEL_TRACK;
    const isFile = ({ target: { level } }: TagGroup) => level === undefined;
    const isAlbum = ({ target: { level } }: TagGroup) => level !== undefined && level > LEVEL_TRACK;
    for (const group of [...own.filter(isSong), ...own.filter(isFile), ...common.filter(isSong)])
      add(merged, group.tags);
    setTag(merged, "title", fileTitle ?? "");
    for (const { tags } of common.filter(isFile)) add(merged, tags);
    for (const { tags, target } of [...own, ...common].filter(isAlbum)) {
      const { title, isrc: _, ...rest } = tags;
      add(merged, rest);
      if (title !== undefined && SINGLE_TYPES.includes(target.type)) setTag(merged, "title", title);
    }
    return merged;
  }
}

function add(merged: Tags, tags: Tags): void {
  for (const [name, text] of Object.entries(tags)) setTag(merged, name as keyof Tags, text); // the names of Tags
}

function readTargets(body: Uint8Array, target: Target): void {
  for (const { id, body: field } of readElements(body, FIELD_COUNT_MAX)) {
    if (id === ID.targetTypeValue) target.level = readUnsigned(field);
    else if (id === ID.targetType) target.type = decodeTag(field.subarray(0, 32)).split("\0")[0]!.toUpperCase();
    // 0 is all tracks, all chapters …
    else if (id === ID.tagTrackUid && readUnsigned(field) !== 0) target.trackUids.push(readUnsigned(field));
    else if (OTHER_TARGETS.includes(id) && readUnsigned(field) !== 0) target.isOther = true;
  }
}

function readSimpleTag(body: Uint8Array, tags: Tags): void {
  let name: keyof Tags | undefined;
  let textBody: Uint8Array = new Uint8Array(0);
  for (const field of readElements(body, FIELD_COUNT_MAX)) {
    if (field.id === ID.tagName) name = tagForName(decodeTag(field.body.subarray(0, 32)));
    else if (field.id === ID.tagString) textBody = field.body;
  }
  if (name !== undefined) setTag(tags, name, decodeTag(textBody));
}
