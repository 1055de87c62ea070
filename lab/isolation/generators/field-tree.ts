// A file as a tree of its fields: numbers of some bits, bytes, text, and groups that write their length or checksum
// before or after their content. Generators build such trees, mutate.ts changes them, `render` makes bytes of them.

import { be, bits, concat, digits, le } from "../../media-files/bytes.ts";

export interface NumberField {
  readonly kind: "number";
  readonly name: string;
  value: bigint;
  readonly bits: number;
  readonly isLittleEndian: boolean;
}

export interface BytesField {
  readonly kind: "bytes";
  readonly name: string;
  bytes: Uint8Array;
}

/** Lines and words of formats that are text. */
export interface TextField {
  readonly kind: "text";
  readonly name: string;
  text: string;
}

export interface GroupField {
  readonly kind: "group";
  readonly name: string;
  fields: Field[];
  /** Puts head and tail around the body; `claimedBytes` is what it is to say its length is. */
  readonly wrap: Wrap;
  /** A lie about the length. */
  claimedBytes: number | undefined;
}

export type Field = NumberField | BytesField | TextField | GroupField;
export type Wrap = (body: Uint8Array, claimedBytes: number) => Uint8Array;

/** A number in whole bytes, most significant first. */
export function num(name: string, value: number | bigint, sizeBytes: number): NumberField {
  return { kind: "number", name, value: BigInt(value), bits: sizeBytes * 8, isLittleEndian: false };
}

/** A number, least significant byte first. */
export function numLe(name: string, value: number | bigint, sizeBytes: number): NumberField {
  return { ...num(name, value, sizeBytes), isLittleEndian: true };
}

/** A number of some bits; consecutive ones share bytes. */
export function bitNum(name: string, value: number | bigint, bitCount: number): NumberField {
  return { kind: "number", name, value: BigInt(value), bits: bitCount, isLittleEndian: false };
}

export function raw(name: string, bytes: Uint8Array | string): BytesField {
  return {
    kind: "bytes",
    name,
    bytes: typeof bytes === "string" ? new Uint8Array(Buffer.from(bytes, "latin1")) : bytes,
  };
}

export function text(name: string, value: string): TextField {
  return { kind: "text", name, text: value };
}

export function group(name: string, fields: Field[], wrap: Wrap = (body) => body): GroupField {
  return { kind: "group", name, fields, wrap, claimedBytes: undefined };
}

/** How many bytes may still be made. */
interface Space {
  bytes: number;
}

/** Bytes beyond `sizeBytesMax` are omitted: repeated parts within repeated parts have no end. */
export function render(field: Field, sizeBytesMax = 1_000_000): Uint8Array {
  return renderInto(field, { bytes: sizeBytesMax });
}

function renderInto(field: Field, space: Space): Uint8Array {
  const bytes = field.kind === "group" ? field.wrap(...bodyOf(field, space)) : renderLeaf(field);
  // Heads and tails cost something as well, so that empty groups come to an end.
  space.bytes -= field.kind === "group" ? 1 : bytes.length;
  return bytes;
}

function bodyOf(field: GroupField, space: Space): [body: Uint8Array, claimedBytes: number] {
  const body = renderFields(field.fields, space);
  return [body, field.claimedBytes ?? body.length];
}

function renderLeaf(field: Exclude<Field, GroupField>): Uint8Array {
  if (field.kind === "bytes") return field.bytes;
  if (field.kind === "text") return new Uint8Array(Buffer.from(field.text));
  return field.isLittleEndian ? le(field.value, field.bits >> 3) : be(field.value, Math.ceil(field.bits / 8));
}

function renderFields(fields: readonly Field[], space: Space): Uint8Array {
  const parts: Uint8Array[] = [];
  let pending = "";
  for (const field of fields) {
    if (space.bytes <= 0) break;
    const isUneven = field.kind === "number" && (pending !== "" || field.bits % 8 !== 0);
    if (isUneven) pending += digits(field.value, field.bits);
    if (isUneven && pending.length % 8 !== 0) continue;
    if (pending !== "") parts.push(bits(pending));
    pending = "";
    if (!isUneven) parts.push(renderInto(field, space));
  }
  if (pending !== "") parts.push(bits(pending));
  return concat(...parts);
}
