import { expect, test } from "vitest";
import { audioFigures, dueFigures } from "../../../../lab/bench/compare/audio-figures.ts";
import type { WindowAudio } from "../../../../lab/bench/world.ts";

function audioOf(audio: Partial<WindowAudio>): WindowAudio {
  return {
    seconds: 10,
    packets: 0,
    latenessMsP99: 0,
    latenessMsMax: 0,
    jitterMs: 0,
    spacingMsP99: 0,
    spacingMsMax: 0,
    silentFrames: 0,
    lostPackets: 0,
    skippedFrames: 0,
    ...audio,
  };
}

test("packets lost or skipped by RTP count as missing, and silence is counted separately", () => {
  const figures = audioFigures(audioOf({ lostPackets: 3, skippedFrames: 4, silentFrames: 5 }));
  expect(figures).toMatchObject({ packetsMissing: 7, packetsLost: 3, framesLeftOut: 4, silentFrames: 5 });
});

test("packets of a player that just stops are missing although RTP has no gap", () => {
  const figures = dueFigures(audioOf({ packets: 1500 }), 4);
  expect(figures).toEqual({ packetsDue: 2000, packetsMissing: 492 });
});

test("a packet at each edge of the window does not count as missing", () => {
  const figures = dueFigures(audioOf({ packets: 1992 }), 4);
  expect(figures.packetsMissing).toBe(0);
  expect(dueFigures(audioOf({ packets: 1991 }), 4).packetsMissing).toBe(1);
});

test("packets missing by RTP are not counted twice, and surplus packets do not compensate for them", () => {
  const late = audioOf({ packets: 1990, lostPackets: 10 });
  expect(dueFigures(late, 4).packetsMissing).toBe(10);
  const many = audioOf({ packets: 2050, skippedFrames: 3 });
  expect(dueFigures(many, 4).packetsMissing).toBe(3);
});
