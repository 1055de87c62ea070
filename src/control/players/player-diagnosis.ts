// The state of one player's audio, wherever it was rendered: the reports of its workers, added up, and the
// interruptions by lost workers. Answers although a worker hangs, with its last report and the age of that. Main
// thread.

import { type AudioState, PLAYER_COUNTERS, type PlayerCounts, VOICE_COUNTS } from "../../bridge/audio-metrics.ts";
import {
  type AudioChanges,
  type Incident,
  missedOf,
  REPAIR_KINDS,
  type Repair,
  sumOf,
  type VoiceReport,
} from "../../bridge/audio-report.ts";
import type { Increases } from "../../bridge/counter-table.ts";
import type { PlayerReport } from "../../bridge/worker-report.ts";
import { zeroCounts } from "../../bridge/zero-counts.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Logger } from "../../log/log.ts";
import type { TrackInfo } from "../../track/track-info.ts";
import type {
  IncidentJson,
  PlayerDiagnosisJson,
  VoiceDiagnosisJson,
  WorkerPlacementJson,
} from "../protocol/player-diagnosis-json.ts";
import type { PlayerPlacement } from "../workers/placements.ts";
import type { WorkerView } from "../workers/worker-slot.ts";
import { IncidentLines } from "./incident-lines.ts";
import { LostMinutes } from "./lost-minutes.ts";
import type { SharedIncidents } from "./shared-incidents.ts";

const INCIDENTS_MAX = 20;
const FRAME_MS = 20;
const COST_SPAN_MIN_MS = 100;

interface PlayerDiagnosisOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly sharedIncidents: Pick<SharedIncidents, "add">;
  /** Called for an incident that no worker could report. */
  readonly onIncident: (incident: Incident) => void;
}

/** A summary of a player's audio. */
export interface AudioOverview {
  /** Undefined: there has been none. */
  readonly mode: AudioState["mode"] | undefined;
  /** Share of a core that its track takes; undefined: not known. */
  readonly cost: number | undefined;
  readonly heldBytes: number;
  readonly framesLost: number;
  /** The newest; undefined: none yet. */
  readonly lastIncident: IncidentJson | undefined;
}

/** The part of the diagnosis that only the player knows. */
type PlayerPart = Pick<
  PlayerDiagnosisJson,
  "guildId" | "sessionId" | "track" | "position" | "paused" | "volume" | "filters" | "region"
>;

/** The members of a track that a diagnosis shows. */
export function diagnosedTrack({ identifier, title, sourceName, isStream }: TrackInfo): PlayerDiagnosisJson["track"] {
  return { identifier, title, sourceName, isStream };
}

export class PlayerDiagnosis {
  readonly #options: PlayerDiagnosisOptions;
  /** Share of a core that its track took of late. */
  #cost: number | undefined;
  readonly #lines: IncidentLines;
  readonly #counts = PLAYER_COUNTERS.zero();
  readonly #lostMinutes: LostMinutes;
  readonly #repairCounts = zeroCounts(REPAIR_KINDS);
  #audio: AudioState | undefined;
  #voice: VoiceReport | undefined;
  #open: Incident | undefined;
  /** Newest first. */
  #incidents: readonly Incident[] = [];
  #lastRepair: Repair | undefined;
  #reportedAtMs: number | undefined;
  #audioAtMs: number | undefined;
  /** When a worker was lost while audio was playing, Unix epoch milliseconds. */
  #lostEpochMs: number | undefined;

  constructor(options: PlayerDiagnosisOptions) {
    this.#options = options;
    this.#lines = new IncidentLines(options);
    this.#lostMinutes = new LostMinutes(options.clock);
  }

  onReport({ audio, increases, changes }: PlayerReport): void {
    if (audio !== undefined) this.#onAudioState(audio);
    if (increases !== undefined) this.#addCounts(increases);
    if (changes !== undefined) this.#onChanges(changes);
    this.#reportedAtMs = this.#options.clock.now();
  }

  #addCounts(increases: Increases): void {
    const before = missedOf(this.#counts.lostFrames);
    PLAYER_COUNTERS.add(this.#counts, increases);
    this.#lostMinutes.add(missedOf(this.#counts.lostFrames) - before);
  }

  #onAudioState(state: AudioState): void {
    const now = this.#options.clock.now();
    const sinceMs = this.#audioAtMs === undefined ? 0 : now - this.#audioAtMs;
    // Reports that arrive together say nothing about the time they took.
    if (sinceMs >= COST_SPAN_MIN_MS) this.#cost = Math.min(1, state.usedMs / sinceMs);
    this.#audioAtMs = now;
    this.#audio = state;
  }

