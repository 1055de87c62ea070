// The metrics for Prometheus, on the path that the configuration names (protocol-v4.md sections 1.2 and 6.4). Main
// thread; what they say is made in src/observability/metrics.

import { isOfMachines, type RestRoute } from "./route.ts";

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
  /** The same of all machines of the cluster. */
  readAll(names: readonly string[] | undefined): Promise<string>;
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
      handle: async ({ query }) => {
        // Repeated parameters arrive joined with commas, and no name holds one.
        const names = query.get("name[]")?.split(",");
        const text = isOfMachines(query) ? await source.readAll(names) : source.read(names);
        return { kind: "text", status: 200, contentType: source.contentType, text };
      },
    },
  ];
}
