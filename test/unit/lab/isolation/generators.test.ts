import { expect, test } from "vitest";
import { bitNum, type Field, group, num, numLe, raw, render } from "../../../../lab/isolation/generators/field-tree.ts";
import { CONTAINERS, generateFile } from "../../../../lab/isolation/generators/generate-file.ts";
import { mutate } from "../../../../lab/isolation/generators/mutate.ts";
import { concat } from "../../../../lab/media-files/bytes.ts";
import { seededRandom } from "../../../../lab/seeded-random.ts";

const lengthed = (fields: Field[]) =>
  group("lengthed", fields, (body, claimed) => concat(Uint8Array.of(claimed & 0xff), body));

test("fields become bytes in their order, bits sharing bytes, groups with their length in front", () => {
  const fields = [
    num("big", 0x0102, 2),
    numLe("little", 0x0102, 2),
    bitNum("three bits", 5, 3),
    bitNum("five bits", 1, 5),
  ];
  expect([...render(group("file", [lengthed(fields), raw("end", "x")]))]).toEqual([5, 1, 2, 2, 1, 0xa1, 0x78]);
});

test("a false length is written as claimed", () => {
  const liar = { ...lengthed([num("value", 7, 1)]), claimedBytes: 200 };
  expect([...render(liar)]).toEqual([200, 7]);
});

test("every change is reported, and each kind of field is changed", () => {
  const received = new Set<string>();
  for (let seed = 0; seed < 400; seed++) {
    const inner = lengthed([num("number", 7, 4), raw("bytes", "abcdef")]);
    const root = group("file", [inner, num("other", 9, 2)]);
    const before = render(root);
    const changes = mutate(root, seededRandom(seed));
    expect(changes.length).toBeGreaterThan(0);
    for (const change of changes) received.add(change.replaceAll(/-?\d+/g, "N"));
    expect(before.length).toBe(13);
    expect(render(root).length).toBeLessThan(2_000_000);
  }
  const kinds = [
    "number: is N",
    "lengthed: claims N bytes",
    "lengthed: nested N deep",
    "bytes: left out",
    "lengthed: repeated N times",
  ];
  expect(kinds.filter((kind) => !received.has(kind))).toEqual([]);
});

test("two seeds make two files, one seed the same one", () => {
  for (const container of CONTAINERS) {
    const [one, again, other] = [1, 1, 2].map((seed) =>
      Buffer.from(generateFile(container, seed).bytes).toString("hex"),
    );
    expect(one).toBe(again);
    expect(one).not.toBe(other);
  }
});
