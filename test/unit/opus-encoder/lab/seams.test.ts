import { expect, test } from "vitest";
import { encoderKindOf } from "../../../../opus-encoder/lab/encoders.ts";
import { seamTable } from "../../../../opus-encoder/lab/report.ts";
import { compareSeams } from "../../../../opus-encoder/lab/seams.ts";
import { chordSong } from "../../../support/judged-songs.ts";

test("seams of libopus after itself and after our encoder with none, one and two frames led are compared", async () => {
  const seams = await compareSeams([chordSong(3), chordSong(2)], encoderKindOf("tonearm"));
  expect(seams.map(({ plan }) => [plan.kind.name, plan.ledFrames])).toEqual([
    ["libopus:10", 0],
    ["tonearm", 0],
    ["tonearm", 1],
    ["tonearm", 2],
  ]);
  const counts = seams.map(({ errors }) => errors.length);
  expect(new Set(counts).size).toBe(1);
  expect(counts[0]).toBeGreaterThan(8);
  const [, free, , led] = seams.map(({ errors }) => errors.reduce((sum, error) => sum + error, 0));
  expect(led).toBeLessThan(free!);
});

test("the seam table has decibels below the audio, and the number of seams", () => {
  const plan = { kind: encoderKindOf("tonearm"), ledFrames: 2 };
  const table = seamTable([{ plan, errors: [0.1, 0.01, 0.001] }]);
  expect(table).toContain("of all (3)");
  expect(table).toMatch(/tonearm *\| *2 *\| *-20\.0 *\|.*-10\.0/);
});
