// Monitors the audio of one player: frames counted by their fate, incidents, silences and the repairs made. Filled by
// the player in the tick, checked and reported twice a second. Audio thread.

import { PLAYER_COUNTERS, type PlayerCounts } from "../../bridge/audio-metrics.ts";
import type { AudioChanges, LossCause, Repair } from "../../bridge/audio-report.ts";
import type { PlayerReport } from "../../bridge/worker-report.ts";
import type { Upstream } from "../quota/upstream.ts";
import { FrameCounters } from "./frame-counters.ts";
import { IncidentLog } from "./incident-log.ts";
import { SilenceWatch, type SilenceWatchOptions, type Stall } from "./silence-watch.ts";
import type { VoiceOutput } from "./voice-output.ts";

interface AudioWatchOptions extends SilenceWatchOptions {
  /** The player's counts since its last report. */
  readonly counts: PlayerCounts;
  /** The input of the track that is played. */
  readonly upstream: () => Upstream | undefined;
  readonly output: Pick<VoiceOutput, "collectCounts" | "takeVoiceReport">;
}

/** The parts of a report that this file makes. */
type WatchReport = Pick<PlayerReport, "increases" | "changes" | "minute">;

export class AudioWatch {
  readonly #options: AudioWatchOptions;
  readonly #counts: PlayerCounts;
  readonly #minute: FrameCounters;
  readonly #incidents: IncidentLog;
  readonly #silence: SilenceWatch;
  #repairs: Repair[] = [];
  /** True when the last report contained an open incident, so that its end must be reported as well. */
  #wasOpen = false;

  constructor(options: AudioWatchOptions) {
    this.#options = options;
    this.#counts = options.counts;
    this.#minute = new FrameCounters(options.clock.epochMs());
    this.#incidents = new IncidentLog(options.clock, options.upstream);
    this.#silence = new SilenceWatch(options);
  }

  onSent(): void {
    this.#counts.framesSent += 1;
    this.#minute.addSent();
    this.#incidents.addSent();
    this.#silence.onSent();
  }

  /** Frames counted as sent have been revoked. */
  onRevoked(frames: number): void {
    this.#counts.framesSent -= frames;
    this.#minute.addRevoked(frames);
  }

  /** Frames that were due, after audio had started, were not sent. */
  onLost(cause: LossCause, frames: number): void {
    this.#counts.lostFrames[cause] += frames;
    this.#minute.addLost(cause, frames);
    // In an empty channel nobody misses them.
    if (cause !== "nobodyThere") this.#incidents.add(cause, frames);
  }

  onPlaying(): void {
    this.#minute.onPlaying(this.#options.clock.epochMs());
  }

  /** No more audio is due: the track ended, it is paused, or its audio is rendered elsewhere. */
  onStopped(): void {
    this.#minute.onStopped(this.#options.clock.epochMs());
    this.#incidents.end();
  }

  /** Another track or another request: the waiting times start again. */
  onRequest(): void {
    this.#incidents.end();
    this.#silence.reset();
  }

  /** Called twice a second. True: the stall must be repaired, and `onRepaired` called once the repair has begun. */
  check(stall: Stall | undefined): boolean {
    this.#incidents.check();
    return this.#silence.isRepairDue(stall);
  }

  onRepaired({ kind, cause }: Stall): void {
    this.#incidents.noteRepair(kind);
    const epochMs = this.#options.clock.epochMs();
    this.#repairs.push({ kind, cause, epochMs, silentMs: Math.round(this.#silence.silentMs) });
  }

  /** Returns what has happened since the last call. */
  takeReport(): WatchReport {
    const { output, clock } = this.#options;
    output.collectCounts();
    // First, as it may throw: nothing that was counted is taken then.
    const voice = output.takeVoiceReport();
    return {
      increases: PLAYER_COUNTERS.take(this.#counts),
      changes: this.#takeChanges(voice),
      minute: this.#minute.takeMinute(clock.epochMs()),
    };
  }

  #takeChanges(voice: AudioChanges["voice"]): AudioChanges | undefined {
    const incidents = this.#incidents.takeOver();
    const isNowLasting = this.#incidents.takeLasting();
    const openIncident = this.#incidents.open;
    const repairs = this.#repairs;
    const isQuiet = !this.#wasOpen && openIncident === undefined && incidents.length === 0;
    if (isQuiet && repairs.length === 0 && voice === undefined) return undefined;
    this.#repairs = [];
    this.#wasOpen = openIncident !== undefined;
    return { incidents, openIncident, isNowLasting, repairs, voice };
  }
}
