// The arguments that yt-dlp is run with. Each is one argument, whatever is in it; what comes from outside stands behind
// `--`, so that it never is an option. Plugin thread.

import type { Target } from "./identifiers.ts";

/** Nothing of a configuration file, nothing executed, one JSON text and nothing else. */
const FIXED = ["--ignore-config", "--no-exec", "-J", "-q", "--no-warnings"] as const;
const READABLE = "[protocol~='^(https?|m3u8(_native)?)$']";
/**
 * What the node plays without further codecs first, then any sound, then small pictures with sound; at the end also
 * what cannot be read, so that the error can say what it is.
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
  /** In place of our own choice; empty: none. */
  readonly customArgs: readonly string[];
  /** The format that was played last. */
  readonly variant?: string | undefined;
}

export function argumentsFor({ target, countMax, customArgs, variant }: ArgumentsOptions): string[] {
  const formats = variant !== undefined && FORMAT_NAME.test(variant) ? `${variant}/${FORMATS}` : FORMATS;
  const own = ["--flat-playlist", "--socket-timeout", "10", `--format=${formats}`];
  return [
    ...FIXED,
    // What looks for media on any page at all would fetch whatever a client names.
    ...(target.mayGuess ? [] : ["--use-extractors=default,-generic"]),
    ...["--playlist-end", String(countMax)],
    // Only ours may end the options.
    ...(customArgs.length === 0 ? own : customArgs.filter((argument) => argument !== "--")),
    ...["--", target.input],
  ];
}
