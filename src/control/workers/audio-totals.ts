// Audio totals of all workers together since the node started, including workers that are gone. Filled by the pool from
// the workers' reports; read for metrics. Main thread.

import { LATENESS_HISTOGRAM, PLAYER_COUNTERS } from "../../bridge/audio-metrics.ts";
import { type Incident, LOSS_CAUSES, REPAIR_KINDS } from "../../bridge/audio-report.ts";
import { CounterTable } from "../../bridge/counter-table.ts";
import type { WorkerReport } from "../../bridge/worker-report.ts";

/** The close codes that Discord documents for voice, and all others together. */
const VOICE_CLOSE_CODES = [
  ...(["4001", "4002", "4003", "4004", "4005", "4006", "4009", "4011", "4012", "4014"] as const),
  ...(["4015", "4016", "4017", "4020", "4021", "4022", "other"] as const),
] as const;

const { framesSent, lostFrames, inputReopened, earlyEnds, packetsSent, ...others } = PLAYER_COUNTERS.fields;

/** All audio counters of the node, in the order of the metrics: those of players, and those counted here. */
export const AUDIO_COUNTERS = new CounterTable({
  framesSent,
  lostFrames,
  /** Incidents that are over, or have lasted `LASTING_MS`. */
  incidents: {
    metric: "incidents_total",
    help: "Periods in which audio was missing.",
    label: { name: "cause", values: LOSS_CAUSES },
  },
  repairs: {
    metric: "repairs_total",
    help: "Silent players that were repaired.",
    label: { name: "kind", values: REPAIR_KINDS },
  },
  lateness: LATENESS_HISTOGRAM,
  inputReopened,
  earlyEnds,
  /** Workers that crashed or hung. */
  workersLost: { metric: "workers_lost_total", help: "Audio threads that crashed or hung." },
  packetsSent,
  ...others,
  /** Voice connections that Discord has closed for good, by the close code of the WebSocket. */
  voiceClosed: {
    metric: "voice_closed_total",
    help: "Voice connections that Discord closed for good, by code.",
    label: { name: "code", values: VOICE_CLOSE_CODES },
  },
});

/** One for a node. */
export class AudioTotals {
  /** Since the node started. No number ever decreases: revoked frames are subtracted from those sent later. */
  readonly counts = AUDIO_COUNTERS.zero();
  /** Sums of what players reported, which decrease when frames are revoked. */
  readonly #sums = PLAYER_COUNTERS.zero();

  addReport({ worker, players }: WorkerReport): void {
    const { counts } = this;
    for (const [index, count] of worker.lateness.entries()) counts.lateness[index]! += count;
    for (const { increases, changes } of players) {
      if (increases !== undefined) PLAYER_COUNTERS.add(this.#sums, increases);
      const { incidents = [], openIncident, isNowLasting } = changes ?? {};
      for (const { cause, wasLasting } of incidents) if (wasLasting !== true) counts.incidents[cause] += 1;
      if (openIncident !== undefined && isNowLasting === true) counts.incidents[openIncident.cause] += 1;
      for (const { kind } of changes?.repairs ?? []) counts.repairs[kind] += 1;
    }
    PLAYER_COUNTERS.raise(counts, this.#sums);
  }

  addWorkerLoss(): void {
    this.counts.workersLost += 1;
  }

  /** A voice connection that Discord has closed for good. */
  addVoiceClose(code: number): void {
    const known = VOICE_CLOSE_CODES.find((name) => name === String(code)) ?? "other";
    this.counts.voiceClosed[known] += 1;
  }

  /** One that no worker could report: it was the loss of one. */
  addIncident({ cause, framesLost }: Incident): void {
    this.counts.incidents[cause] += 1;
    this.#sums.lostFrames[cause] += framesLost;
    PLAYER_COUNTERS.raise(this.counts, this.#sums);
  }
}
