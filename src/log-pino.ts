// Logging of the main thread: pino for lines of JSON, or lines for people. Everything passes a filter first that takes
// out what looks like a secret, in case a caller forgot.

import { pino } from "pino";
import { redactText } from "./lib/redact-text.ts";
import { redactFields } from "./lib/redact-value.ts";
import { createLogger, type LogFields, type Logger, type LogLevel } from "./log.ts";

export interface LogOptions {
  readonly level: LogLevel | "silent";
  readonly format: "text" | "json";
  readonly stream: { write(text: string): unknown };
  /** Epoch milliseconds; `Date.now` by default. */
  readonly epochMs?: () => number;
}

const LEVELS = ["debug", "info", "warn", "error"] as const satisfies readonly LogLevel[];

/** A logger that writes lines of at least `level`. */
export function createNodeLogger(options: LogOptions): Logger {
  const { level, format, stream, epochMs = Date.now } = options;
  if (level === "silent") return createLogger(() => undefined);
  if (format === "json") {
    const json = pino({ level, base: null, timestamp: () => `,"time":${epochMs()}` }, stream as pino.DestinationStream);
    return createLogger((line, message, fields) => json[line](redactFields(fields), redactText(message)));
  }
  const least = LEVELS.indexOf(level);
  return createLogger((line, message, fields) => {
    if (LEVELS.indexOf(line) >= least) stream.write(textLine({ line, message, fields, epochMs: epochMs() }));
  });
}

function textLine(entry: { line: LogLevel; message: string; fields: LogFields; epochMs: number }): string {
  const { line, message, fields, epochMs } = entry;
  const time = new Date(epochMs).toISOString().replace("T", " ").replace("Z", "");
  const { error, ...others } = redactFields(fields);
  const pairs = Object.entries(others).map(([name, value]) => ` ${name}=${textValue(value)}`);
  const trouble = error === undefined ? "" : `\n${indent(textError(error))}`;
  return `${time} ${line.toUpperCase().padEnd(5)} ${oneLine(redactText(message))}${pairs.join("")}${trouble}\n`;
}

function textValue(value: unknown): string {
  if (typeof value === "string" && /^[\w.:/@+-]+$/.test(value)) return value;
  return typeof value === "string" || (typeof value === "object" && value !== null)
    ? JSON.stringify(value)
    : String(value);
}

/** Line breaks in a message could forge log lines; those of the node's own lists are kept, indented. */
function oneLine(message: string): string {
  return message.replaceAll(/\r?\n/g, "\n    ").replaceAll(/[^\n\P{Cc}]/gu, "?");
}

function textError(error: unknown): string {
  if (typeof error !== "object" || error === null) return String(error);
  const { stack, message } = error as { stack?: unknown; message?: unknown };
  return String(stack ?? message ?? JSON.stringify(error));
}

function indent(text: string): string {
  return text
    .split("\n")
    .map((line) => `    ${line.trim()}`)
    .join("\n");
}
