// Changes in a tree of fields that a reader may not expect: wrong lengths and counts, numbers at their limits, parts
// that are missing, empty, repeated, nested in themselves, or in the wrong position.

import { concat, repeat } from "../../media-files/bytes.ts";
import type { BytesField, Field, GroupField, NumberField, TextField } from "./field-tree.ts";

type Random = () => number;

interface FieldLocation {
  readonly field: Field;
  readonly parent: GroupField;
}

/** Repeats, nesting and long pieces stay below this, so that files stay small. */
const GROWTH_BYTES_MAX = 200_000;
const REPEATS_MAX = 3000;
const DEPTH_MAX = 400;

/** Changes the tree in place, one to four times; returns the changes for a report. */
export function mutate(root: GroupField, random: Random): string[] {
  const count = 1 + Math.floor(random() * 4);
  return Array.from({ length: count }, () => {
    const locations = locationsIn(root);
    const location = pick(locations, random);
    return location === undefined ? "nothing left" : `${location.field.name}: ${change(location, locations, random)}`;
  });
}

function change(location: FieldLocation, locations: readonly FieldLocation[], random: Random): string {
  // Where a field is matters to all kinds alike.
  if (random() < 0.25) return moveField(location, locations, random);
  switch (location.field.kind) {
    case "number":
      return changeNumber(location.field, locations, random);
    case "bytes":
      return changeBytes(location.field, random);
    case "text":
      return changeText(location.field, random);
    case "group":
      return changeGroup(location.field, location.parent, random);
  }
}

function moveField({ field, parent }: FieldLocation, locations: readonly FieldLocation[], random: Random): string {
  const index = parent.fields.indexOf(field);
  switch (Math.floor(random() * 4)) {
    case 0:
      parent.fields.splice(index, 1);
      return "left out";
    case 1: {
      const count = Math.min(
        Math.floor(random() ** 3 * REPEATS_MAX) + 1,
        Math.ceil(GROWTH_BYTES_MAX / (sizeOf(field) + 8)),
      );
      parent.fields.splice(index, 0, ...Array<Field>(count).fill(field));
      return `repeated ${count} times`;
    }
    case 2: {
      const other = Math.floor(random() * parent.fields.length);
      [parent.fields[index], parent.fields[other]] = [parent.fields[other]!, field];
      return "swapped positions";
    }
    default: {
      const elsewhere = pick(locations, random)?.field;
      const isSafe = elsewhere?.kind === "group" && elsewhere !== field && !contains(field, elsewhere);
      if (isSafe) elsewhere.fields.splice(Math.floor(random() * (elsewhere.fields.length + 1)), 0, field);
      return `also in ${isSafe ? elsewhere.name : "nothing"}`;
    }
  }
}

function changeNumber(field: NumberField, locations: readonly FieldLocation[], random: Random): string {
  const all = (1n << BigInt(field.bits)) - 1n;
  const numbers = locations.flatMap(({ field: other }) => (other.kind === "number" ? [other.value] : []));
  const values = [
    ...[0n, 1n, 2n, 255n, 256n, 65_535n, all, all - 1n, all >> 1n, (all >> 1n) + 1n, -field.value],
    ...[
      field.value + 1n,
      field.value - 1n,
      field.value * 2n,
      field.value / 2n,
      field.value ^ (1n << BigInt(Math.floor(random() * field.bits))),
    ],
    ...[pick(numbers, random) ?? 0n, BigInt(Math.floor(random() * 2 ** 32))],
  ];
  field.value = BigInt.asUintN(field.bits, pick(values, random) ?? 0n);
  return `is ${field.value}`;
}

function changeBytes(field: BytesField, random: Random): string {
  const { bytes } = field;
  const at = Math.floor(random() * bytes.length);
  const changes: (() => Uint8Array)[] = [
    () => new Uint8Array(0),
    () => bytes.subarray(0, at),
    () => bytes.subarray(at),
    () => new Uint8Array(bytes.length),
    () => new Uint8Array(bytes.length).fill(255),
    () => noise(bytes.length, random),
    () => concat(bytes, noise(Math.floor(random() * 2000), random)),
    () =>
      repeat(
        bytes,
        Math.max(1, Math.min(Math.floor(random() * 300), Math.floor(GROWTH_BYTES_MAX / (bytes.length + 1)))),
      ),
    () => bytes.map((byte) => (random() < 0.05 ? Math.floor(random() * 256) : byte)),
    () => bytes.with(Math.max(0, Math.min(at, bytes.length - 1)), Math.floor(random() * 256)),
  ];
  if (bytes.length === 0) field.bytes = noise(Math.floor(random() * 300), random);
  else field.bytes = (pick(changes, random) ?? (() => bytes))();
  return `${bytes.length} bytes to ${field.bytes.length}`;
}

