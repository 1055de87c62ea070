import { beforeEach, describe, expect, test } from "vitest";
import { type AudioState, type PlayerCounts, VOICE_COUNTS } from "../../../../src/bridge/audio-metrics.ts";
import { type AudioChanges, type Incident, noLosses, type VoiceReport } from "../../../../src/bridge/audio-report.ts";
import { zeroCounts } from "../../../../src/bridge/zero-counts.ts";
import { PlayerDiagnosis } from "../../../../src/control/players/player-diagnosis.ts";
import { SharedIncidents } from "../../../../src/control/players/shared-incidents.ts";
import type { PlayerDiagnosisJson } from "../../../../src/control/protocol/player-diagnosis-json.ts";
import type { PlayerPlacement } from "../../../../src/control/workers/placements.ts";
import { createLogger, type LogFields, type Logger } from "../../../../src/log/log.ts";
import { FakeClock } from "../../../support/fake-clock.ts";
import { idleWorker } from "../../../support/idle-worker.ts";
import { increasesOf } from "../../../support/increases.ts";

const PLAYER = {
  guildId: "1",
  sessionId: "s",
  position: 0,
  paused: false,
  volume: 100,
  filters: [],
  region: null,
  track: { identifier: "i", title: "t", sourceName: "http", isStream: false },
};
const PLACEMENT: PlayerPlacement = {
  ownerWorker: { index: 2, isIsolated: false, metrics: undefined, reportedAgoMs: 120.4 },
  renderWorker: undefined,
};
const INCIDENT: Incident = { cause: "network", startEpochMs: 5, lengthMs: 60, framesLost: 3, repair: undefined };
const VOICE: VoiceReport = {
  state: "live",
  gate: "send",
  pingMs: 12,
  dave: { version: 1, epoch: 4, state: "encrypted", readyMs: 90 },
};
const AUDIO: AudioState = { mode: "transcoding", queuedMs: 900, heldBytes: 7, usedMs: 0 };
const LOST_THREE = { lostFrames: { ...noLosses(), network: 3 } };

let clock: FakeClock;
let lines: { readonly message: string; readonly fields: LogFields }[];
let unreported: Incident[];
let logger: Logger;
let sharedIncidents: SharedIncidents;
let diagnosis: PlayerDiagnosis;

beforeEach(() => {
  clock = new FakeClock();
  lines = [];
  unreported = [];
  logger = createLogger((_level, message, fields) => lines.push({ message, fields }));
  sharedIncidents = new SharedIncidents({ clock, logger });
  diagnosis = new PlayerDiagnosis({
    clock,
    logger,
    sharedIncidents,
    onIncident: (incident) => unreported.push(incident),
  });
});

function changes(more: Partial<AudioChanges>): void {
  const quiet = { incidents: [], openIncident: undefined, repairs: [], voice: undefined };
  diagnosis.onReport({ playerId: 1, changes: { ...quiet, ...more } });
}

function counted(more: Partial<PlayerCounts>): void {
  diagnosis.onReport({ playerId: 1, increases: increasesOf(more) });
}

function json(placement: PlayerPlacement | "none" = PLACEMENT): PlayerDiagnosisJson {
  return diagnosis.toJson(PLAYER, placement === "none" ? undefined : placement);
}

