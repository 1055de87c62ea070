import { expect, test } from "vitest";
import { systemRandom } from "../../../src/lib/random.ts";
import { markOf, SEAL_BYTES, Sealing } from "../../../src/state/sealing.ts";

const MASTER = new Uint8Array(32).fill(7);
const SALT = new Uint8Array(16).fill(1);

function sealing({ master = MASTER, salt = SALT } = {}): Sealing {
  return new Sealing(master, salt, systemRandom);
}

test("a sealed value opens with the same key, salt and record only", () => {
  const sealed = sealing().seal("a", "täxt");
  expect(sealed.length).toBe(SEAL_BYTES + 5);
  expect(sealing().open("a", sealed)).toBe("täxt");
  expect(sealing().open("b", sealed)).toBeUndefined();
  expect(sealing({ salt: new Uint8Array(16) }).open("a", sealed)).toBeUndefined();
  expect(sealing({ master: new Uint8Array(32) }).open("a", sealed)).toBeUndefined();
});

test("a sealed value with any bit changed, or cut anywhere, does not open", () => {
  const sealed = sealing().seal("a", "text");
  for (let at = 0; at < sealed.length; at++) {
    const changed = Buffer.from(sealed);
    changed.writeUInt8((changed[at] ?? 0) ^ 1, at);
    expect(sealing().open("a", changed)).toBeUndefined();
    expect(sealing().open("a", sealed.subarray(0, at))).toBeUndefined();
  }
});

test("every seal has another nonce and another mark", () => {
  const all = Array.from({ length: 1000 }, () => sealing().seal("a", "text"));
  expect(new Set(all.map((sealed) => sealed.toString("hex", 0, 12))).size).toBe(1000);
  expect(new Set(all.map(markOf)).size).toBe(1000);
});

test("the check recognises the key, and no other", () => {
  const { check } = sealing();
  expect(sealing().isCheck(check)).toBe(true);
  expect(sealing({ salt: new Uint8Array(16) }).isCheck(check)).toBe(false);
  expect(sealing({ master: new Uint8Array(32) }).isCheck(check)).toBe(false);
  for (const text of ["", "zz", check.slice(2)]) expect(sealing().isCheck(text)).toBe(false);
});
