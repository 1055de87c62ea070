// The further pages of a long list, several at once. Plugin thread.

import { SourceError } from "../../src/plugin-api/plugin.ts";
import type { FoundList } from "./found.ts";

const PAGES_AT_ONCE = 8;
/** As many as a list of 10,000 entries has with half of what is asked for in each. */
const PAGES_MAX = 200;

interface ListPages {
  readonly signal: AbortSignal;
  /** Entries of a page. */
  readonly pageSize: number;
  /** Entries that are loaded at most. */
  readonly entriesMax: number;
  /** Requests up to `limit` entries, the first of which is at this index. */
  page(offset: number, limit: number): Promise<FoundList>;
}

export interface CompleteList {
  readonly list: FoundList;
  /** Why a part of it is missing. */
  readonly trouble: SourceError | undefined;
}

/** The list with the entries behind its first ones; those that cannot be loaded are left out. */
export async function completeList(
  first: FoundList,
  { signal, pageSize, entriesMax, page }: ListPages,
): Promise<CompleteList> {
  const parts = [first];
  const troubles: unknown[] = [];
  const load = async (offsets: readonly number[], limit = pageSize): Promise<void> => {
    for (const result of await Promise.allSettled(offsets.map((offset) => page(offset, limit)))) {
      if (result.status === "rejected") troubles.push(result.reason);
      else if (!parts.some((part) => isSame(part, result.value))) parts.push(result.value);
    }
    signal.throwIfAborted();
  };
  // The first ones may not tell how many there are.
  if (first.totalCount === undefined) await load([first.entryCount]);
  const { offsets, step } = offsetsOf(parts, { pageSize, entriesMax });
  for (let at = 0; at < offsets.length && troubles.length === 0; at += PAGES_AT_ONCE) {
    await load(offsets.slice(at, at + PAGES_AT_ONCE), step);
  }
  // There may be more than it says.
  for (let known = 0; known < parts.length && troubles.length === 0; ) {
    known = parts.length;
    const count = countOf(parts);
    const isFull = (parts.at(-1)?.entryCount ?? 0) >= pageSize;
    if (isFull && count > (totalOf(parts) ?? count) && count < entriesMax) await load([count]);
  }
  const unexpected = troubles.find((trouble) => !(trouble instanceof SourceError));
  if (unexpected !== undefined) throw unexpected;
  const [count, expected] = [countOf(parts), Math.min(totalOf(parts) ?? 0, entriesMax)];
  if (count < expected) troubles.push(new SourceError("changed", `Spotify answered ${count} of ${expected} entries`));
  const isWhole = troubles.length === 0 && count < entriesMax;
  const totalCount = totalOf(parts) ?? (isWhole ? count : undefined);
  const tracks = parts.flatMap((part) => part.tracks).slice(0, entriesMax);
  return { list: { ...first, tracks, totalCount }, trouble: troubles[0] as SourceError | undefined }; // as checked
}

/** Where the pages begin that are missing, and how many entries each of them has. */
function offsetsOf(
  parts: readonly FoundList[],
  { pageSize, entriesMax }: Pick<ListPages, "pageSize" | "entriesMax">,
): { readonly offsets: readonly number[]; readonly step: number } {
  const start = countOf(parts);
  const { entryCount = 0, totalCount } = parts.at(-1) ?? {};
  const isFull = entryCount >= pageSize;
  const end = Math.min(totalCount ?? (isFull ? entriesMax : start), entriesMax);
  if (entryCount === 0) return { offsets: [], step: pageSize };
  // A site may give less at once than it is asked for.
  const step = Math.min(entryCount, pageSize);
  const count = Math.min(Math.max(Math.ceil((end - start) / step), 0), PAGES_MAX);
  return { offsets: Array.from({ length: count }, (_, index) => start + index * step), step };
}

function countOf(parts: readonly FoundList[]): number {
  return parts.reduce((sum, { entryCount }) => sum + entryCount, 0);
}

/** As the site says. */
function totalOf(parts: readonly FoundList[]): number | undefined {
  return parts.find((part) => part.totalCount !== undefined)?.totalCount;
}

/** A page that comes again, whatever is asked for. Files of a playlist's owner differ in their titles only. */
function isSame({ tracks: one }: FoundList, { tracks: other }: FoundList): boolean {
  const isEqual = (index: number): boolean => {
    const [a, b] = [one[index], other[index]];
    return a?.id === b?.id && a?.title === b?.title && a?.author === b?.author;
  };
  return one.length > 1 && one.length === other.length && one.every((_track, index) => isEqual(index));
}
