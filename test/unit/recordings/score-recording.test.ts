import { expect, test } from "vitest";
import { scoreRecording } from "../../../src/recordings/same-recording.ts";
import { type MadeCandidate, type MadeRecording, makeRecordings } from "./made-recordings.ts";

const SEEDS = [29, 2026, 71];

/** As the mirror engine chooses: the best of the first site that has one that may be it. */
function chooseByScore({ wanted, found }: MadeRecording): MadeCandidate | undefined {
  for (const candidates of found) {
    const scored = candidates.map((candidate) => ({ candidate, ...scoreRecording(wanted, candidate.track) }));
    const best = scored.sort((one, other) => other.score - one.score)[0];
    if (best !== undefined && best.score > 0) return best.candidate;
  }
  return undefined;
}

/** LavaSrc's rule: the first result of the first site that finds anything. */
function chooseFirst({ found }: MadeRecording): MadeCandidate | undefined {
  return found.find((candidates) => candidates.length > 0)?.[0];
}

function count(recordings: readonly MadeRecording[], choose: (recording: MadeRecording) => MadeCandidate | undefined) {
  const outcomes = recordings.map((recording) => {
    const isThere = recording.found.flat().some(({ isRight }) => isRight);
    const chosen = choose(recording);
    return { isOk: isThere ? chosen?.isRight === true : chosen === undefined, isWrong: chosen?.isRight === false };
  });
  return {
    right: outcomes.filter(({ isOk }) => isOk).length,
    wrong: outcomes.filter(({ isWrong }) => isWrong).length,
  };
}

test.each(SEEDS)("of 200 made-up recordings at least 195 are chosen rightly, and none is wrong (seed %i)", (seed) => {
  const recordings = makeRecordings(seed);
  const [ours, firstCome] = [count(recordings, chooseByScore), count(recordings, chooseFirst)];
  expect(ours.right).toBeGreaterThanOrEqual(195);
  expect(ours.wrong).toBe(0);
  expect(firstCome.right).toBeLessThan(40);
  expect(firstCome.wrong).toBeGreaterThan(160);
});

test("about 30 of the made-up recordings are nowhere", () => {
  const absent = makeRecordings(SEEDS[0]!).filter(({ found }) => !found.flat().some(({ isRight }) => isRight));
  expect(absent.length).toBeGreaterThanOrEqual(25);
});
