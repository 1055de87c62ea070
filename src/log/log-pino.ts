// Logging of the main thread with pino, as lines of JSON or as readable lines. Everything passes a filter first that
// removes what looks like a secret, in case a caller forgot.

import { pino } from "pino";
import { escapeControls } from "../lib/escape-controls.ts";
import { redactText } from "../lib/redact-text.ts";
import { redactFields } from "../lib/redact-value.ts";
import { createLogger, type LogFields, type Logger, type LogLevel } from "./log.ts";
import type { LogRing } from "./log-ring.ts";

export interface LogOptions {
  readonly level: LogLevel | "silent";
  readonly format: "text" | "json";
  readonly stream: { write(text: string): unknown };
  /** Buffers the written lines. */
  readonly ring?: LogRing;
  /** Epoch milliseconds; `Date.now` by default. */
  readonly epochMs?: () => number;
}

const LEVELS = ["debug", "info", "warn", "error"] as const satisfies readonly LogLevel[];

/** A logger that writes lines of at least `level`. */
export function createNodeLogger(options: LogOptions): Logger {
  const { level, format, ring, epochMs = Date.now } = options;
  if (level === "silent") return createLogger(() => undefined);
  const write = format === "json" ? jsonWriter(options) : textWriter(options);
  const read = format === "json" ? readJson : undefined;
  const least = LEVELS.indexOf(level);
  return createLogger((line, message, fields) => {
    if (LEVELS.indexOf(line) < least) return;
    const clean = { level: line, message: redactText(message), fields: redactFields(fields), epochMs: epochMs() };
    const written = write(clean);
    ring?.keep({ level: line, epochMs: clean.epochMs, written, read });
  });
}

/** A log line without secrets. */
interface CleanLine {
  readonly level: LogLevel;
  readonly message: string;
  readonly fields: LogFields;
  readonly epochMs: number;
}

/** Writes a line, and returns the written text. */
type WriteClean = (line: CleanLine) => string;

function jsonWriter({ level, stream }: LogOptions): WriteClean {
  let timeMs = 0;
  let written = "";
  const destination = {
    write: (text: string) => {
      written = escapeControls(text);
      stream.write(written);
    },
  };
  const json = pino({ level, base: null, timestamp: () => `,"time":${timeMs}` }, destination);
  return ({ level: line, message, fields, epochMs }) => {
    timeMs = epochMs;
    json[line](fields, message);
    return written;
  };
}

/** Converts a JSON line to the readable form; a line that was cut stays as it is. */
function readJson(written: string): string {
  try {
    const { level, time, msg, ...fields } = JSON.parse(written) as { level: number; time: number; msg: string };
    const name = LEVELS[Math.round(level / 10) - 2] ?? "info";
    return textLine({ level: name, message: msg, fields, epochMs: time });
  } catch {
    // The end of a long line is cut off.
    return written;
  }
}

function textWriter({ stream }: LogOptions): WriteClean {
  return (line) => {
    const text = textLine(line);
    stream.write(text);
    return text;
  };
}

function textLine({ level, message, fields, epochMs }: CleanLine): string {
  const time = new Date(epochMs).toISOString().replace("T", " ").replace("Z", "");
  const { error, ...others } = fields;
  const pairs = Object.entries(others).map(([name, value]) => ` ${textValue(name)}=${textValue(value)}`);
  const trouble = error === undefined ? "" : `\n${indent(textError(error))}`;
  return escapeControls(`${time} ${level.toUpperCase().padEnd(5)} ${oneLine(message)}${pairs.join("")}${trouble}\n`);
}

function textValue(value: unknown): string {
  if (typeof value === "string" && /^[\w.:/@+-]+$/.test(value)) return value;
  return typeof value === "string" || (typeof value === "object" && value !== null)
    ? JSON.stringify(value)
    : String(value);
}

/** Removes line breaks, which could forge log lines; those of the node's own lists are kept, indented. */
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
