// How steadily the packets of one stream arrived in a window, recorded one by one so that nothing depends on packets
// before the window: lateness against the 20 ms grid that fits the stream best, and jitter, which is how the spacing of
// packets differs from 20 ms. For benchmarks; programs that run for hours use arrival-statistics.ts.

const TICKS_PER_MS = 48;
/** Limit per stream: ten minutes of audio. Later packets of the same window are ignored. */
const RECORDED_PACKETS_MAX = 30_000;
/** RFC 3550, section 6.4.1: each new difference counts for a sixteenth. */
const JITTER_GAIN = 1 / 16;

/** Plain data. Times in milliseconds; all 0 without packets. */
export interface Steadiness {
  readonly packets: number;
  readonly latenessMsP99: number;
  readonly latenessMsMax: number;
  /** RFC 3550's estimator, its mean over all packets. */
  readonly jitterMs: number;
  /** 99th percentile of |interval - 20 ms|. */
  readonly spacingMsP99: number;
  readonly spacingMsMax: number;
}

export class PacketTiming {
  /** Per run of audio: the arrival time of each packet less its media time. */
  #stretches: number[][] = [];
  #isRecording = false;
  #packets = 0;
  #lastTimestamp = 0;
  #audioMs = 0;
  #isNewStretch = true;

  /** Clears the recording, and records from now on. */
  begin(): void {
    this.#stretches = [];
    this.#packets = 0;
    this.#isNewStretch = true;
    this.#isRecording = true;
  }

  end(): void {
    this.#isRecording = false;
  }

  /** A packet with its RTP timestamp. */
  add(timestamp: number, arrivalMs: number): void {
    if (!this.#isRecording || this.#packets >= RECORDED_PACKETS_MAX) return;
    this.#packets++;
    if (this.#isNewStretch) {
      this.#isNewStretch = false;
      this.#audioMs = 0;
      this.#stretches.push([]);
    } else {
      this.#audioMs += ((timestamp - this.#lastTimestamp) | 0) / TICKS_PER_MS;
    }
    this.#lastTimestamp = timestamp;
    this.#stretches.at(-1)?.push(arrivalMs - this.#audioMs);
  }

  /** The audio stopped: the next packet starts a new grid. */
  endRun(): void {
    this.#isNewStretch = true;
  }

  get stretches(): readonly (readonly number[])[] {
    return this.#stretches;
  }
}

/** All streams together. */
export function steadinessOf(timings: Iterable<PacketTiming>): Steadiness {
  const latenessesMs: number[] = [];
  const spacingsMs: number[] = [];
  let jitterMsSum = 0;
  for (const { stretches } of timings) {
    for (const offsetsMs of stretches) {
      // The median is the grid from which the packets are the least away in sum, and no single packet moves it.
      const gridMs = medianOf(offsetsMs);
      let jitterMs = 0;
      for (const [index, offsetMs] of offsetsMs.entries()) {
        latenessesMs.push(offsetMs - gridMs);
        if (index === 0) continue;
        const spacingMs = Math.abs(offsetMs - (offsetsMs[index - 1] ?? offsetMs));
        spacingsMs.push(spacingMs);
        jitterMs += (spacingMs - jitterMs) * JITTER_GAIN;
        jitterMsSum += jitterMs;
      }
    }
  }
  const [late, spacing] = [Float64Array.from(latenessesMs).sort(), Float64Array.from(spacingsMs).sort()];
  return {
    packets: late.length,
    latenessMsP99: at(late, 0.99),
    latenessMsMax: at(late, 1),
    jitterMs: spacing.length === 0 ? 0 : jitterMsSum / spacing.length,
    spacingMsP99: at(spacing, 0.99),
    spacingMsMax: at(spacing, 1),
  };
}

function medianOf(values: readonly number[]): number {
  return at(Float64Array.from(values).sort(), 0.5);
}

function at(sorted: Float64Array, share: number): number {
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? 0;
}
