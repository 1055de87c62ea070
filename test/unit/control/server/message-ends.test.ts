import { expect, test } from "vitest";
import { MessageEnds } from "../../../../src/control/server/message-ends.ts";

/** The slices handed out of a text that arrives in pieces of one size. */
function slicesOf(text: string, sliceBytes: number, ends = new MessageEnds()): string[] {
  const slices: string[] = [];
  for (let rest = Buffer.from(text, "latin1"); rest.length > 0; ) {
    const piece = rest.subarray(0, sliceBytes);
    const sizeBytes = ends.cut(piece);
    slices.push(piece.toString("latin1", 0, sizeBytes));
    rest = rest.subarray(sizeBytes);
  }
  return slices;
}

test("a slice ends behind an empty line", () => {
  expect(slicesOf("a\r\nb\r\n\r\nc\r\n\r\nd", 100)).toEqual(["a\r\nb\r\n\r\n", "c\r\n\r\n", "d"]);
});

test.each([1, 2, 3, 4, 5])("an empty line that arrives in pieces of %i bytes ends a slice", (sliceBytes) => {
  let written = "";
  const ends = slicesOf("ab\r\n\r\ncd\r\n\r\nef", sliceBytes).map((slice) => {
    written += slice;
    return written;
  });
  expect(ends).toContain("ab\r\n\r\n");
  expect(ends).toContain("ab\r\n\r\ncd\r\n\r\n");
  expect(ends.at(-1)).toBe("ab\r\n\r\ncd\r\n\r\nef");
});

test("a body that is expected ends a slice, whatever is in it", () => {
  const ends = new MessageEnds();
  ends.expectBody(8);
  expect(slicesOf("{\r\n\r\n  }GET", 100, ends)).toEqual(["{\r\n\r\n  }", "GET"]);
  ends.expectBody(8);
  expect(slicesOf("{      }GET", 5, ends)).toEqual(["{    ", "  }", "GET"]);
});
