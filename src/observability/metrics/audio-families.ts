// Audio quality of all players and the state of audio workers, for Prometheus: a family for each exported entry of the
// tables in bridge/audio-metrics.ts and control/workers/audio-totals.ts. No label names a guild: that would be too many
// series; GET /v4/tonearm/players/{guildId} reports on one. Every counter is there from the start, with 0. Main thread.

import { type GaugeField, WORKER_GAUGES, type WorkerMetrics } from "../../bridge/audio-metrics.ts";
import type { CounterField } from "../../bridge/counter-table.ts";
import { AUDIO_COUNTERS, type AudioTotals } from "../../control/workers/audio-totals.ts";
import type { MetricFamily, Sample } from "./prometheus-text.ts";

/** A worker and its last report; undefined: none yet. */
export interface WorkerReading {
  readonly index: number;
  readonly metrics: WorkerMetrics | undefined;
}

export function audioFamilies({ counts }: Pick<AudioTotals, "counts">): MetricFamily[] {
  return namesOf(AUDIO_COUNTERS.fields).map((name) => counterFamily(AUDIO_COUNTERS.fields[name], counts[name]));
}

/** Gauges have three decimal places. */
export function workerFamilies(workers: readonly WorkerReading[]): MetricFamily[] {
  return namesOf(WORKER_GAUGES).flatMap((name): MetricFamily[] => {
    const { metric, help = "" }: GaugeField = WORKER_GAUGES[name];
    if (metric === undefined) return [];
    const samples = workers.map(({ index, metrics }) => ({
      labels: { worker: String(index) },
      value: Math.round((metrics?.[name] ?? 0) * 1000) / 1000,
    }));
    return [{ name: `tonearm_worker_${metric}`, help, type: "gauge", samples }];
  });
}

function counterFamily(
  { metric, help, label, boundsMs = [] }: CounterField,
  counts: number | readonly number[] | Readonly<Record<string, number>>,
): MetricFamily {
  const family = { name: `tonearm_${metric}`, help };
  if (typeof counts === "number") return { ...family, type: "counter", samples: [{ value: counts }] };
  if (isList(counts)) return { ...family, type: "histogram", samples: histogramSamples(boundsMs, counts) };
  const samples = Object.entries(counts).map(([value, count]) => ({
    labels: { [label?.name ?? ""]: value },
    value: count,
  }));
  return { ...family, type: "counter", samples };
}

/** In seconds, as Prometheus has it. */
function histogramSamples(boundsMs: readonly number[], [sumMs = 0, ...classes]: readonly number[]): Sample[] {
  const samples: Sample[] = [];
  let seen = 0;
  for (const [index, count] of classes.entries()) {
    const boundMs = boundsMs[index];
    seen += count;
    samples.push({
      suffix: "_bucket",
      labels: { le: boundMs === undefined ? "+Inf" : String(boundMs / 1000) },
      value: seen,
    });
  }
  return [...samples, { suffix: "_sum", value: sumMs / 1000 }, { suffix: "_count", value: seen }];
}

function isList(counts: readonly number[] | Readonly<Record<string, number>>): counts is readonly number[] {
  return Array.isArray(counts);
}

function namesOf<Fields extends object>(fields: Fields): (keyof Fields & string)[] {
  return Object.keys(fields) as (keyof Fields & string)[]; // its own keys
}