function changeText(field: TextField, random: Random): string {
  const { text } = field;
  const long = Math.floor(random() ** 3 * GROWTH_BYTES_MAX);
  const values = [
    ...[
      "",
      "-1",
      "0",
      "1e400",
      "NaN",
      "9".repeat(400),
      "0x10",
      "\0",
      "\u{1f3b5}",
      "\r",
      "\n\n",
      '"',
      "'",
      ",",
      "=",
      "&a;",
      "../".repeat(20),
    ],
    ...[
      text + text,
      text.toUpperCase(),
      text.slice(0, -1),
      `-${text}`,
      `${text}${"x".repeat(long)}`,
      " ".repeat(long),
      `"${text}`,
    ],
    ...["http://[", "file:///etc/passwd", "index.m3u8", "data:,x", "//127.0.0.1:1/", `http://u:p@127.0.0.1:1/${text}`],
  ];
  field.text = pick(values, random) ?? "";
  return `is ${JSON.stringify(field.text.slice(0, 20))}`;
}

function changeGroup(field: GroupField, parent: GroupField, random: Random): string {
  switch (Math.floor(random() * 4)) {
    case 0:
      field.fields = [];
      return "empty";
    case 1: {
      const sizeBytes = sizeOf(field);
      const sizes = [
        0,
        1,
        sizeBytes - 1,
        sizeBytes + 1,
        sizeBytes * 2,
        255,
        65_535,
        2 ** 31,
        2 ** 32 - 1,
        2 ** 40,
        2 ** 53,
        -1,
      ];
      field.claimedBytes = pick(sizes, random) ?? 0;
      return `claims ${field.claimedBytes} bytes`;
    }
    case 2:
      return nest(field, parent, random);
    default:
      field.fields = field.fields.toSorted(() => random() - 0.5);
      return "shuffled";
  }
}

/** Nests the same kind of group around itself, many times over. */
function nest(field: GroupField, parent: GroupField, random: Random): string {
  const sizeBytes = sizeOf(field) + 20;
  const depth = Math.min(
    Math.floor(random() * DEPTH_MAX) + 1,
    Math.ceil(Math.sqrt((GROWTH_BYTES_MAX * 20) / sizeBytes)),
  );
  let inner: Field = field;
  for (let level = 0; level < depth; level++) inner = { ...field, fields: [inner], claimedBytes: undefined };
  parent.fields = parent.fields.map((one) => (one === field ? inner : one));
  return `nested ${depth} deep`;
}

/** Every field but the root, each where it first stands. */
function locationsIn(root: GroupField): FieldLocation[] {
  const seen = new Set<Field>();
  const locations: FieldLocation[] = [];
  const walk = (parent: GroupField): void => {
    for (const field of parent.fields) {
      if (seen.has(field)) continue;
      seen.add(field);
      locations.push({ field, parent });
      if (field.kind === "group") walk(field);
    }
  };
  walk(root);
  return locations;
}

function contains(field: Field, sought: Field): boolean {
  return field === sought || (field.kind === "group" && field.fields.some((inner) => contains(inner, sought)));
}

/** About: without heads and tails. */
function sizeOf(field: Field): number {
  if (field.kind === "number") return field.bits / 8;
  if (field.kind === "bytes") return field.bytes.length;
  if (field.kind === "text") return field.text.length;
  return field.fields.reduce((sum, inner) => sum + sizeOf(inner), 0);
}

export function noise(lengthBytes: number, random: Random): Uint8Array {
  return Uint8Array.from({ length: lengthBytes }, () => Math.floor(random() * 256));
}

export function pick<T>(values: readonly T[], random: Random): T | undefined {
  return values[Math.floor(random() * values.length)];
}
