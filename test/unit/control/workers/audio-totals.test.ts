import { describe, expect, test } from "vitest";
import { type Incident, noLosses, type PlayerReport } from "../../../../src/bridge/audio-report.ts";
import type { WorkerCounters } from "../../../../src/bridge/events.ts";
import { noVoiceCounts } from "../../../../src/bridge/voice-counts.ts";
import { AudioTotals } from "../../../../src/control/workers/audio-totals.ts";

const COUNTERS: WorkerCounters = {
  playerCount: 1,
  playingCount: 1,
  tickLoad: 0,
  threadLoad: 0,
  framesSent: 100,
  framesLost: 0,
  packetsSent: 110,
  latenessMsP99: 0,
  latenessMsMax: 0,
  latenessCounts: [3, 2, 1, 0, 0, 0, 0, 1],
  latenessMsSum: 90,
  heaviestPlayer: undefined,
};
const INCIDENT: Incident = { cause: "network", startEpochMs: 1, lengthMs: 60, framesLost: 3, repair: undefined };
const VOICE = {
  ...noVoiceCounts(),
  framesRefused: 1,
  daveTransitions: 2,
  daveRecoveries: 1,
  plainFallbacks: 1,
  reconnects: 4,
};
const REPORT: PlayerReport = {
  playerId: 1,
  framesSent: 0,
  lostFrames: { ...noLosses(), network: 3 },
  incidents: [INCIDENT],
  openIncident: undefined,
  repairs: [{ kind: "rejoin", cause: "daveNotReady", epochMs: 1, silentMs: 60_000 }],
  inputReopened: 2,
  voiceCounts: VOICE,
  voice: undefined,
};

describe("totals", () => {
  test("totals grow by what a worker has sent since its last report, also after it was replaced", () => {
    const totals = new AudioTotals();
    totals.addCounters(COUNTERS, undefined);
    totals.addCounters({ ...COUNTERS, framesSent: 150, packetsSent: 165 }, COUNTERS);
    totals.addCounters({ ...COUNTERS, framesSent: 10, packetsSent: 10 }, undefined);
    expect(totals).toMatchObject({ framesSent: 160, packetsSent: 175, latenessMsSum: 270 });
    expect(totals.latenessCounts).toEqual([9, 6, 3, 0, 0, 0, 0, 3]);
  });

  test("add up what players report", () => {
    const totals = new AudioTotals();
    totals.addReport(REPORT);
    totals.addReport({ ...REPORT, lostFrames: undefined, incidents: [], repairs: [], voiceCounts: undefined });
    expect(totals.lostFrames).toEqual({ ...noLosses(), network: 3 });
    expect(totals.incidents).toEqual({ ...noLosses(), network: 1 });
    expect(totals.repairs).toEqual({ reopen: 0, rejoin: 1 });
    expect(totals.voice).toEqual(VOICE);
    expect(totals.inputReopened).toBe(4);
  });

  test("totals count frames that were missed while no worker could report them", () => {
    const totals = new AudioTotals();
    totals.addIncident({ ...INCIDENT, cause: "workerLost", framesLost: 40 });
    expect(totals.lostFrames.workerLost).toBe(40);
    expect(totals.incidents.workerLost).toBe(1);
  });

  test("totals count Discord's close codes one by one, and undocumented ones together", () => {
    const totals = new AudioTotals();
    for (const code of [4014, 4014, 4006, 1006, 4999]) totals.addVoiceClose(code);
    expect(totals.voiceClosed).toMatchObject({ 4014: 2, 4006: 1, other: 2, 4001: 0 });
  });
});
