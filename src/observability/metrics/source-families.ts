// The health of sources and plugins, for Prometheus: requests and their outcomes, backends, threads.
// Main thread; read when it is asked for.

import type { PluginJson, SourceJson } from "../../control/protocol/sources-json.ts";
import type { Mirrors } from "../../control/sources/mirrors.ts";
import type { MetricFamily, Sample } from "./prometheus-text.ts";

/** Values read for these families. */
export interface SourceReadings {
  sourcesJson(): readonly SourceJson[];
  pluginsJson(): readonly PluginJson[];
}

export function sourceFamilies(
  readings: SourceReadings,
  { mirrorCounts, fallbackCounts }: Pick<Mirrors, "mirrorCounts" | "fallbackCounts">,
): MetricFamily[] {
  const sources = readings.sourcesJson();
  const plugins = readings.pluginsJson();
  return [
    {
      name: "tonearm_source_requests_total",
      help: "Loads of sources, by result.",
      type: "counter",
      samples: sources.flatMap(requestSamples),
    },
    {
      name: "tonearm_fallbacks_total",
      help: "Tracks of a source that could not be started and were heard from another; none: looked for and never heard.",
      type: "counter",
      samples: fallbackCounts.map(({ from, to, count }) => ({ labels: { source: from, fallback: to }, value: count })),
    },
    {
      name: "tonearm_mirrors_total",
      help: "Tracks of a source without audio that were heard from another; none: looked for and never heard.",
      type: "counter",
      samples: mirrorCounts.map(({ from, to, count }) => ({ labels: { from, to }, value: count })),
    },
    {
      name: "tonearm_backend_breaker_open",
      help: "1 while the circuit breaker of a backend is open or half open and requests are refused, else 0.",
      type: "gauge",
      samples: backendSamples(sources),
    },
    {
      name: "tonearm_plugin_losses_total",
      help: "Threads of plugins that were lost.",
      type: "counter",
      samples: plugins.map(({ name, losses }) => ({ labels: { plugin: name }, value: losses })),
    },
    {
      name: "tonearm_plugin_events_total",
      help: "Counters of plugins since their threads started.",
      type: "counter",
      samples: plugins.flatMap(({ name, counts }) =>
        Object.entries(counts).map(([event, value]) => ({ labels: { plugin: name, event }, value })),
      ),
    },
  ];
}

function requestSamples({ name, loads, links }: SourceJson): Sample[] {
  return Object.entries({ load: loads, link: links }).flatMap(([request, counts]) => {
    if (counts === null) return [];
    const { succeeded, refused, failed } = counts;
    return Object.entries({ succeeded, refused, failed }).map(([outcome, value]) => ({
      labels: { source: name, request, outcome },
      value,
    }));
  });
}

/** The sources of one plugin share its backends. */
function backendSamples(sources: readonly SourceJson[]): Sample[] {
  const byPlugin = new Map(sources.map(({ plugin, backends }) => [plugin ?? "", backends]));
  return [...byPlugin].flatMap(([plugin, backends]) =>
    backends.map(({ name, state }) => ({ labels: { plugin, backend: name }, value: state === "closed" ? 0 : 1 })),
  );
}
