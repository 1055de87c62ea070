import { expect, it } from "vitest";
import { ByteWindow } from "../../../../src/media/input/byte-window.ts";
import { patternBytes } from "../../../support/input-builders.ts";

it("holds what was appended and not dropped, whatever the chunks (seeded)", () => {
  const seed = Math.floor(Math.random() * 2 ** 31);
  const random = patternBytes(20_000, seed);
  const file = patternBytes(200_000, seed + 1);
  const window = new ByteWindow();
  let take = 0;
  const draw = (max: number): number => (random.readUInt16LE((take++ * 2) % 19_998) * max) >> 16;
  for (let round = 0; round < 500; round++) {
    if (window.endBytes < file.length) {
      window.append(file.subarray(window.endBytes, window.endBytes + 1 + draw(1_500)));
    }
    if (draw(3) === 0) window.dropBefore(window.endBytes - draw(30_000));
    const at = window.startBytes + draw(window.endBytes - window.startBytes + 1);
    const length = draw(window.endBytes - at + 1);
    const data = window.read(at, length);
    expect(data && Buffer.compare(data, file.subarray(at, at + length)), `seed ${seed} round ${round}`).toBe(0);
    expect(window.read(at, window.endBytes - at + 1), `seed ${seed}`).toBeUndefined();
    if (window.startBytes > 0) expect(window.read(window.startBytes - 1, 1), `seed ${seed}`).toBeUndefined();
  }
});

it("a read within one chunk is a view", () => {
  const window = new ByteWindow();
  const chunk = patternBytes(100);
  window.reset(1_000);
  window.append(chunk);
  expect(window.read(1_010, 5)?.buffer).toBe(chunk.buffer);
});
