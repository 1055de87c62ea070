import { describe, expect, it } from "vitest";
import { joinXiphLaced, readXiphLaces, splitXiphLaced } from "../../../../src/media/format/xiph-lacing.ts";

/** A packet of this size whose bytes distinguish it from others. */
const packet = (sizeBytes: number) => Uint8Array.from({ length: sizeBytes }, (_, index) => (sizeBytes + index) & 255);

describe("packets in one run of bytes", () => {
  it.each([[[30]], [[30, 44, 4000]], [[0, 254, 255, 256, 509, 510, 511, 0]], [new Array<number>(256).fill(3)]])(
    "laced packets come back as they went in: %j",
    (sizes) => {
      const packets = sizes.map(packet);
      expect(splitXiphLaced(joinXiphLaced(packets))).toEqual(packets);
    },
  );

  it("laced packets have sizes of bytes of 255 and a rest, behind their number less 1", () => {
    const bytes = joinXiphLaced([packet(255), packet(256), packet(7)]);
    expect([...bytes.subarray(0, 5)]).toEqual([2, 255, 0, 255, 1]);
    expect(readXiphLaces(bytes)).toEqual({ sizes: [255, 256], start: 5 });
  });

  it("laced packets may end in an empty one", () => {
    expect(splitXiphLaced(Uint8Array.of(1, 2, 8, 9))).toEqual([Uint8Array.of(8, 9), new Uint8Array(0)]);
  });

  it.each([
    ["of nothing", []],
    ["that end within a size", [1, 255, 255]],
    ["with fewer bytes than a size says", [1, 3, 8, 9]],
    ["with fewer bytes than the sizes come to", [2, 2, 2, 7, 7, 7]],
    ["with a size that does not end", [1, ...new Array<number>(400).fill(255)]],
  ])("%s are no laced packets", (_, bytes) => {
    expect(splitXiphLaced(Uint8Array.from(bytes))).toBeUndefined();
  });
});
