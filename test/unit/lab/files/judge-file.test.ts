import { describe, expect, test } from "vitest";
import { judgeFile } from "../../../../lab/files/judge-file.ts";
import { compareWithKnown, isLike, parseKnownFailures } from "../../../../lab/files/known-failures.ts";
import { formatFailures, formatTable } from "../../../../lab/files/report.ts";
import type { FileFacts } from "../../../../lab/files/try-file.ts";

const TRACK = { title: "Song", author: "Singer", lengthMs: 3000 };
const RIGHT: FileFacts = {
  file: "a.flac",
  reference: {
    container: "flac",
    codec: "flac",
    channelCount: 2,
    title: "Song",
    artist: "Singer",
    statedMs: [3000],
  },
  decoded: { lengthMs: 3000, isWhole: true, isDamaged: false },
  loads: { path: TRACK, ranges: TRACK },
  heard: {
    heardShare: 1,
    delayMs: 0,
    shiftMs: 0,
    levelDb: 0,
    missingMs: -12,
    isSilent: false,
    failure: undefined,
  },
  seek: { targetMs: 1500, offMs: 9, failure: undefined },
};

function outcomes(changes: Partial<FileFacts>, expected = {}) {
  return judgeFile({ ...RIGHT, ...changes }, expected)?.outcomes;
}

function heard(changes: Partial<NonNullable<FileFacts["heard"]>>, decoded = {}) {
  return outcomes({
    heard: { ...RIGHT.heard!, ...changes },
    decoded: { lengthMs: 3000, isWhole: true, isDamaged: false, ...decoded },
  })?.heard;
}

test("a file that is as ffmpeg has it is right in every check", () => {
  expect(judgeFile(RIGHT)).toEqual({
    file: "a.flac",
    format: "FLAC",
    outcomes: { loads: "right", title: "right", length: "right", heard: "right", seeks: "right" },
  });
});

test("a file from which ffmpeg decodes nothing is not judged, one that was not tried to its end has failed", () => {
  expect(judgeFile({ ...RIGHT, decoded: undefined })).toBeUndefined();
  expect(judgeFile({ file: "a", broken: "too slow" })?.outcomes).toMatchObject({ loads: { wrong: "too slow" } });
});

describe("loads", () => {
  test.each([
    [{ path: { error: "odd" }, ranges: { error: "odd" } }, "odd"],
    [{ path: TRACK, ranges: { error: "odd" } }, "only some: not ranges: odd"],
    [{ path: TRACK, ranges: { ...TRACK, author: "Other" } }, "another title from ranges"],
    [{ path: TRACK, ranges: { ...TRACK, lengthMs: 3001 } }, "another length from ranges: 3001 ms instead of 3000 ms"],
    [{ path: TRACK, ranges: { ...TRACK, lengthMs: undefined } }, "another length from ranges: none instead of 3000 ms"],
  ])("%j is wrong", (loads, wrong) => {
    expect(outcomes({ loads })?.loads).toEqual({ wrong });
  });

  test("a server without ranges may leave the length unknown", () => {
    expect(outcomes({ loads: { path: TRACK, "no-ranges": { ...TRACK, lengthMs: undefined } } })?.loads).toBe("right");
  });
});

describe("title and length", () => {
  test("what is expected of a file takes precedence over ffprobe", () => {
    expect(outcomes({}, { title: "Other" })?.title).toEqual({ wrong: "another title" });
    expect(outcomes({}, { lengthMs: 3061 })?.length).toEqual({ wrong: "61 ms too short" });
    expect(outcomes({}, { lengthMs: 2940 })?.length).toBe("right");
  });

  test("of several values the first is enough", () => {
    const reference = { ...RIGHT.reference!, artist: "Singer;Choir" };
    expect(outcomes({ reference })?.title).toBe("right");
  });

  test("a stated length far from what is decoded is not believed, unless the file is damaged", () => {
    const loads = { path: { ...TRACK, lengthMs: 10_500 } };
    const reference = { ...RIGHT.reference!, statedMs: [10_500] };
    expect(outcomes({ loads, reference })?.length).toEqual({ wrong: "7500 ms too long" });
    const decoded = { lengthMs: 3000, isWhole: true, isDamaged: true };
    expect(outcomes({ loads, reference, decoded })?.length).toBe("right");
  });

  test("a stream is right only where the length is not known", () => {
    const loads = { path: { ...TRACK, lengthMs: undefined } };
    expect(outcomes({ loads })?.length).toEqual({ wrong: "a stream without a length" });
    const reference = { ...RIGHT.reference!, statedMs: [] };
    expect(outcomes({ loads, reference, decoded: { ...RIGHT.decoded!, isWhole: false } })?.length).toBe("stream");
  });
});