describe("the diagnosis of a player", () => {
  test("a diagnosis is available before the first worker report", () => {
    expect(json("none")).toEqual({
      ...PLAYER,
      age: null,
      worker: null,
      renderWorker: null,
      audio: null,
      voice: null,
      frames: { sent: 0, lost: noLosses(), lostMinutes: [] },
      incidents: [],
      repairs: { reopen: 0, rejoin: 0, last: null },
      inputReopened: 0,
    });
  });

  test("an overview has the cost of the track, as a share of a core, and the cause of the last stutter", () => {
    expect(diagnosis.overview).toMatchObject({ cost: undefined, lastIncident: undefined, framesLost: 0 });
    expect(diagnosis.lastTroubleEpochMs).toBe(Number.NEGATIVE_INFINITY);
    diagnosis.onReport({ playerId: 1, audio: { ...AUDIO, usedMs: 400 } });
    clock.advance(500);
    diagnosis.onReport({ playerId: 1, audio: { ...AUDIO, usedMs: 10 } });
    // Reports that arrive together say nothing about the time they took.
    diagnosis.onReport({ playerId: 1, audio: { ...AUDIO, usedMs: 10 } });
    counted(LOST_THREE);
    changes({ incidents: [INCIDENT] });
    expect(diagnosis.overview).toMatchObject({ cost: 0.02, heldBytes: 7, framesLost: 3, mode: "transcoding" });
    expect(diagnosis.overview.lastIncident).toMatchObject({ cause: INCIDENT.cause, isOver: true });
    expect(diagnosis.lastTroubleEpochMs).toBe(INCIDENT.startEpochMs);
    changes({ openIncident: { ...INCIDENT, startEpochMs: INCIDENT.startEpochMs + 9000 } });
    expect(diagnosis.overview.lastIncident).toMatchObject({ isOver: false });
  });

  test("a diagnosis adds up the reports of successive workers", () => {
    for (const heldBytes of [10, 20]) {
      diagnosis.onReport({ playerId: 1, audio: { ...AUDIO, heldBytes } });
      counted({ ...LOST_THREE, framesSent: 25, inputReopened: 1, daveTransitions: 1 });
      changes({ incidents: [INCIDENT] });
    }
    changes({ voice: VOICE });
    counted({ framesSent: 2 });
    changes({});
    expect(json()).toMatchObject({
      audio: { mode: "transcoding", queued: 900, heldBytes: 20 },
      voice: { state: "live", gate: "send", ping: 12, dave: { version: 1, epoch: 4, state: "encrypted", ready: 90 } },
      frames: { sent: 52, lost: { network: 6 } },
      inputReopened: 2,
    });
    expect(json().voice?.counts).toEqual({ ...zeroCounts(VOICE_COUNTS), daveTransitions: 2 });
    expect(json().incidents).toHaveLength(2);
  });

  test("a diagnosis has the codec and bit rate of the input, once they are known", () => {
    diagnosis.onReport({ playerId: 1, audio: AUDIO });
    expect(json().audio).toMatchObject({ codec: null, bitrate: null });
    diagnosis.onReport({ playerId: 1, audio: { ...AUDIO, input: { codec: "aac", bitrate: 0 } } });
    expect(json().audio).toMatchObject({ codec: "aac", bitrate: null });
    diagnosis.onReport({ playerId: 1, audio: { ...AUDIO, input: { codec: "aac", bitrate: 128_000 } } });
    expect(json().audio).toMatchObject({ mode: "transcoding", codec: "aac", bitrate: 128_000 });
  });

  test("a diagnosis says in which minutes of the last hour frames were lost, but for an empty channel", () => {
    const start = Math.ceil(clock.epochMs() / 60_000) * 60_000;
    clock.advance(start - clock.epochMs());
    for (let count = 0; count < 2; count++) counted(LOST_THREE);
    counted({ framesSent: 50, lostFrames: { ...noLosses(), nobodyThere: 40 } });
    clock.advance(60_000);
    diagnosis.onWorkerLost({ isAudible: true });
    clock.advance(100);
    diagnosis.endLoss();
    const first = { time: start, lost: 6 };
    expect(json().frames.lostMinutes).toEqual([first, { time: start + 60_000, lost: 5 }]);
    for (let minute = 0; minute < 200; minute++) {
      clock.advance(60_000);
      counted(LOST_THREE);
    }
    expect(json().frames.lostMinutes).toHaveLength(60);
    clock.advance(3_600_000);
    expect(json().frames.lostMinutes).toEqual([]);
  });

  test("an open incident stays open while its player reports only counts", () => {
    changes({ openIncident: INCIDENT });
    counted(LOST_THREE);
    expect(json().incidents).toMatchObject([{ cause: INCIDENT.cause, isOver: false }]);
    changes({});
    expect(json().incidents).toEqual([]);
  });

  test("a diagnosis has the last twenty incidents, an ongoing one first", () => {
    for (let at = 0; at < 30; at++) changes({ incidents: [{ ...INCIDENT, startEpochMs: at }] });
    changes({ openIncident: { ...INCIDENT, startEpochMs: 30 } });
    const { incidents } = json();
    expect(incidents.map(({ start }) => start)).toEqual(Array.from({ length: 20 }, (_, index) => 30 - index));
    expect(incidents.map(({ isOver }) => isOver)).toEqual([false, ...new Array(19).fill(true)]);
  });

  test("a diagnosis has the age of its report, also while its worker hangs or is lost", () => {
    counted({ framesSent: 25 });
    expect(json().age).toBe(120);
    clock.advance(700);
    expect(json("none")).toMatchObject({ age: 700, worker: null, frames: { sent: 25 } });
  });

  test("a diagnosis names both workers when another one renders its audio", () => {
    const metrics = { ...idleWorker(), threadLoad: 0.25, latenessMsP99: 1.25, latenessMsMax: 3 };
    const renderWorker = { index: 5, isIsolated: true, metrics, reportedAgoMs: 3 };
    expect(json({ ...PLACEMENT, renderWorker })).toMatchObject({
      worker: { index: 2, isIsolated: false, load: 0 },
      renderWorker: { index: 5, isIsolated: true, load: 0.25, latenessP99: 1.25, latenessMax: 3 },
    });
  });
});

