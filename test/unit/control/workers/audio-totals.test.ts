import { beforeEach, describe, expect, test } from "vitest";
import { type AudioChanges, type Incident, noLosses } from "../../../../src/bridge/audio-report.ts";
import type { PlayerReport, WorkerReport } from "../../../../src/bridge/worker-report.ts";
import { AUDIO_COUNTERS, AudioTotals } from "../../../../src/control/workers/audio-totals.ts";
import { idleWorker } from "../../../support/idle-worker.ts";
import { increasesOf } from "../../../support/increases.ts";

const INCIDENT: Incident = { cause: "network", startEpochMs: 1, lengthMs: 60, framesLost: 3, repair: undefined };
const CHANGES: AudioChanges = {
  incidents: [INCIDENT],
  openIncident: INCIDENT,
  repairs: [{ kind: "rejoin", cause: "daveNotReady", epochMs: 1, silentMs: 60_000 }],
  voice: undefined,
};

let totals: AudioTotals;

beforeEach(() => {
  totals = new AudioTotals();
});

function report(...players: Omit<PlayerReport, "playerId">[]): WorkerReport {
  return { epochMs: 0, worker: idleWorker(), players: players.map((player) => ({ playerId: 1, ...player })) };
}

describe("totals", () => {
  test("totals are the sums over all players of all workers, lost ones included", () => {
    const counts = { framesSent: 25, packetsSent: 27, lostFrames: { ...noLosses(), network: 3 }, inputReopened: 2 };
    const increases = increasesOf({ ...counts, framesRefused: 1, reconnects: 4 });
    totals.addReport(report({ increases, changes: CHANGES }, { increases }));
    totals.addWorkerLoss();
    totals.addReport(report({ increases: increasesOf({ framesSent: 1 }) }));
    expect(totals.counts).toEqual({
      ...AUDIO_COUNTERS.zero(),
      framesSent: 51,
      packetsSent: 54,
      lostFrames: { ...noLosses(), network: 6 },
      inputReopened: 4,
      framesRefused: 2,
      reconnects: 8,
      incidents: { ...noLosses(), network: 1 },
      repairs: { reopen: 0, rejoin: 1 },
      workersLost: 1,
    });
  });

  test("an incident that lasts is counted once, while it lasts", () => {
    const incident: Incident = { ...INCIDENT, wasLasting: true };
    const quiet = { incidents: [], openIncident: undefined, repairs: [], voice: undefined };
    totals.addReport(report({ changes: { ...quiet, openIncident: INCIDENT } }));
    expect(totals.counts.incidents.network).toBe(0);
    totals.addReport(report({ changes: { ...quiet, openIncident: incident, isNowLasting: true } }));
    totals.addReport(report({ changes: { ...quiet, openIncident: incident } }));
    totals.addReport(report({ changes: { ...quiet, incidents: [incident] } }));
    expect(totals.counts.incidents.network).toBe(1);
  });

  test("the lateness of workers is added class by class", () => {
    const worker = { ...idleWorker(), lateness: [90, 3, 2, 1, 0, 0, 0, 0, 1] };
    totals.addReport({ ...report(), worker });
    totals.addReport({ ...report(), worker });
    totals.addReport(report());
    expect(totals.counts.lateness).toEqual([180, 6, 4, 2, 0, 0, 0, 0, 2]);
  });

  test("revoked frames are subtracted from those sent later, so that no total decreases", () => {
    totals.addReport(report({ increases: increasesOf({ framesSent: 25, packetsSent: 30 }) }));
    totals.addReport(report({ increases: increasesOf({ framesSent: -5, packetsSent: -5 }) }));
    expect(totals.counts).toMatchObject({ framesSent: 25, packetsSent: 30 });
    totals.addReport(report({ increases: increasesOf({ framesSent: 7, packetsSent: 6 }) }));
    expect(totals.counts).toMatchObject({ framesSent: 27, packetsSent: 31 });
  });

  test("totals count frames that were missed while no worker could report them", () => {
    totals.addIncident({ ...INCIDENT, cause: "workerLost", framesLost: 40 });
    totals.addReport(report());
    expect(totals.counts.lostFrames.workerLost).toBe(40);
    expect(totals.counts.incidents.workerLost).toBe(1);
  });

  test("totals count Discord's close codes one by one, and undocumented ones together", () => {
    for (const code of [4014, 4014, 4006, 1006, 4999]) totals.addVoiceClose(code);
    expect(totals.counts.voiceClosed).toMatchObject({ 4014: 2, 4006: 1, other: 2, 4001: 0 });
  });
});
