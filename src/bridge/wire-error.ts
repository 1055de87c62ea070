// An error in the form that crosses the bridge and ends in the protocol's Exception object.

import { ERROR_FAULTS, type ErrorCode, NodeError, rootCause } from "../errors.ts";
import { redactText } from "../lib/redact-text.ts";

/** protocol-v4.md section 3.5. `common`: expected; `suspicious`: trouble outside; `fault`: our own or unknown. */
type Severity = "common" | "suspicious" | "fault";

/** Made by `toWireError`, with secrets taken out; at most 2,000 characters a text. */
export interface WireError {
  /** A `NodeError` code, "internal" for anything unexpected. */
  readonly code: string;
  /** For people: what was attempted and what to do about the failure. */
  readonly message: string;
  readonly severity: Severity;
  /** `Name: message` of the innermost cause. */
  readonly cause: string;
  /** Stack text without machine paths. */
  readonly causeStackTrace: string;
}

/** Longest text of an error. It may contain untrusted text, and each client gets a copy. */
const TEXT_LENGTH_MAX = 2000;
/** Only this much of a longer text is inspected: it takes time, also on threads that play audio. */
const INSPECTED_LENGTH_MAX = 4096;
/** Of one stack. */
const FRAMES_MAX = 8;
/** A longer line of a stack is none. */
const FRAME_LENGTH_MAX = 1024;

/** An error that came over the bridge, with its code restored and its wire form retained. */
export class RemoteError extends NodeError {
  readonly wire: WireError;

  /** A code that is not known here counts as `internal`. */
  constructor(wire: WireError) {
    super(isErrorCode(wire.code) ? wire.code : "internal", wire.message);
    this.wire = wire;
  }
}

/** Removes secrets that only the caller knows from a text. */
type Hide = (text: string) => string;

/** Converts any thrown value to its wire form, without the secrets of addresses in its texts. */
export function toWireError(error: unknown, hide: Hide = (text) => text): WireError {
  if (error instanceof RemoteError) return hiddenWire(error.wire, hide);
  const root = rootCause(error);
  const isKnown = error instanceof NodeError;
  return {
    code: isKnown ? error.code : "internal",
    message: isKnown ? shown(error.message, hide) : "an unexpected error inside the node",
    severity: isKnown ? severityOf(error) : "fault",
    cause: describe(root, hide),
    causeStackTrace: redactText(describeChain(error, hide), INSPECTED_LENGTH_MAX),
  };
}

function hiddenWire(wire: WireError, hide: Hide): WireError {
  const { message, cause, causeStackTrace } = wire;
  return { ...wire, message: hide(message), cause: hide(cause), causeStackTrace: hide(causeStackTrace) };
}

function isErrorCode(code: string): code is ErrorCode {
  return Object.hasOwn(ERROR_FAULTS, code);
}

function severityOf(error: NodeError): Severity {
  if (error.fault === "caller") return "common";
  return error.fault === "ourselves" ? "fault" : "suspicious";
}

function describe(error: unknown, hide: Hide): string {
  return shown(error instanceof Error ? `${error.name}: ${withoutPaths(error)}` : String(error), hide);
}

/** In this order: half of a secret would not be known as one. */
function shown(text: string, hide: Hide): string {
  const redacted = redactText(hide(text), INSPECTED_LENGTH_MAX);
  return redacted.length <= TEXT_LENGTH_MAX ? redacted : `${redacted.slice(0, TEXT_LENGTH_MAX)}…`;
}

/** File system errors name files in their message: paths on this machine are not for clients. */
function withoutPaths(error: Error & { readonly path?: unknown; readonly dest?: unknown }): string {
  const { path, dest } = error;
  const message = String(error.message);
  return [path, dest].reduce<string>((text, location) => {
    return typeof location === "string" && location !== "" ? text.replaceAll(`'${location}'`, "…") : text;
  }, message);
}

/** `Name: message` of each link, with the functions it passed through but no file paths. As much as is inspected. */
function describeChain(error: unknown, hide: Hide): string {
  let chain = "";
  let current = error;
  for (let depth = 0; depth < 16 && current !== undefined && chain.length < INSPECTED_LENGTH_MAX; depth++) {
    chain += `${depth === 0 ? "" : "\nCaused by: "}${describe(current, hide)}`;
    if (!(current instanceof Error)) break;
    for (const frame of framesOf(current)) chain += `\n\tat ${frame}`;
    current = current.cause;
  }
  return chain;
}

/** The first functions of the stack. It begins with the message, which may look like a stack itself. */
function framesOf({ stack, message }: Error): string[] {
  if (typeof stack !== "string") return [];
  const messageStart = stack.startsWith(message) ? 0 : stack.indexOf(": ") + 2;
  let end = stack.indexOf("\n", stack.startsWith(message, messageStart) ? messageStart + message.length : 0);
  const frames: string[] = [];
  for (let count = 0; count < FRAMES_MAX && end >= 0; count++) {
    const start = end + 1;
    end = stack.indexOf("\n", start);
    const frame = frameOf(stack.slice(start, end < 0 ? undefined : end));
    if (frame !== undefined) frames.push(frame);
  }
  return frames;
}

/** `run (/folder/name:12:5)` behind `at` becomes `run (name:12)`. Searches without going back. */
function frameOf(frame: string): string | undefined {
  const text = frame.length > FRAME_LENGTH_MAX ? "" : frame.trim();
  if (!text.startsWith("at ")) return undefined;
  const bracket = text.indexOf(" (", "at ".length + 1);
  const place = text.slice(bracket < 0 ? "at ".length : bracket + 2, text.endsWith(")") ? -1 : undefined);
  const location = place.slice(Math.max(place.lastIndexOf("/"), place.lastIndexOf("\\")) + 1);
  const column = location.lastIndexOf(":");
  const line = location.lastIndexOf(":", column - 1);
  if (line < 1 || !isNumber(location.slice(line + 1, column)) || !isNumber(location.slice(column + 1)))
    return undefined;
  return `${bracket < 0 ? "<anonymous>" : text.slice("at ".length, bracket)} (${location.slice(0, column)})`;
}

function isNumber(text: string): boolean {
  return /^\d+$/.test(text);
}
