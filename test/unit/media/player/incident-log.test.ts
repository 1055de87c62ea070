import { beforeEach, describe, expect, it } from "vitest";
import { INCIDENTS_PER_REPORT } from "../../../../src/bridge/audio-report.ts";
import { IncidentLog } from "../../../../src/media/player/incident-log.ts";
import { Upstream } from "../../../../src/media/quota/upstream.ts";
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

describe("an incident that does not end", () => {
  /** A second of a track that needs twice of what its server sends: every other frame is missing. */
  function stutter(upstream?: Upstream): void {
    for (let frame = 0; frame < 25; frame++) {
      upstream?.countReceived(new URL("http://user:secret@music.test:81/a.flac?token=secret"), 1600);
      log.add("network", 1);
      clock.advance(20);
      log.addSent();
      clock.advance(20);
    }
    log.check();
  }

  it("is told of once, after five seconds, and its end knows that", () => {
    for (let second = 0; second < 5; second++) {
      stutter();
      expect(log.takeLasting()).toBeUndefined();
    }
    stutter();
    expect(log.takeLasting()).toBe(true);
    expect(log.open).toMatchObject({ cause: "network", framesLost: 150, wasLasting: true });
    for (let second = 0; second < 60; second++) stutter();
    expect(log.takeLasting()).toBeUndefined();
    expect(log.takeOver()).toEqual([]);
    playFor(1500);
    expect(log.takeOver()).toMatchObject([{ framesLost: 66 * 25, wasLasting: true }]);
    stutter();
    expect(log.takeLasting()).toBeUndefined();
    expect(log.open?.wasLasting).toBeUndefined();
  });

  it("names the server without credentials, and how fast it sends and should send", () => {
    const upstream = new Upstream();
    log = new IncidentLog(clock, () => upstream);
    void upstream.await(new Promise(() => undefined));
    stutter(upstream);
    expect(log.open?.server).toEqual({ host: "music.test:81", receivedRate: undefined, neededRate: undefined });
    for (let second = 0; second < 9; second++) stutter(upstream);
    const { host, receivedRate = 0, neededRate = 0 } = log.open?.server ?? {};
    expect(host).toBe("music.test:81");
    expect(receivedRate / 40_000).toBeCloseTo(1, 1);
    expect(neededRate / 80_000).toBeCloseTo(1, 1);
  });

  it("names no server where none is waited for", () => {
    const upstream = new Upstream();
    log = new IncidentLog(clock, () => upstream);
    for (let second = 0; second < 6; second++) stutter(upstream);
    expect(log.open?.server).toBeUndefined();
  });
});
