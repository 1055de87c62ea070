// Answers that are lists of any length: short ones are sent like every other answer; of long ones each part is made
// when the client has taken those before, in turns with all other work, so that neither the thread nor memory has to
// hold the whole. Main thread; sent by control/server.

import { Readable } from "node:stream";
import { stringifyJson } from "../../lib/json.ts";
import type { WorkTurns } from "../../lib/work-turns.ts";

/** Characters of JSON that are made at once, but for the last item. */
const PART_LENGTH = 64 * 1024;

export interface ListAnswer {
  readonly kind: "list";
  readonly itemCount: number;
  /** The item at an index as it is sent, ready to become JSON. Must not fail: the answer may have begun. */
  readonly itemAt: (index: number) => unknown;
}

/** An array of what `write` makes of each item. */
export function listOf<Item>(items: readonly Item[], write: (item: Item) => unknown): ListAnswer {
  return { kind: "list", itemCount: items.length, itemAt: (index) => write(items[index]!) }; // asked for within bounds
}

/** The same list, each item in another form. */
export function mapList<Item>(list: ListAnswer, write: (item: Item) => unknown): ListAnswer {
  return { ...list, itemAt: (index) => write(list.itemAt(index) as Item) }; // the caller knows what the list is of
}

/** The whole JSON when it is short, else a stream of it. */
export function listBody(list: ListAnswer, turns: WorkTurns): Buffer | Readable {
  const first = nextPart(list, 0);
  if (first.end === list.itemCount) return Buffer.from(first.text);
  return Readable.from(parts(list, { first, turns }), { objectMode: false });
}

interface Part {
  readonly text: string;
  /** The index after its last item. */
  readonly end: number;
}

async function* parts(list: ListAnswer, { first, turns }: { first: Part; turns: WorkTurns }): AsyncGenerator<Buffer> {
  yield Buffer.from(first.text);
  for (let end = first.end; end < list.itemCount; ) {
    const turn = await turns.next();
    do {
      const part = nextPart(list, end);
      end = part.end;
      yield Buffer.from(part.text);
    } while (!turn.isOver && end < list.itemCount);
  }
}

function nextPart({ itemCount, itemAt }: ListAnswer, start: number): Part {
  let text = start === 0 ? "[" : "";
  let end = start;
  for (; end < itemCount && text.length < PART_LENGTH; end++) {
    text += `${end === 0 ? "" : ","}${stringifyJson(itemAt(end))}`;
  }
  return { text: end === itemCount ? `${text}]` : text, end };
}
