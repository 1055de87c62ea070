// Audio totals of all workers together since the node started, including workers that are gone. Filled by the pool from
// the workers' reports; read for metrics. Main thread.

import { type Incident, LOSS_CAUSES, noLosses, type PlayerReport, REPAIR_KINDS } from "../../bridge/audio-report.ts";
import { LATENESS_BOUNDS_MS, type WorkerCounters } from "../../bridge/events.ts";
import { noVoiceCounts, VOICE_COUNTS } from "../../bridge/voice-counts.ts";
import { zeroCounts } from "../../bridge/zero-counts.ts";

/** The close codes that Discord documents for voice, and all others together. */
export const VOICE_CLOSE_CODES = [
  ...(["4001", "4002", "4003", "4004", "4005", "4006", "4009", "4011", "4012", "4014"] as const),
  ...(["4015", "4016", "4017", "4020", "4021", "4022", "other"] as const),
] as const;

/** One for a node; only grows. */
export class AudioTotals {
  /** Audio frames; packets of voice connections, silence included. */
  framesSent = 0;
  packetsSent = 0;
  /** Frames, and incidents. */
  readonly lostFrames = noLosses();
  readonly incidents = noLosses();
  readonly repairs = zeroCounts(REPAIR_KINDS);
  inputReopened = 0;
  readonly voice = noVoiceCounts();
  /** Voice connections that Discord has closed for good, by the code of the WebSocket. */
  readonly voiceClosed = zeroCounts(VOICE_CLOSE_CODES);
  /** Workers that crashed or hung. */
  workersLost = 0;
  /** Sends by how late they were (`LATENESS_BOUNDS_MS`, and those beyond), and their lateness in all, milliseconds. */
  readonly latenessCounts: number[] = [...LATENESS_BOUNDS_MS, 0].fill(0);
  latenessMsSum = 0;

  /** `before`: what the same worker said last; undefined when it says something for the first time. */
  addCounters(now: WorkerCounters, before: WorkerCounters | undefined): void {
    this.framesSent += now.framesSent - (before?.framesSent ?? 0);
    this.packetsSent += now.packetsSent - (before?.packetsSent ?? 0);
    for (const [index, count] of now.latenessCounts.entries()) this.latenessCounts[index]! += count;
    this.latenessMsSum += now.latenessMsSum;
  }

  addReport({ lostFrames, incidents, repairs, inputReopened, voiceCounts }: PlayerReport): void {
    if (lostFrames !== undefined) for (const cause of LOSS_CAUSES) this.lostFrames[cause] += lostFrames[cause];
    for (const { cause } of incidents) this.incidents[cause] += 1;
    for (const kind of REPAIR_KINDS) this.repairs[kind] += repairs.filter((repair) => repair.kind === kind).length;
    this.inputReopened += inputReopened;
    if (voiceCounts !== undefined) for (const name of VOICE_COUNTS) this.voice[name] += voiceCounts[name];
  }

  /** A voice connection that Discord has closed for good. */
  addVoiceClose(code: number): void {
    const known = VOICE_CLOSE_CODES.find((name) => name === String(code)) ?? "other";
    this.voiceClosed[known] += 1;
  }

  /** One that no worker could report: it was the loss of one. */
  addIncident({ cause, framesLost }: Incident): void {
    this.incidents[cause] += 1;
    this.lostFrames[cause] += framesLost;
  }
}
