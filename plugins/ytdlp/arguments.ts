// The arguments that yt-dlp runs with. Untrusted text is a single argument after `--`, so that it never becomes an
// option. Plugin thread.

import type { Target } from "./identifiers.ts";

/** No configuration file, nothing executed, one JSON text as the only output. */
const FIXED = ["--ignore-config", "--no-exec", "-J", "-q", "--no-warnings"] as const;
const READABLE = "[protocol~='^(https?|m3u8(_native)?)$']";
/**
 * Formats in order: those the node plays without further codecs, any audio, small videos with audio; last, formats that
 * cannot be read, so that the error can name them.
 */
const FORMATS = [
  ...["bestaudio[acodec=opus]", "bestaudio[acodec=mp3]", "bestaudio[ext=mp3]"].map((format) => `${format}${READABLE}`),
  ...[`bestaudio[acodec~='^(vorbis|flac|pcm)']${READABLE}`, `bestaudio${READABLE}`],
  ...[`best[height<=?480]${READABLE}`, `best${READABLE}`, "bestaudio", "best"],
].join("/");
/** In a format's name nothing that means something to yt-dlp's choice of formats. */
const FORMAT_NAME = /^\w[\w.-]{0,63}$/;

interface ArgumentsOptions {
  readonly target: Target;
  /** Entries of a playlist. */
  readonly countMax: number;
  /** Replace the default arguments; empty: the defaults. */
  readonly customArgs: readonly string[];
  /** Those that give it a JavaScript runtime. */
  readonly runtimeArgs: readonly string[];
  /** The operator's; undefined: yt-dlp's own. */
  readonly userAgent?: string | undefined;
  /** The format that was played last. */
  readonly variant?: string | undefined;
}

export function argumentsFor(options: ArgumentsOptions): string[] {
  const { target, countMax, customArgs, runtimeArgs, userAgent, variant } = options;
  const formats = variant !== undefined && FORMAT_NAME.test(variant) ? `${variant}/${FORMATS}` : FORMATS;
  const own = ["--flat-playlist", "--socket-timeout", "10", `--format=${formats}`];
  return [
    ...FIXED,
    ...runtimeArgs,
    ...(userAgent === undefined ? [] : [`--user-agent=${userAgent}`]),
    // The generic extractor would fetch any page that a client names.
    ...(target.mayGuess ? [] : ["--use-extractors=default,-generic"]),
    ...["--playlist-end", String(countMax)],
    // Only ours may end the options.
    ...(customArgs.length === 0 ? own : customArgs.filter((argument) => argument !== "--")),
    ...["--", target.input],
  ];
}