describe("heard", () => {
  test.each([
    [{ isSilent: true, heardShare: 0 }, "silence; ends as finished"],
    [{ heardShare: 0.94 }, "94 % of the audio is heard; ends as finished"],
    [{ levelDb: -6 }, "-6.0 dB of level; ends as finished"],
    [{ shiftMs: 6 }, "6 ms are missing or inserted in the middle; ends as finished"],
    [{ delayMs: -11 }, "it begins 11 ms early; ends as finished"],
    [{ missingMs: 61 }, "61 ms are missing at the end; ends as finished"],
    [{ failure: "odd" }, "the track fails; ends with: odd"],
  ])("%j is wrong", (changes, wrong) => {
    expect(heard(changes)).toEqual({ wrong });
  });

  test("damage may move and end the audio, but not cost more than it covers", () => {
    expect(heard({ shiftMs: 500, missingMs: 300, failure: "odd" }, { isDamaged: true })).toBe("right");
    expect(heard({ heardShare: 0.94 }, { isDamaged: true })).toEqual({ wrong: expect.stringContaining("94 %") });
  });

  test("what the encoder alone makes unrecognisable does not count, and what is missing beyond it does", () => {
    const encoded = { heardShare: 0.55, levelDb: -1.8 };
    expect(heard({ heardShare: 0.54, levelDb: -1.7, encoded })).toBe("right");
    expect(heard({ heardShare: 0.4, encoded })).toEqual({ wrong: expect.stringContaining("73 %") });
    const nothing = { heardShare: 0, levelDb: 0 };
    expect(heard({ heardShare: 0, encoded: nothing })).toEqual({ wrong: expect.stringContaining("0 %") });
  });

  test("silence is right where ffmpeg decodes silence", () => {
    expect(heard({ isSilent: true, heardShare: undefined })).toBe("right");
  });
});

test.each([
  [{ offMs: 61 }, { wrong: "61 ms too late" }],
  [{ offMs: -60 }, "right"],
  [{ offMs: "quiet" }, undefined],
  [{ offMs: undefined, failure: "odd" }, { wrong: "nothing like the target is heard within 1.5 s of it: odd" }],
] as const)("a seek with %j is judged", (changes, outcome) => {
  const seek = { targetMs: 1500, failure: undefined, ...changes };
  expect(outcomes({ seek })?.seeks).toEqual(outcome);
});

test("a seek may land as much earlier as the times of the file leave gaps that ffmpeg's audio does not have", () => {
  const load = { ...TRACK, lengthMs: 3200 };
  const seekTo = (offMs: number) =>
    outcomes({ loads: { path: load, ranges: load }, seek: { targetMs: 1500, offMs, failure: undefined } })?.seeks;
  expect(seekTo(-250)).toBe("right");
  expect(seekTo(-270)).toEqual({ wrong: "270 ms too early" });
  expect(seekTo(70)).toEqual({ wrong: "70 ms too late" });
});

describe("known failures", () => {
  const broken = judgeFile({ ...RIGHT, file: "x/b.flac", seek: { targetMs: 0, offMs: 99, failure: undefined } })!;
  const right = judgeFile(RIGHT)!;

  test("a failure of the list has its reason, and lines of which nothing fails are stale if their files were tried", () => {
    const known = parseKnownFailures(
      "# list\n\nx/*.flac seeks,title F1 | slow\na.flac heard gone\nz.mp3 loads later\n",
    );
    const { failures, stale } = compareWithKnown([right, broken], known);
    expect(failures).toEqual([{ file: "x/b.flac", check: "seeks", cause: "99 ms too late", reason: "F1 | slow" }]);
    expect(stale.map(({ pattern, checks }) => [pattern, checks])).toEqual([
      ["x/*.flac", ["title"]],
      ["a.flac", ["heard"]],
    ]);
    expect(compareWithKnown([broken], []).failures).toMatchObject([{ reason: undefined }]);
  });

  test.each(["a.flac", "a.flac seeks", "a.flac sounds F1"])("the line %j is refused with its number", (line) => {
    expect(() => parseKnownFailures(`\n${line}`)).toThrow(/^line 2: write PATTERN, then some of loads,title,/);
  });

  test("in a pattern only * is special", () => {
    expect(isLike("a/b (1).mp3", "*(1).mp3")).toBe(true);
    expect(isLike("axmp3", "a.mp3")).toBe(false);
    expect(isLike("a.mp3.bak", "a.mp3")).toBe(false);
  });
});

test("the table counts right files of those judged, by format, and equal causes are listed once", () => {
  const verdicts = ["a", "b", "c"].map((file, index) =>
    judgeFile({ ...RIGHT, file, seek: { targetMs: 0, offMs: 100 * index, failure: undefined } }),
  );
  const all = verdicts.flatMap((verdict) => verdict ?? []);
  expect(formatTable(all).split("\n").slice(2)).toEqual([
    "| FLAC | 3 | 3 | 3 | 3 | 3 | 1 of 3 |",
    "| all | 3 | 3 | 3 | 3 | 3 | 1 of 3 |",
  ]);
  expect(formatFailures(compareWithKnown(all, []).failures)).toEqual([
    "2 seeks: 100 ms too late, and the like\n    b, c",
  ]);
});
