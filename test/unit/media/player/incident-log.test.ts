import { beforeEach, describe, expect, it } from "vitest";
import { INCIDENTS_PER_REPORT } from "../../../../src/bridge/audio-report.ts";
import { IncidentLog } from "../../../../src/media/player/incident-log.ts";
import { FakeClock } from "../../../support/fake-clock.ts";

let clock: FakeClock;
let log: IncidentLog;

beforeEach(() => {
  clock = new FakeClock();
  log = new IncidentLog(clock);
});

function lose(cause: Parameters<IncidentLog["add"]>[0], frames: number): void {
  for (let frame = 0; frame < frames; frame++) {
    log.add(cause, 1);
    clock.advance(20);
  }
}

/** `ms` of complete audio, checked twice a second. */
function playFor(ms: number): void {
  for (let passedMs = 0; passedMs < ms; passedMs += 500) {
    clock.advance(Math.min(500, ms - passedMs));
    log.check();
  }
}

describe("an incident", () => {
  it("an incident begins with the first missing frame, ends with the last, and is over after a second of audio", () => {
    clock.advance(5000);
    const startEpochMs = clock.epochMs();
    lose("network", 3);
    expect(log.open).toEqual({ cause: "network", startEpochMs, lengthMs: 60, framesLost: 3, repair: undefined });
    playFor(990);
    expect(log.takeOver()).toEqual([]);
    playFor(20);
    expect(log.takeOver()).toEqual([
      { cause: "network", startEpochMs, lengthMs: 60, framesLost: 3, repair: undefined },
    ]);
    expect(log.open).toBeUndefined();
    expect(log.takeOver()).toEqual([]);
  });

  it("an incident includes gaps with less than a second between them", () => {
    lose("inputStarved", 1);
    playFor(960);
    lose("inputStarved", 1);
    expect(log.open).toMatchObject({ framesLost: 2, lengthMs: 1000 });
  });

  it("an incident has the cause of most of its frames", () => {
    lose("voiceNotReady", 2);
    lose("daveNotReady", 3);
    lose("workerLate", 1);
    expect(log.open?.cause).toBe("daveNotReady");
  });

  it("an incident of dropped deadlines begins with the first of them", () => {
    clock.advance(1000);
    const dueEpochMs = clock.epochMs();
    log.add("workerLate", 5);
    expect(log.open).toMatchObject({ startEpochMs: dueEpochMs - 80, lengthMs: 100, framesLost: 5 });
  });

  it("an incident ends at once when no audio is requested any more, and the next one is a new one", () => {
    lose("network", 2);
    log.noteRepair("reopen");
    log.end();
    lose("decoderLate", 1);
    expect(log.takeOver()).toMatchObject([{ framesLost: 2, repair: "reopen" }]);
    expect(log.open).toMatchObject({ cause: "decoderLate", framesLost: 1, repair: undefined });
  });

  it("a report contains a limited number of incidents, however often audio is paused", () => {
    for (let count = 0; count < 100; count++) {
      lose("network", 1);
      log.end();
    }
    expect(log.takeOver()).toHaveLength(INCIDENTS_PER_REPORT);
  });
});
