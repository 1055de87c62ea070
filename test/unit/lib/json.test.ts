import { isDeepStrictEqual } from "node:util";
import { describe, expect, test } from "vitest";
import { seededRandom } from "../../../lab/seeded-random.ts";
import {
  JsonDecimal,
  JsonLimitError,
  jsonSizeBytes,
  parseJson,
  plainJson,
  stringifyJson,
  toJsonInteger,
} from "../../../src/lib/json.ts";

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

  test("parsing distinguishes 50.0 from 50", () => {
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

describe("bounds", () => {
  const list = (item: string, count: number) => `[${new Array(count).fill(item).join(",")}]`;

  test("keys and values are counted, and one too many is refused", () => {
    expect(parseJson(list("1", 16_383))).toHaveLength(16_383);
    expect(() => parseJson(list("1", 16_384))).toThrow("at most 16384");
    expect(() => parseJson(list('{"a":{}}', 5461))).not.toThrow();
    expect(() => parseJson(list('{"a":{}}', 5462))).toThrow(JsonLimitError);
    expect(parseJson(list("1", 9), { valueCountMax: 10 })).toHaveLength(9);
    expect(() => parseJson(list("1", 10), { valueCountMax: 10 })).toThrow(JsonLimitError);
  });

  test("a number is refused for its length, whichever part of it is long", () => {
    expect(parseJson("9".repeat(400))).toBe(BigInt("9".repeat(400)));
    const digits = "9".repeat(400);
    for (const text of [`${digits}9`, `0.${digits}`, `1e-${digits}`])
      expect(() => parseJson(text)).toThrow(JsonLimitError);
  });

  test("a string ends at the first quote that is not escaped, however many are", () => {
    const value = `${'"'.repeat(100_000)}\\`;
    expect(parseJson(`[${JSON.stringify(value)},"\\\\",1]`)).toEqual([value, "\\", 1]);
    expect(() => parseJson(`"${'\\"'.repeat(100_000)}`)).toThrow(SyntaxError);
  });

  test("a tree parsed at the maximum depth can be written within an answer", () => {
    const deepest = `${"[".repeat(200)}99999999999999999999${"]".repeat(200)}`;
    const answer = [{ track: { userData: parseJson(deepest) } }];
    expect(stringifyJson(answer)).toBe(`[{"track":{"userData":${deepest}}}]`);
    expect(() => parseJson(`[${deepest}]`)).toThrow(JsonLimitError);
  });

  test("a size grows with every value, key and character", () => {
    const sizes = [
      "{}",
      '{"a":1}',
      '{"a":[1]}',
      '{"a":[1,2]}',
      '{"a":[1,"xxxxxxxxxxxxxxxxxxxxxxxxx"]}',
      `{"a":${"9".repeat(300)}}`,
    ];
    const bytes = sizes.map((text) => jsonSizeBytes(plainJson(parseJson(text))));
    expect(bytes).toEqual([...bytes].sort((first, second) => first - second));
    expect(new Set(bytes).size).toBe(bytes.length);
    expect(bytes.every((size, index) => size >= (sizes[index]?.length ?? 0))).toBe(true);
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
