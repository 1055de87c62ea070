// Monitors the audio of one player: frames counted by their fate, incidents, silences and the repairs made. Filled by
// audio-player.ts in the tick, checked and reported twice a second. Audio thread.

import type { LossCause, PlayerReport, Repair } from "../../bridge/audio-report.ts";
import type { PlayerId } from "../../bridge/commands.ts";
import { FrameCounters } from "./frame-counters.ts";
import { IncidentLog } from "./incident-log.ts";
import { SilenceWatch, type SilenceWatchOptions, type Stall } from "./silence-watch.ts";
import type { VoiceOutput } from "./voice-output.ts";

interface AudioWatchOptions extends SilenceWatchOptions {
  readonly playerId: PlayerId;
  readonly output: Pick<VoiceOutput, "takeReport">;
}

export class AudioWatch {
  readonly counters: FrameCounters;
  readonly #options: AudioWatchOptions;
  readonly #incidents: IncidentLog;
  readonly #silence: SilenceWatch;
  #repairs: Repair[] = [];
  #inputReopened = 0;
  /** True when the last report contained an open incident, so that its end must be reported as well. */
  #wasOpen = false;

  constructor(options: AudioWatchOptions) {
    this.#options = options;
    this.counters = new FrameCounters(options.clock.epochMs());
    this.#incidents = new IncidentLog(options.clock);
    this.#silence = new SilenceWatch(options);
  }

  onSent(): void {
    this.counters.addSent();
    this.#silence.onSent();
  }

  /** Frames counted as sent have been revoked. */
  onRevoked(frames: number): void {
    this.counters.addRevoked(frames);
  }

  /** Frames that were due, after audio had started, were not sent. */
  onLost(cause: LossCause, frames: number): void {
    this.counters.addLost(cause, frames);
    // In an empty channel nobody misses them.
    if (cause !== "nobodyThere") this.#incidents.add(cause, frames);
  }

  onPlaying(): void {
    this.counters.onPlaying(this.#options.clock.epochMs());
  }

  /** No more audio is due: the track ended, it is paused, or its audio is rendered elsewhere. */
  onStopped(): void {
    this.counters.onStopped(this.#options.clock.epochMs());
    this.#incidents.end();
  }

  /** Another track or another request: the waiting times start again. */
  onRequest(): void {
    this.#silence.reset();
  }

  /** `count` more lost connections to the input's server have been opened again. */
  addInputReopened(count: number): void {
    this.#inputReopened += count;
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

  /** Returns the changes since the last call; undefined when there are none. */
  takeReport(): PlayerReport | undefined {
    const framesSent = this.counters.takeSent();
    const lostFrames = this.counters.takeLost();
    const incidents = this.#incidents.takeOver();
    const openIncident = this.#incidents.open;
    const { voice, voiceCounts } = this.#options.output.takeReport();
    const hasMore = lostFrames !== undefined || incidents.length > 0 || this.#wasOpen !== (openIncident !== undefined);
    const hasWorked = framesSent > 0 || this.#repairs.length > 0 || this.#inputReopened > 0;
    if (!hasMore && !hasWorked && voice === undefined && voiceCounts === undefined) return undefined;
    const [repairs, inputReopened] = [this.#repairs, this.#inputReopened];
    this.#repairs = [];
    this.#inputReopened = 0;
    this.#wasOpen = openIncident !== undefined;
    const { playerId } = this.#options;
    return { playerId, framesSent, lostFrames, incidents, openIncident, repairs, inputReopened, voiceCounts, voice };
  }
}
