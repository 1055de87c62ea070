// Logging of the main thread: pino for lines of JSON, or lines for people. Everything passes a filter first that takes
// out what looks like a secret, in case a caller forgot.

import { pino } from "pino";
import { createLogger, type LogFields, type Logger, type LogLevel } from "./log.ts";

export interface LogOptions {
  readonly level: LogLevel | "silent";
  readonly format: "text" | "json";
  readonly stream: { write(text: string): unknown };
  /** Epoch milliseconds; `Date.now` by default. */
  readonly epochMs?: () => number;
}

const LEVELS = ["debug", "info", "warn", "error"] as const satisfies readonly LogLevel[];
const SECRET_NAME = /^(authorization|password|token|secret.*|.*(password|token|secret)|proxyUrl|cookie|set-cookie)$/i;
const URL_USER = /(\b[a-z][a-z0-9+.-]*:\/\/)[^/?#\s@]*@/gi;
const REDACTED = "<redacted>";
const DEPTH_MAX = 6;
const CAUSES_MAX = 8;

/** A logger that writes lines of at least `level`. */
export function createNodeLogger(options: LogOptions): Logger {
  const { level, format, stream, epochMs = Date.now } = options;
  if (level === "silent") return createLogger(() => undefined);
  if (format === "json") {
    const json = pino({ level, base: null, timestamp: () => `,"time":${epochMs()}` }, stream as pino.DestinationStream);
    return createLogger((line, message, fields) => json[line](cleanFields(fields), cleanText(message)));
  }
  const least = LEVELS.indexOf(level);
  return createLogger((line, message, fields) => {
    if (LEVELS.indexOf(line) >= least) stream.write(textLine({ line, message, fields, epochMs: epochMs() }));
  });
}

function textLine(entry: { line: LogLevel; message: string; fields: LogFields; epochMs: number }): string {
  const { line, message, fields, epochMs } = entry;
  const time = new Date(epochMs).toISOString().replace("T", " ").replace("Z", "");
  const { error, ...others } = cleanFields(fields);
  const pairs = Object.entries(others).map(([name, value]) => ` ${name}=${textValue(value)}`);
  const trouble = error === undefined ? "" : `\n${indent(textError(error))}`;
  return `${time} ${line.toUpperCase().padEnd(5)} ${oneLine(cleanText(message))}${pairs.join("")}${trouble}\n`;
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

function cleanFields(fields: LogFields): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [name, SECRET_NAME.test(name) ? REDACTED : cleanValue(value, 0)]),
  );
}

function cleanValue(value: unknown, depth: number): unknown {
  if (typeof value === "string") return cleanText(value);
  if (typeof value === "bigint") return String(value);
  if (value instanceof Error) return cleanError(value);
  if (typeof value !== "object" || value === null) return value;
  if (depth >= DEPTH_MAX) return "…";
  if (Array.isArray(value)) return value.map((item) => cleanValue(item, depth + 1));
  // Secrets and the like know how they want to be seen.
  if ("toJSON" in value && typeof value.toJSON === "function") return value.toJSON();
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [
      name,
      SECRET_NAME.test(name) ? REDACTED : cleanValue(member, depth + 1),
    ]),
  );
}

function cleanError(error: Error): Record<string, unknown> {
  const lines: string[] = [];
  let current: unknown = error;
  for (let depth = 0; depth < CAUSES_MAX && current !== undefined; depth++) {
    const text = current instanceof Error ? (current.stack ?? `${current.name}: ${current.message}`) : String(current);
    lines.push(depth === 0 ? text : `caused by: ${text}`);
    current = current instanceof Error ? current.cause : undefined;
  }
  const code = "code" in error ? { code: error.code } : {};
  return { ...code, message: cleanText(error.message), stack: cleanText(lines.join("\n")) };
}

function cleanText(text: string): string {
  return text.replaceAll(URL_USER, `$1${REDACTED}@`);
}
