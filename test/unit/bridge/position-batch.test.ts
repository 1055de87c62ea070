import { expect, it } from "vitest";
import { packPositions, unpackPositions } from "../../../src/bridge/position-batch.ts";

it("positions come out of a batch as they went in, with the batch's time", () => {
  const reports = [
    { playerId: 1, trackId: 20, seekId: 3, positionMs: 4000.5, epochMs: 1_700_000_000_000, rate: 1 },
    { playerId: 2, trackId: 1, seekId: 0, positionMs: 0, epochMs: 1_700_000_000_000, rate: 0 },
  ];
  const batch = packPositions(reports, 1_700_000_000_000);
  expect(unpackPositions(JSON.parse(JSON.stringify(batch)))).toEqual(reports);
  expect(unpackPositions(packPositions([], 5))).toEqual([]);
});
