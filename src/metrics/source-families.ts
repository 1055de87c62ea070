// How sources and plugins do, for Prometheus: what was asked of them and what came of it, their ways, their threads.
// Main thread; read when it is asked for.

import type { PluginJson, SourceJson } from "../control/protocol/sources-json.ts";
import type { MetricFamily, Sample } from "./prometheus-text.ts";

/** What is read for them. */
export interface SourceReadings {
  sourcesJson(): readonly SourceJson[];
  pluginsJson(): readonly PluginJson[];
}

export function sourceFamilies(readings: SourceReadings): MetricFamily[] {
  const sources = readings.sourcesJson();
  const plugins = readings.pluginsJson();
  return [
    {
      name: "tonearm_source_requests_total",
      help: "What sources were asked for, and what came of it.",
      type: "counter",
      samples: sources.flatMap(requestSamples),
    },
    {
      name: "tonearm_plugin_way_open",
      help: "1, or 0 while a way to a site is left alone because it keeps failing.",
      type: "gauge",
      samples: waySamples(sources),
    },
    {
      name: "tonearm_plugin_losses_total",
      help: "Threads of plugins that were lost.",
      type: "counter",
      samples: plugins.map(({ name, losses }) => ({ labels: { plugin: name }, value: losses })),
    },
    {
      name: "tonearm_plugin_events_total",
      help: "What plugins count by themselves, since their threads started.",
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

/** The sources of one plugin share its ways. */
function waySamples(sources: readonly SourceJson[]): Sample[] {
  const byPlugin = new Map(sources.map(({ plugin, ways }) => [plugin ?? "", ways]));
  return [...byPlugin].flatMap(([plugin, ways]) =>
    ways.map(({ name, state }) => ({ labels: { plugin, way: name }, value: state === "open" ? 1 : 0 })),
  );
}
