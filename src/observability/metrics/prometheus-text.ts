// The text format of Prometheus, version 0.0.4: https://prometheus.io/docs/instrumenting/exposition_formats. Main
// thread.

export interface Sample {
  /** Added to the name of the family, for the parts of a histogram. */
  readonly suffix?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly value: number;
}

export interface MetricFamily {
  readonly name: string;
  readonly help: string;
  readonly type: "gauge" | "counter" | "histogram";
  readonly samples: readonly Sample[];
}

export const PROMETHEUS_CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8";

export function prometheusText(families: readonly MetricFamily[]): string {
  return families.map(familyText).join("");
}

function familyText({ name, help, type, samples }: MetricFamily): string {
  const lines = samples.map(({ suffix = "", labels = {}, value }) => {
    const pairs = Object.entries(labels).map(([label, text]) => `${label}="${escapeLabel(text)}"`);
    return `${name}${suffix}${pairs.length === 0 ? "" : `{${pairs.join(",")}}`} ${value}\n`;
  });
  return `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n${lines.join("")}`;
}

function escapeLabel(text: string): string {
  return text.replaceAll(/[\\"\n]/g, (character) => (character === "\n" ? "\\n" : `\\${character}`));
}
