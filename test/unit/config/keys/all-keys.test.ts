import { expect, test } from "vitest";
import { ALL_KEYS, readAllKeys } from "../../../../src/config/keys/all-keys.ts";
import type { Key } from "../../../../src/config/keys/key.ts";

const TEXTS = [
  "true",
  "false",
  "0",
  "20",
  "150",
  "1001",
  "70000",
  "192.0.2.7",
  "/x",
  "x",
  "LOADBALANCE",
  "ws",
  "libopus",
  "json",
  "http://a.test",
  "a:b:1",
  "JKS",
  "need",
  "TLSv1.3",
  "audio",
];
const TAILS = { one: [undefined], list: [undefined], map: ["lavalink", "karaoke"], tree: ["0.path", "0.dependency"] };

/** A value other than the default, which some text stands for. */
function otherValue<T>(key: Key<T>): T {
  for (const text of ["WARN", ...TEXTS]) {
    for (const tail of TAILS[key.shape]) {
      let isGood = true;
      const report = { problem: () => (isGood = false), warning: () => {} };
      const value = key.read([{ tail, text, location: "here" }], report);
      if (isGood && JSON.stringify(value) !== JSON.stringify(key.defaultValue)) return value;
    }
  }
  return key.defaultValue;
}

test("every key is read once, whatever the others say; or its settings would be forgotten", () => {
  const read: string[] = [];
  const unchanged: string[] = [];
  readAllKeys((key) => {
    const value = otherValue(key);
    if (value === key.defaultValue && key.docs.noEffect === undefined) unchanged.push(key.path);
    read.push(key.path);
    return value;
  });
  expect(unchanged).toEqual([]);
  expect(read).toEqual(ALL_KEYS.map(({ path }) => path));
  expect(new Set(read).size).toBe(read.length);
});
