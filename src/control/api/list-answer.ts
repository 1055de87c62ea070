// Answers that are lists of any length. Short lists are sent like every other answer. Each part of a long list is made
// when the client has taken the previous ones, in time slices shared with all other work, so that neither the thread
// nor memory has to hold the whole list. Main thread; sent by control/server.

import { Readable } from "node:stream";
import { stringifyJson } from "../../lib/json.ts";
import type { TaskSlicer } from "../../lib/task-slicer.ts";

/** Characters of JSON that are made at once, but for the last item. */
const PART_LENGTH = 64 * 1024;
/** Bytes that are written already and are sent at once, but for the last part of them. */
const PIECE_SIZE_BYTES = 256 * 1024;
const COMMA = Buffer.from(",");

export interface ListAnswer {
  readonly kind: "list";
  readonly itemCount: number;
  /** The item at an index as it is sent, ready to become JSON. Must not fail: the answer may have started. */
  readonly itemAt: (index: number) => unknown;
}

/** JSON with a long list in it that is written already, in parts: items with commas between them. */
export interface WrittenAnswer {
  readonly kind: "written";
  /** The text before the first item. */
  readonly head: string;
  readonly parts: readonly Uint8Array[];
  /** The text after the last item. */
  readonly tail: string;
  /** Converts a part to the form that is sent, in its own time slice. Undefined: the part is sent unchanged. */
  readonly rewrite: ((part: Uint8Array) => string) | undefined;
}

/** An array of what `write` makes of each item. */
export function listOf<Item>(items: readonly Item[], write: (item: Item) => unknown): ListAnswer {
  return { kind: "list", itemCount: items.length, itemAt: (index) => write(items[index]!) }; // asked for within bounds
}

/** The list with each item converted by `write`. */
export function mapList<Item>(list: ListAnswer, write: (item: Item) => unknown): ListAnswer {
  return { ...list, itemAt: (index) => write(list.itemAt(index) as Item) }; // the caller knows what the list is of
}

/** `value` as JSON, with the items of `parts` in the last of its empty lists. */
export function writtenInto(
  value: unknown,
  parts: readonly Uint8Array[],
  rewrite?: (part: Uint8Array) => string,
): WrittenAnswer {
  const text = stringifyJson(value);
  const at = text.lastIndexOf("[]") + 1;
  return { kind: "written", head: text.slice(0, at), parts, tail: text.slice(at), rewrite };
}

/** The whole JSON when it is short, else a stream of it. */
export function listBody(answer: ListAnswer | WrittenAnswer, slicer: Slicer): Buffer | Readable {
  const pieces = answer.kind === "list" ? listPieces(answer) : writtenPieces(answer);
  const first = pieces.next();
  if (first.done === true) return first.value;
  const isOnePerSlice = answer.kind === "written";
  return Readable.from(inSlices(pieces, { first: first.value, slicer, isOnePerSlice }), { objectMode: false });
}

/** That of the client's account. */
type Slicer = Pick<TaskSlicer, "next">;

/** Yields pieces of the JSON, each made when it is asked for, and returns the last one. */
type Pieces = Generator<Buffer, Buffer>;

async function* inSlices(
  pieces: Pieces,
  {
    first,
    slicer,
    isOnePerSlice,
  }: { readonly first: Buffer; readonly slicer: Slicer; readonly isOnePerSlice: boolean },
): AsyncGenerator<Buffer> {
  yield first;
  for (let isLast = false; !isLast; ) {
    const slice = await slicer.next();
    do {
      const piece = pieces.next();
      isLast = piece.done === true;
      yield piece.value;
    } while (!isOnePerSlice && !slice.isOver && !isLast);
  }
}

function* listPieces({ itemCount, itemAt }: ListAnswer): Pieces {
  let text = "[";
  for (let index = 0; index < itemCount; index++) {
    if (text.length >= PART_LENGTH) {
      yield Buffer.from(text);
      text = "";
    }
    text += `${index === 0 ? "" : ","}${stringifyJson(itemAt(index))}`;
  }
  return Buffer.from(`${text}]`);
}

function* writtenPieces({ head, parts, tail, rewrite }: WrittenAnswer): Pieces {
  let piece: Uint8Array[] = [Buffer.from(head)];
  let sizeBytes = 0;
  for (const [index, part] of parts.entries()) {
    const items = rewrite === undefined ? part : Buffer.from(rewrite(part));
    piece.push(items);
    sizeBytes += items.length;
    if (index === parts.length - 1) break;
    piece.push(COMMA);
    if (rewrite === undefined && sizeBytes < PIECE_SIZE_BYTES) continue;
    yield Buffer.concat(piece);
    piece = [];
    sizeBytes = 0;
  }
  return Buffer.concat([...piece, Buffer.from(tail)]);
}
