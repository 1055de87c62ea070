import { isDeepStrictEqual } from "node:util";
import { describe, expect, test } from "vitest";
import { JsonDecimal, parseJson, plainJson, stringifyJson, toJsonInteger } from "../../../src/lib/json.ts";
import { seededRandom } from "../../support/seeded-random.ts";

describe("parsing", () => {
  test.each([
    ["null", null],
    ["true", true],
    [" false ", false],
    ["[]", []],
    ["{}", {}],
    ['{"a":[1,{"b":null}],"c":"x"}', { a: [1, { b: null }], c: "x" }],
    ['"\\u00e9\\n\\\\\\""', 'é\n\\"'],
    ["-0", -0],
    ["9007199254740991", 9007199254740991],
    ["9007199254740993", 9007199254740993n],
    ["9223372036854775807", 9223372036854775807n],
    ["1e2", 100],
    ['{"a":1,"a":2}', { a: 2 }],
  ])("%s", (text, expected) => {
    expect(parseJson(text)).toEqual(expected);
  });

  test("tells 50.0 from 50", () => {
    expect(parseJson("50.0")).toEqual(new JsonDecimal(50));
    expect(parseJson("1e-1")).toEqual(new JsonDecimal(0.1));
    expect(plainJson(parseJson('{"a":[50.0]}'))).toEqual({ a: [50] });
  });

  test("takes __proto__ for a name like any other", () => {
    const tree = plainJson(parseJson('{"__proto__":{"polluted":1}}'));
    expect(Object.keys(tree as object)).toEqual(["__proto__"]);
    expect("polluted" in {}).toBe(false);
    expect(stringifyJson(tree)).toBe('{"__proto__":{"polluted":1}}');
  });

  test.each([
    "",
    " ",
    "nul",
    "{",
    "[1,]",
    '{"a":1,}',
    "{a:1}",
    "{'a':1}",
    "01",
    "+1",
    "1.",
    ".5",
    "1e999",
    "NaN",
    "{} {}",
    "/*x*/1",
    '"a',
    '"\\x"',
    '"\n"',
    '"\\u12"',
    "\ufeff{}",
    '{"a" 1}',
    "[1 2]",
  ])("refuses %j", (text) => {
    expect(() => parseJson(text)).toThrow(SyntaxError);
  });

  test("refuses brackets without end before the stack does", () => {
    expect(() => parseJson("[".repeat(100_000))).toThrow("nested too deeply");
  });

  test("agrees with the engine on whatever both accept", () => {
    const texts = [
      '{"a":[1,2.5,-3e5],"b":{"c":"\\ud83d\\ude00"}}',
      "[[[]],{},true,null]",
      '"\\\\\\\\"',
      "-12345678901234",
    ];
    for (const text of texts) expect(plainJson(parseJson(text))).toEqual(JSON.parse(text));
  });

  test("agrees with the engine on which texts are JSON", () => {
    const seed = Date.now() % 2 ** 32;
    console.log(`seed ${seed}`);
    const random = seededRandom(seed);
    const pieces = [
      "{",
      "}",
      "[",
      "]",
      ",",
      ":",
      '"',
      '"a"',
      "1",
      "-0.5",
      "2e3",
      "true",
      "null",
      "\\",
      "\\n",
      " ",
      "\u0001",
      "é",
    ];
    const seedText = '{"a":[1,-2.5e3,"x\\n"],"b":{"c":null,"d":true}}';
    for (let round = 0; round < 20_000; round++) {
      const at = Math.floor(random() * seedText.length);
      const piece = pieces[Math.floor(random() * pieces.length)] ?? "";
      const text = seedText.slice(0, at) + piece + seedText.slice(at + Math.floor(random() * 3));
      const [ours, theirs] = [outcome(() => plainJson(parseJson(text))), outcome(() => JSON.parse(text))];
      if (!isDeepStrictEqual(ours, theirs)) expect([text, ours]).toEqual([text, theirs]);
    }
  });

  test("reads a long string of backslashes in one go", () => {
    const text = JSON.stringify("\\".repeat(1_000_000));
    expect(parseJson(text)).toBe("\\".repeat(1_000_000));
  });
});

function outcome(parse: () => unknown): unknown {
  try {
    return parse();
  } catch (error) {
    return error instanceof SyntaxError ? "refused" : error;
  }
}

describe("writing", () => {
  test("writes bigints as digits wherever they stand", () => {
    const value = { length: 2n ** 63n - 1n, list: [1n, { x: undefined, y: "9n" }], decimal: new JsonDecimal(1.5) };
    expect(stringifyJson(value)).toBe('{"length":9223372036854775807,"list":[1,{"y":"9n"}],"decimal":1.5}');
  });

  test("is JSON.stringify for everything else", () => {
    const value = { a: [undefined, null, Number.NaN], b: undefined, "c\n": "\u2028" };
    expect(stringifyJson(value)).toBe(JSON.stringify(value));
    expect(stringifyJson({ ...value, big: 1n }).replace(',"big":1', "")).toBe(JSON.stringify(value));
  });

  test("uses a bigint only beyond 2^53", () => {
    expect(toJsonInteger(5n)).toBe(5);
    expect(toJsonInteger(2n ** 60n)).toBe(2n ** 60n);
  });
});