describe("a worker that is lost", () => {
  test("a lost worker is an incident until audio is sent again, and is counted for the node", () => {
    diagnosis.onWorkerLost({ isAudible: true });
    clock.advance(400);
    expect(json().incidents).toMatchObject([{ cause: "workerLost", length: 400, isOver: false }]);
    // Another one, too.
    diagnosis.onWorkerLost({ isAudible: true });
    clock.advance(400);
    diagnosis.endLoss();
    diagnosis.endLoss();
    expect(json()).toMatchObject({
      incidents: [{ cause: "workerLost", length: 800, framesLost: 40, isOver: true }],
      frames: { lost: { workerLost: 40 } },
    });
    expect(unreported).toMatchObject([{ cause: "workerLost", framesLost: 40 }]);
    expect(lines).toHaveLength(1);
  });

  test("a lost worker is no incident when no audio was playing", () => {
    diagnosis.onWorkerLost({ isAudible: false });
    diagnosis.endLoss();
    expect(json().incidents).toEqual([]);
    expect(unreported).toEqual([]);
  });
});

describe("the log", () => {
  test("each incident leaves a log line with its cause and without secrets", () => {
    changes({ incidents: [{ ...INCIDENT, repair: "reopen" }] });
    expect(lines).toEqual([
      { message: "audio interrupted", fields: { cause: "network", lengthMs: 60, framesLost: 3, repair: "reopen" } },
    ]);
  });

  test("an incident of one late player alone leaves its line a moment later", () => {
    changes({ incidents: [{ ...INCIDENT, cause: "workerLate" }] });
    expect(lines).toEqual([]);
    clock.advance(1500);
    const fields = { cause: "workerLate", lengthMs: 60, framesLost: 3 };
    expect(lines).toEqual([{ message: "audio interrupted", fields }]);
    expect(sharedIncidents.recent).toEqual([]);
  });

  test("very many incidents leave a few lines with the number of omitted ones", () => {
    for (let second = 0; second < 60; second++) {
      changes({ incidents: [INCIDENT] });
      clock.advance(1000);
    }
    expect(lines.length).toBeGreaterThanOrEqual(6);
    expect(lines.length).toBeLessThanOrEqual(8);
    const unreportedCount = lines.reduce((sum, { fields }) => sum + Number(fields.unreported ?? 0), 0);
    clock.advance(60_000);
    changes({ incidents: [INCIDENT] });
    expect(unreportedCount + Number(lines.at(-1)?.fields.unreported)).toBe(61 - lines.length);
  });

  test("each repair leaves a log line", () => {
    changes({ repairs: [{ kind: "rejoin", cause: "daveNotReady", epochMs: 9, silentMs: 60_000 }] });
    expect(lines).toEqual([
      {
        message: "player sends no audio although it should: starting a new voice session",
        fields: { cause: "daveNotReady", silentMs: 60_000 },
      },
    ]);
    const last = { kind: "rejoin", cause: "daveNotReady", time: 9, silent: 60_000 };
    expect(json().repairs).toEqual({ reopen: 0, rejoin: 1, last });
  });
});