  #onChanges({ incidents, openIncident, isNowLasting, repairs, voice }: AudioChanges): void {
    this.#voice = voice ?? this.#voice;
    for (const repair of repairs) {
      this.#repairCounts[repair.kind] += 1;
      this.#lastRepair = repair;
      this.#lines.reportRepair(repair);
    }
    for (const incident of incidents) this.#add(incident);
    this.#open = openIncident;
    if (openIncident !== undefined && isNowLasting === true) {
      this.#log(openIncident, () => this.#lines.reportLasting(openIncident));
    }
  }

  /** `isAudible`: its track had produced audio, and was not paused. */
  onWorkerLost({ isAudible }: { readonly isAudible: boolean }): void {
    this.#endOpen();
    if (isAudible) this.#lostEpochMs ??= this.#options.clock.epochMs();
  }

  /** The player is destroyed: what its worker reports from now on is only counted. */
  close(): void {
    this.#endOpen();
    this.endLoss();
  }

  /** Closes an incident as it was reported last. */
  #endOpen(): void {
    const incident = this.#open;
    this.#open = undefined;
    if (incident !== undefined) this.#add(incident);
  }

  /** When it stuttered last, Unix epoch milliseconds; -Infinity: never. */
  get lastTroubleEpochMs(): number {
    return this.#lastIncident?.startEpochMs ?? Number.NEGATIVE_INFINITY;
  }

  /** A summary; without a track there is no audio. */
  get overview(): AudioOverview {
    const audio = this.#audio;
    const incident = this.#lastIncident;
    const isOver = incident !== undefined && incident === this.#incidents[0];
    return {
      mode: audio?.mode,
      cost: this.#cost,
      heldBytes: audio?.heldBytes ?? 0,
      framesLost: sumOf(this.#counts.lostFrames),
      lastIncident: incident && incidentToJson(incident, { isOver }),
    };
  }

  get #lastIncident(): Incident | undefined {
    return this.#loss ?? this.#open ?? this.#incidents[0];
  }

  /** Closes the incident of a lost worker: audio is sent again, or none is requested any more. */
  endLoss(): void {
    const incident = this.#loss;
    if (incident === undefined) return;
    this.#lostEpochMs = undefined;
    this.#counts.lostFrames.workerLost += incident.framesLost;
    this.#lostMinutes.add(incident.framesLost);
    this.#options.onIncident(incident);
    this.#add(incident);
  }

  toJson(player: PlayerPart, placement: PlayerPlacement | undefined): PlayerDiagnosisJson {
    const reportedAgoMs = this.#reportedAtMs === undefined ? undefined : this.#options.clock.now() - this.#reportedAtMs;
    const audio = player.track === null ? undefined : this.#audio;
    const openNow = this.#loss ?? this.#open;
    const open = openNow === undefined ? [] : [incidentToJson(openNow, { isOver: false })];
    const over = this.#incidents.map((incident) => incidentToJson(incident, { isOver: true }));
    return {
      ...player,
      age: roundedOrNull(placement?.ownerWorker.reportedAgoMs ?? reportedAgoMs),
      worker: placement === undefined ? null : workerToJson(placement.ownerWorker),
      renderWorker: placement?.renderWorker === undefined ? null : workerToJson(placement.renderWorker),
      audio: audio === undefined ? null : audioToJson(audio),
      voice: this.#voice === undefined ? null : voiceToJson(this.#voice, this.#counts),
      frames: {
        sent: this.#counts.framesSent,
        lost: { ...this.#counts.lostFrames },
        lostMinutes: this.#lostMinutes.toJson(),
      },
      incidents: [...open, ...over].slice(0, INCIDENTS_MAX),
      repairs: { ...this.#repairCounts, last: this.#lastRepair === undefined ? null : repairToJson(this.#lastRepair) },
      inputReopened: this.#counts.inputReopened,
    };
  }

  /** The ongoing incident since a worker was lost. */
  get #loss(): Incident | undefined {
    const startEpochMs = this.#lostEpochMs;
    if (startEpochMs === undefined) return undefined;
    const lengthMs = Math.max(FRAME_MS, this.#options.clock.epochMs() - startEpochMs);
    const framesLost = Math.round(lengthMs / FRAME_MS);
    return { cause: "workerLost", startEpochMs, lengthMs, framesLost, repair: undefined };
  }

  #add(incident: Incident): void {
    this.#incidents = [incident, ...this.#incidents].slice(0, INCIDENTS_MAX);
    this.#log(incident, () => this.#lines.report(incident));
  }

  /** `logAlone` logs it as the incident of this player only. */
  #log(incident: Incident, logAlone: () => void): void {
    if (incident.cause === "workerLate") this.#options.sharedIncidents.add(this, incident, logAlone);
    else logAlone();
  }
}

function workerToJson({ index, isIsolated, metrics }: WorkerView): WorkerPlacementJson {
  const { threadLoad = 0, latenessMsP99 = 0, latenessMsMax = 0 } = metrics ?? {};
  const [load, latenessP99, latenessMax] = [threadLoad, latenessMsP99, latenessMsMax].map(rounded);
  return { index, isIsolated, load: load ?? 0, latenessP99: latenessP99 ?? 0, latenessMax: latenessMax ?? 0 };
}

function audioToJson({ mode, input, queuedMs, heldBytes }: AudioState): PlayerDiagnosisJson["audio"] {
  return { mode, codec: input?.codec ?? null, bitrate: input?.bitrate || null, queued: queuedMs, heldBytes };
}

function voiceToJson({ state, gate, pingMs, dave }: VoiceReport, ofPlayer: PlayerCounts): VoiceDiagnosisJson {
  const { version, epoch, readyMs } = dave;
  const counts = zeroCounts(VOICE_COUNTS);
  for (const name of VOICE_COUNTS) counts[name] = ofPlayer[name];
  return {
    state,
    gate,
    ping: pingMs,
    dave: { version, epoch: epoch ?? null, state: dave.state, ready: readyMs },
    counts,
  };
}

function incidentToJson(incident: Incident, { isOver }: { readonly isOver: boolean }): IncidentJson {
  const { cause, startEpochMs, lengthMs, framesLost, repair } = incident;
  return { cause, start: startEpochMs, length: lengthMs, framesLost, repair: repair ?? null, isOver };
}

function repairToJson({ kind, cause, epochMs, silentMs }: Repair): PlayerDiagnosisJson["repairs"]["last"] {
  return { kind, cause, time: epochMs, silent: silentMs };
}

function roundedOrNull(value: number | undefined): number | null {
  return value === undefined ? null : Math.round(value);
}

function rounded(value: number): number {
  return Math.round(value * 1000) / 1000;
}
