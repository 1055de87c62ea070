// The metrics for Prometheus, on the path that the configuration names (protocol-v4.md sections 1.2 and 6.4). Main
// thread; what they say is made in src/observability/metrics.

import type { RestRoute } from "./route.ts";

/** As `metrics.prometheus.*` of the configuration says it. */
export interface Metrics {
  readonly path: string;
  readonly isPasswordNeeded: boolean;
  readonly source: MetricsSource;
}

interface MetricsSource {
  readonly contentType: string;
  /** The text of all families, or of those named. */
  read(names: readonly string[] | undefined): string;
}

/** None where metrics are off. */
export function metricsRoutes(metrics: Metrics | undefined): readonly RestRoute[] {
  if (metrics === undefined) return [];
  const { path, isPasswordNeeded, source } = metrics;
  return [
    {
      method: "GET",
      path,
      access: isPasswordNeeded ? "viewer" : "open",
      // Prometheus puts a scheme before it.
      takesBearer: true,
      // Repeated parameters arrive joined with commas, and no name holds one.
      handle: ({ query }) => ({
        kind: "text",
        status: 200,
        contentType: source.contentType,
        text: source.read(query.get("name[]")?.split(",")),
      }),
    },
  ];
}
