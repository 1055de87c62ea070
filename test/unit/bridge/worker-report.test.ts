import { describe, expect, test } from "vitest";
import { noLosses } from "../../../src/bridge/audio-report.ts";
import {
  type PlayerReport,
  packWorkerReport,
  unpackWorkerReport,
  type WorkerReport,
} from "../../../src/bridge/worker-report.ts";
import { idleWorker } from "../../support/idle-worker.ts";
import { increasesOf } from "../../support/increases.ts";

const EPOCH_MS = 1_700_000_000_000;
const WORKER = { ...idleWorker(), threadLoad: 0.25, playingCount: 2, lateness: [4.5, 1, 0, 2], heaviestPlayer: 7 };
const INCIDENT = { cause: "network", startEpochMs: 1, lengthMs: 60, framesLost: 3, repair: undefined } as const;

/** As it arrives on another thread. */
function sent(players: readonly PlayerReport[]): WorkerReport {
  return unpackWorkerReport(structuredClone(packWorkerReport({ epochMs: EPOCH_MS, worker: WORKER, players })));
}

/** A player that plays; its figures follow from its number. */
function playing(playerId: number): PlayerReport {
  const counts = { framesSent: 25, lostFrames: { ...noLosses(), network: playerId }, reconnects: 1 };
  return {
    playerId,
    position: { playerId, trackId: playerId + 1, seekId: 3, positionMs: 4000.5, epochMs: EPOCH_MS, rate: 1.25 },
    audio: {
      mode: "transcoding",
      input: { codec: "flac", bitrate: 900_000 },
      queuedMs: 960,
      heldBytes: 300_000 * playerId,
      usedMs: 0.125,
    },
    increases: increasesOf(counts),
    changes: undefined,
    minute: undefined,
  };
}

describe("a worker's report", () => {
  test("a worker without players reports itself", () => {
    expect(sent([])).toEqual({ epochMs: EPOCH_MS, worker: WORKER, players: [] });
  });

  test("a report of many players arrives as it was sent, in order", () => {
    const players = Array.from({ length: 500 }, (_, index) => playing(index + 1));
    expect(sent(players).players).toEqual(players);
  });

  test("players may have any of the parts, and each gets its own", () => {
    const changes = { incidents: [INCIDENT], openIncident: undefined, repairs: [], voice: undefined };
    const minute = { minute: 28, sentFrames: 2990, lostFrames: noLosses(), isWholeMinute: true };
    const { position, audio, increases } = playing(9);
    const players: PlayerReport[] = [
      { playerId: 1, changes: { ...changes, incidents: [] } },
      { playerId: 2, minute: { ...minute, minute: 27 } },
      { playerId: 9, position },
      { playerId: 4, audio: { mode: "opening", queuedMs: 0, heldBytes: 0, usedMs: 0 } },
      { playerId: 5, increases },
      { playerId: 6, audio, increases, changes, minute },
      { playerId: 7 },
    ];
    expect(sent(players).players).toEqual(players);
  });
});
