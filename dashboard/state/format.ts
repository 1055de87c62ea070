// Formats numbers and times for people. Nothing here throws: the input may be anything that JSON can hold. In the
// browser.

const SECOND_MS = 1000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
/** Longer texts are cut: they add no information and cost the browser time. */
const TEXT_LENGTH_MAX = 300;

/** `3:07`, `1:02:03`. */
export function clockTime(milliseconds: number): string {
  const total = Math.floor(Math.max(0, finite(milliseconds)) / SECOND_MS);
  const [hours, minutes, seconds] = [Math.floor(total / 3600), Math.floor(total / 60) % 60, total % 60];
  return hours > 0 ? `${hours}:${twoDigits(minutes)}:${twoDigits(seconds)}` : `${minutes}:${twoDigits(seconds)}`;
}

/** `40 ms`, `1.2 s`, `12 s`, `3 min`, `2 h 5 min`, `3 d 4 h`. */
export function duration(milliseconds: number): string {
  const ms = Math.max(0, finite(milliseconds));
  if (ms < SECOND_MS) return `${Math.round(ms)} ms`;
  if (ms < 10 * SECOND_MS) return `${(ms / SECOND_MS).toFixed(1)} s`;
  if (ms < MINUTE_MS) return `${Math.floor(ms / SECOND_MS)} s`;
  if (ms < HOUR_MS) return `${Math.floor(ms / MINUTE_MS)} min`;
  if (ms < DAY_MS) return twoUnits(ms, HOUR_MS, "h", MINUTE_MS, "min");
  return twoUnits(ms, DAY_MS, "d", HOUR_MS, "h");
}

/** `just now`, `20 s ago`, `3 min ago`: in steps, so that it does not change with every look. */
export function ago(milliseconds: number): string {
  if (milliseconds < 10 * SECOND_MS) return "just now";
  if (milliseconds < MINUTE_MS) return `${Math.floor(milliseconds / (10 * SECOND_MS))}0 s ago`;
  return `${duration(milliseconds)} ago`;
}

/** `in 20 s`, `in 3 min`; `now` when it is over. */
export function ahead(milliseconds: number): string {
  return milliseconds <= 0 ? "now" : `in ${duration(milliseconds)}`;
}

/** A share of 1: `0.4 %`, `12 %`. */
export function percent(share: number): string {
  const value = Math.max(0, finite(share)) * 100;
  return value === 0 || value >= 9.95 ? `${Math.round(value)} %` : `${value.toFixed(1)} %`;
}

/** `512 B`, `1.2 MB`. */
export function bytes(count: number): string {
  const units = ["B", "kB", "MB", "GB", "TB"];
  let value = Math.max(0, finite(count));
  let unit = 0;
  while (value >= 999.5 && unit < units.length - 1) {
    value /= 1000;
    unit += 1;
  }
  return `${unit === 0 || value >= 99.5 ? Math.round(value) : value.toFixed(1)} ${units[unit]}`;
}

/** With thin gaps: `12 345`. */
export function wholeNumber(value: number): string {
  return String(Math.round(finite(value))).replaceAll(/\B(?=(\d{3})+$)/g, "\u202f");
}

/** The time of day here: `03:12:45`. */
export function timeOfDay(epochMs: number): string {
  const date = new Date(epochMs);
  if (Number.isNaN(date.getTime())) return "?";
  return [date.getHours(), date.getMinutes(), date.getSeconds()].map(twoDigits).join(":");
}

/** Day and time here: `2026-11-26 03:12:45`. */
export function dateAndTime(epochMs: number): string {
  const date = new Date(epochMs);
  if (Number.isNaN(date.getTime())) return "?";
  return [date.getFullYear(), date.getMonth() + 1, date.getDate()]
    .map(twoDigits)
    .join("-")
    .concat(" ", timeOfDay(epochMs));
}

/** One noun or the other: `1 player`, `3 players`. */
export function counted(count: number, one: string, many = `${one}s`): string {
  return `${wholeNumber(count)} ${count === 1 ? one : many}`;
}

/** An untrusted text, cut to a length that can be shown. */
export function shortened(text: string): string {
  return text.length <= TEXT_LENGTH_MAX ? text : `${text.slice(0, TEXT_LENGTH_MAX)}…`;
}

/** The target of an untrusted link if it is a web address; a browser would also run `javascript:`. */
export function webAddress(uri: string | null): string | null {
  if (uri === null || !/^https?:\/\//i.test(uri)) return null;
  try {
    return new URL(uri).href;
  } catch {
    // Not one of the web after all.
    return null;
  }
}

function finite(value: number): number {
  return Number.isFinite(value) ? value : 0;
}

function twoDigits(value: number): string {
  return String(value).padStart(2, "0");
}

function twoUnits(ms: number, largeMs: number, large: string, smallMs: number, small: string): string {
  const rest = Math.floor((ms % largeMs) / smallMs);
  return `${Math.floor(ms / largeMs)} ${large}${rest === 0 ? "" : ` ${rest} ${small}`}`;
}
