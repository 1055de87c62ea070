// Converts yt-dlp's last error line to an error that a client may read, without private data of the operator. Plugin
// thread.

import { type RunResult, SourceError, type SourceErrorKind } from "../../src/plugin-api/plugin.ts";

const MESSAGE_LENGTH_MAX = 300;
/** Such arguments are in too many words to be hidden, and no secrets. */
const HIDDEN_LENGTH_MIN = 4;
const BUSY_MS = 30_000;
/** Exit code of a command line that it does not understand. */
const WRONG_ARGUMENTS = 2;
const UNSUPPORTED = /unsupported url\b(?! scheme)|no suitable extractor/i;

/** The first match decides; a line without a match is the site's own message about the requested item. */
const KINDS: readonly (readonly [RegExp, SourceErrorKind])[] = [
  [/unsupported url scheme|is not a valid url/i, "invalid"],
  [/http error 429|too many requests|rate.?limit|http error 5\d\d/i, "busy"],
  [/http error (?:404|410)|does(?: not|n't) exist|(?:video|page|track|clip|post) (?:was )?not found/i, "not-found"],
  [/http error 4\d\d/i, "unavailable"],
  [/please report this issue|unable to extract|traceback|^\w+(?:error|exception)\b/i, "changed"],
  [/private|sign in|log.?in|account|unavailable|not available|\bdrm\b/i, "unavailable"],
  [/unable to download|timed? ?out|\berrno\b|\bssl\b|connection|resolve/i, "unreachable"],
];

/** No extractor of yt-dlp knows the link: it may be another source's. */
export class UnsupportedLink extends SourceError {
  constructor() {
    super("invalid", "yt-dlp knows no site for this link");
  }
}

/** The error of a run without an answer. `customArgs` are removed from the message. */
export function errorOf({ exitCode, stderr }: RunResult, customArgs: readonly string[]): SourceError {
  if (exitCode === null) return new SourceError("unreachable", "yt-dlp was ended by the system; try again");
  const line = lineOf(stderr);
  if (UNSUPPORTED.test(line)) return new UnsupportedLink();
  const words = shown(line, customArgs);
  if (exitCode === WRONG_ARGUMENTS) {
    const advice = "update it, or correct customLoadArgs and customPlaybackArgs";
    return new SourceError("changed", `yt-dlp does not understand its arguments (${words}); ${advice}`);
  }
  const kind = KINDS.find(([pattern]) => pattern.test(line))?.[1] ?? "unavailable";
  const advice = kind === "changed" ? "; the site has changed, or yt-dlp is too old: update it" : "";
  const retryAfterMs = /429|too many/i.test(line) && kind === "busy" ? BUSY_MS : undefined;
  return new SourceError(kind, `yt-dlp could not load it: ${words}${advice}`, { retryAfterMs });
}

/** The last error, or the last line at all. */
function lineOf(stderr: string): string {
  const lines = stderr
    .split(/\r?\n/)
    .map((line) => line.trim())
    .filter((line) => !line.startsWith("WARNING:"));
  const line =
    lines.findLast((text) => /^(?:yt-dlp: )?\w*(?:error|exception):/i.test(text)) ??
    lines.findLast((text) => text !== "") ??
    "";
  return line.replace(/^(?:yt-dlp: )?error: ?/i, "");
}

/** Addresses shrink to their host; paths, what the operator has set and advice for terminals are taken out. */
function shown(line: string, customArgs: readonly string[]): string {
  const clean = hidden(line, customArgs)
    .replace(/;? ?please report this issue.*$/i, "")
    .replace(/\.? (?:Use|Try|See|Pass)\b[^.]* (?:--|https?:).*$/i, "")
    .replace(/ \(caused by.*$/i, "")
    .replaceAll(/(https?:\/\/)(?:[^\s/?#"'<>]*@)?([\w.:[\]-]+)[^\s"'<>]*/gi, "$1$2/…")
    .replaceAll(/(["'])(?:~?\/|[a-z]:\\)[^"']*\1/gi, "<path>")
    .replaceAll(/(?<![\w:./])(?:~?(?:\/[\w.+@-]+){2,}\/?|[a-z]:\\[^\s"']+)/gi, "<path>")
    .replaceAll(
      /\b((?:\w*token|sig(?:nature)?|passw\w*|secret|api_?key|cookie)s?\s{0,2}[=:]\s{0,2})\S+/gi,
      "$1<redacted>",
    )
    .replaceAll(/\p{Cc}(?:\[[0-9;]*m)?/gu, "");
  return clean.slice(0, MESSAGE_LENGTH_MAX) || "it gave no reason";
}

/** `--password x` and `--proxy=x`: whatever follows an option. */
function hidden(line: string, customArgs: readonly string[]): string {
  const values = customArgs.flatMap((argument) =>
    argument.startsWith("-") ? argument.split("=").slice(1) : [argument],
  );
  return values
    .filter(({ length }) => length >= HIDDEN_LENGTH_MIN)
    .reduce((text, value) => text.replaceAll(value, "<redacted>"), line);
}
