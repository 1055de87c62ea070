import { describe, expect, test } from "vitest";
import { seededRandom } from "../../../lab/seeded-random.ts";
import {
  formatIpAddress,
  formatIpBlock,
  isBlockWithin,
  isInBlock,
  parseIpAddress,
  parseIpBlock,
} from "../../../src/lib/ip-block.ts";
import { fuzzSeed } from "../../support/fuzz-seed.ts";

const random = seededRandom(fuzzSeed());

function below(limit: number): number {
  return Math.floor(random() * limit);
}

function block(text: string) {
  const parsed = parseIpBlock(text);
  if (parsed === undefined) throw new Error(`${text} is no block`);
  return parsed;
}

/** Any address, with runs of zeros in every position. */
function anyAddress(family: 4 | 6) {
  const bits = family === 4 ? 8 : 16;
  const groups = Array.from({ length: family === 4 ? 4 : 8 }, () => (random() < 0.4 ? 0 : below(2 ** bits)));
  return { family, value: groups.reduce((value, group) => (value << BigInt(bits)) | BigInt(group), 0n) } as const;
}

describe("an address", () => {
  test.each([
    ["0.0.0.0", 4, 0n],
    ["192.0.2.7", 4, 0xc0000207n],
    ["255.255.255.255", 4, 0xffffffffn],
    ["::", 6, 0n],
    ["::1", 6, 1n],
    ["2001:DB8::7", 6, 0x20010db8_00000000_00000000_00000007n],
    ["1::", 6, 1n << 112n],
    ["::ffff:192.0.2.7", 6, 0xffff_c0000207n],
    ["::192.0.2.7", 6, 0xc0000207n],
    ["ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", 6, (1n << 128n) - 1n],
  ] as const)("%s is a number", (text, family, value) => {
    expect(parseIpAddress(text)).toEqual({ family, value });
  });

  test.each([
    "",
    "1",
    "1.2.3",
    "1.2.3.4.5",
    "1.2.3.256",
    "01.2.3.4",
    "0x7f.0.0.1",
    "localhost",
    "not an ip",
    "1.2.3.4 ",
  ])("%j is not an IPv4 address", (text) => expect(parseIpAddress(text)).toBeUndefined());

  test.each([":::", "::1%eth0", "[::1]", "1:2:3:4:5:6:7", "::1/128", "12345::"])(
    "%j is not an IPv6 address",
    (text) => {
      expect(parseIpAddress(text)).toBeUndefined();
    },
  );

  test("is written as RFC 5952 says", () => {
    const written = ["2001:0DB8:0:0:1:0:0:1", "::ffff:192.0.2.7", "0:0:0:0:0:0:0:0", "2001:db8:0:1:1:1:1:1"];
    const texts = written.map((text) => formatIpAddress(parseIpAddress(text) ?? { family: 4, value: 0n }));
    expect(texts).toEqual(["2001:db8::1:0:0:1", "::ffff:c000:207", "::", "2001:db8:0:1:1:1:1:1"]);
  });

  test.each([4, 6] as const)("an address of IPv%s survives a round trip through its text", (family) => {
    for (let round = 0; round < 2000; round++) {
      const address = anyAddress(family);
      expect(parseIpAddress(formatIpAddress(address))).toEqual(address);
    }
  });
});

describe("a block", () => {
  test.each([
    ["192.0.2.77/24", 0xc0000200n, 256n],
    ["192.0.2.77", 0xc000024dn, 1n],
    ["192.0.2.77/32", 0xc000024dn, 1n],
    ["0.0.0.0/0", 0n, 1n << 32n],
    ["::/0", 0n, 1n << 128n],
    ["2001:db8::/32", 0x20010db8n << 96n, 1n << 96n],
    ["2001:db8::9/128", (0x20010db8n << 96n) + 9n, 1n],
  ])("%s begins where its prefix says", (text, first, size) => {
    expect(block(text)).toMatchObject({ first, size });
  });

  test.each([
    "192.0.2.0/33",
    "::/129",
    "192.0.2.0/",
    "192.0.2.0/-1",
    "192.0.2.0/1/2",
    "/24",
    "fe80::1%eth0/64",
    "1.2/8",
  ])("%j is not an address block", (text) => expect(parseIpBlock(text)).toBeUndefined());

  test("a block survives a round trip through its text", () => {
    for (let round = 0; round < 500; round++) {
      const family = random() < 0.5 ? 4 : 6;
      const text = `${formatIpAddress(anyAddress(family))}/${below(family === 4 ? 33 : 129)}`;
      expect(parseIpBlock(formatIpBlock(block(text))), text).toEqual(block(text));
    }
  });

  test("a block contains its first and its last address, and not those next to them", () => {
    for (const text of ["192.0.2.0/24", "2001:db8::/48", "10.0.0.1", "::1"]) {
      const { family, first, size } = block(text);
      const isIn = (value: bigint) => isInBlock({ family, value }, block(text));
      expect([first - 1n, first, first + size - 1n, first + size].map(isIn), text).toEqual([false, true, true, false]);
    }
    expect(isInBlock({ family: 6, value: block("192.0.2.0/24").first }, block("192.0.2.0/24"))).toBe(false);
  });

  test("is within itself and larger ones of its family", () => {
    expect(isBlockWithin(block("10.1.0.0/16"), block("10.0.0.0/8"))).toBe(true);
    expect(isBlockWithin(block("10.0.0.0/8"), block("10.0.0.0/8"))).toBe(true);
    expect(isBlockWithin(block("10.0.0.0/8"), block("10.0.0.0/16"))).toBe(false);
    expect(isBlockWithin(block("11.0.0.0/16"), block("10.0.0.0/8"))).toBe(false);
    expect(isBlockWithin(block("::/64"), block("0.0.0.0/0"))).toBe(false);
  });
});