describe("an underrun that does not end", () => {
  const server = { host: "music.test", receivedRate: 40_000, neededRate: 96_500 };
  const lasting: Incident = { ...INCIDENT, cause: "network", framesLost: 140, server, wasLasting: true };

  test("is logged when it has lasted five seconds and when it ends, not in between", () => {
    changes({ openIncident: { ...lasting, wasLasting: undefined } });
    expect(lines).toEqual([]);
    changes({ openIncident: lasting, isNowLasting: true });
    for (let framesLost = 150; framesLost < 2000; framesLost += 10) {
      clock.advance(500);
      changes({ openIncident: { ...lasting, framesLost } });
    }
    const fields = { cause: "network", framesLost: 140, host: "music.test", receivedKBps: 40, neededKBps: 96.5 };
    expect(lines).toMatchObject([
      {
        message:
          "audio underrun that does not end: the server music.test delivers too slowly: 40 kB/s, the track needs " +
          "96.5 kB/s",
        fields,
      },
    ]);
    expect(json().incidents).toMatchObject([{ isOver: false, framesLost: 1990 }]);
    changes({ incidents: [{ ...lasting, framesLost: 2000 }] });
    expect(lines).toHaveLength(2);
    expect(lines[1]).toMatchObject({ message: "audio underrun ended", fields: { framesLost: 2000 } });
  });

  test.each([
    ["the player is destroyed", () => diagnosis.close()],
    ["its worker is lost", () => diagnosis.onWorkerLost({ isAudible: false })],
  ])("its end is logged, too, when %s", (_, end) => {
    changes({ openIncident: lasting, isNowLasting: true });
    changes({ openIncident: { ...lasting, framesLost: 1718 } });
    end();
    end();
    expect(lines.map(({ message }) => message)).toEqual([
      expect.stringContaining("audio underrun that does not end"),
      "audio underrun ended",
    ]);
    expect(lines[1]?.fields.framesLost).toBe(1718);
    expect(unreported).toEqual([]);
  });

  test.each([
    ["inputStarved", "audio underrun that does not end", "audio underrun ended"],
    ["decoderLate", "audio keeps being interrupted", "audio interruptions ended"],
    ["daveNotReady", "audio keeps being interrupted", "audio interruptions ended"],
  ] as const)("is called an underrun where the input is the cause: %s", (cause, begun, ended) => {
    changes({ openIncident: { ...lasting, cause, server: undefined }, isNowLasting: true });
    changes({ incidents: [{ ...lasting, cause, server: undefined }] });
    expect(lines.map(({ message }) => message)).toEqual([begun, ended]);
  });

  test("of a late worker alone is logged when it lasts and when it ends a moment later", () => {
    const late: Incident = { ...lasting, cause: "workerLate", server: undefined };
    changes({ openIncident: late, isNowLasting: true });
    clock.advance(1000);
    changes({ incidents: [{ ...late, framesLost: 150 }] });
    clock.advance(500);
    expect(lines).toMatchObject([
      { message: "audio keeps being interrupted", fields: { cause: "workerLate", framesLost: 140 } },
      { message: "audio interruptions ended", fields: { cause: "workerLate", framesLost: 150 } },
    ]);
    expect(sharedIncidents.recent).toEqual([]);
  });

  test("of several late players is logged once when it lasts, and for each player when it ends at different times", () => {
    const late: Incident = { ...lasting, cause: "workerLate", server: undefined };
    const other = new PlayerDiagnosis({ clock, logger, sharedIncidents, onIncident: () => {} });
    const report = (player: PlayerDiagnosis, more: Partial<AudioChanges>): void => {
      const quiet = { incidents: [], openIncident: undefined, repairs: [], voice: undefined };
      player.onReport({ playerId: 1, changes: { ...quiet, ...more } });
    };
    for (const player of [diagnosis, other]) report(player, { openIncident: late, isNowLasting: true });
    clock.advance(2000);
    expect(lines).toMatchObject([{ fields: { players: 2 } }]);
    for (const [player, lengthMs] of [
      [diagnosis, 8000],
      [other, 10_000],
    ] as const) {
      report(player, { incidents: [{ ...late, lengthMs }] });
      clock.advance(2000);
    }
    expect(lines.slice(1)).toMatchObject([
      { message: "audio interruptions ended", fields: { lengthMs: 8000 } },
      { message: "audio interruptions ended", fields: { lengthMs: 10_000 } },
    ]);
  });

  test("its end is logged, too, when there had been too many lines at its beginning", () => {
    for (let count = 0; count < 5; count++) changes({ incidents: [INCIDENT] });
    changes({ openIncident: lasting, isNowLasting: true });
    expect(lines).toHaveLength(5);
    clock.advance(60_000);
    changes({ incidents: [{ ...lasting, lengthMs: 65_000 }] });
    expect(lines.slice(5)).toMatchObject([
      { message: "audio underrun ended", fields: { lengthMs: 65_000, unreported: 1 } },
    ]);
  });

  test("one that has not lasted long is logged when its player is destroyed", () => {
    changes({ openIncident: INCIDENT });
    diagnosis.close();
    expect(lines.map(({ message }) => message)).toEqual(["audio interrupted"]);
  });

  test.each([
    [{ host: "music.test", receivedRate: 0, neededRate: undefined }, ": the server music.test sends nothing"],
    [{ host: "music.test", receivedRate: undefined, neededRate: undefined }, ": waiting for music.test"],
    [
      { host: "music.test", receivedRate: 900, neededRate: undefined },
      ": the server music.test delivers too slowly: 0.9 kB/s",
    ],
    [undefined, ""],
  ])("its line says what is known of the server: %j", (of, said) => {
    changes({ openIncident: { ...lasting, server: of }, isNowLasting: true });
    expect(lines[0]?.message).toBe(`audio underrun that does not end${said}`);
  });

  test("of many, some are logged, with the number of the others", () => {
    for (let count = 0; count < 100; count++) {
      changes({ openIncident: lasting, isNowLasting: true });
      clock.advance(6000);
      changes({ incidents: [lasting] });
    }
    expect(lines.length).toBeLessThan(2 * (5 + 100 / 5 + 1));
    expect(lines.at(-1)?.message).toBe("audio underrun ended");
  });
});
