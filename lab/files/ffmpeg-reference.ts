// A file as ffmpeg sees it, the second opinion of every check: format, tags and lengths from ffprobe, audio from ffmpeg.
// Neither may open a network connection: playlists name other people's hosts. Lab only.

import { execFile } from "node:child_process";
import type { StereoAudio } from "../listen/received.ts";

export const SAMPLES_PER_SECOND = 48_000;
const OUTPUT_BYTES_MAX = 512 * 2 ** 20;
const PROBE_BYTES_MAX = 4 * 2 ** 20;
/** `crypto` is for encrypted HLS, `data` for keys inside a playlist. */
const LOCAL_ONLY = ["-protocol_whitelist", "file,crypto,data"];

export interface ReferenceFacts {
  /** ffprobe's names: `mov,mp4,m4a,3gp,3g2,mj2` and `aac`. */
  readonly container: string;
  readonly codec: string;
  readonly channelCount: number;
  readonly title: string | undefined;
  readonly artist: string | undefined;
  /** Lengths that the file states, of its audio and as a whole. */
  readonly statedMs: readonly number[];
}

export interface ReferenceAudio {
  readonly audio: StereoAudio;
  /** Reported errors: the file is damaged. */
  readonly isDamaged: boolean;
}

/** Undefined: no file with audio that ffprobe knows. */
export async function probeReference(path: string, timeoutMs: number): Promise<ReferenceFacts | undefined> {
  const entries = "format=format_name,duration:format_tags:stream=codec_name,channels,duration:stream_tags";
  const args = ["-v", "error", ...LOCAL_ONLY, "-select_streams", "a:0", "-show_entries", entries, "-of", "json", path];
  const { output } = await run("ffprobe", args, { timeoutMs, outputBytesMax: PROBE_BYTES_MAX });
  const { format, streams } = (parseJson(output) ?? {}) as Partial<ProbeOutput>; // missing members are looked after
  const [stream] = streams ?? [];
  if (format?.format_name === undefined || stream?.codec_name === undefined) return undefined;
  const tags = { ...lowerKeys(stream.tags), ...lowerKeys(format.tags) };
  return {
    container: format.format_name,
    codec: stream.codec_name,
    channelCount: stream.channels ?? 0,
    title: textOf(tags.title),
    artist: textOf(tags.artist),
    statedMs: [stream.duration, format.duration].map((text) => Number(text) * 1000).filter((value) => value > 0),
  };
}

/**
 * At most `seconds` of it as stereo at 48 kHz; more channels are mixed by ITU-R BS.775 and scaled so that nothing clips.
 * Undefined when ffmpeg decodes nothing.
 */
export async function decodeReference(
  path: string,
  { channelCount, seconds, timeoutMs }: { channelCount: number; seconds: number; timeoutMs: number },
): Promise<ReferenceAudio | undefined> {
  const isMono = channelCount === 1;
  const mix = channelCount > 2 ? ":out_channel_layout=stereo:rematrix_maxval=1" : "";
  const filter = ["-af", `aresample=${SAMPLES_PER_SECOND}${mix}`];
  const args = [
    "-v",
    "error",
    "-nostdin",
    ...LOCAL_ONLY,
    "-i",
    path,
    "-map",
    "0:a:0",
    "-t",
    String(seconds),
    ...filter,
  ];
  const layout = ["-ac", isMono ? "1" : "2"];
  const limits = { timeoutMs, outputBytesMax: OUTPUT_BYTES_MAX };
  const { output, complaints } = await run("ffmpeg", [...args, ...layout, "-f", "f32le", "-"], limits);
  const usableBytes = output.length - (output.length % (isMono ? 4 : 8));
  const samples = new Float32Array(output.buffer.slice(output.byteOffset, output.byteOffset + usableBytes));
  if (samples.length === 0) return undefined;
  const audio = isMono ? { left: samples, right: samples } : takeApart(samples);
  return { audio, isDamaged: complaints.trim() !== "" };
}

interface ProbeOutput {
  readonly format: {
    readonly format_name?: string;
    readonly duration?: string;
    readonly tags?: Readonly<Record<string, string>>;
  };
  readonly streams: readonly {
    readonly codec_name?: string;
    readonly channels?: number;
    readonly duration?: string;
    readonly tags?: Readonly<Record<string, string>>;
  }[];
}

function lowerKeys(tags: Readonly<Record<string, string>> = {}): Record<string, string> {
  return Object.fromEntries(Object.entries(tags).map(([key, value]) => [key.toLowerCase(), value]));
}

function textOf(value: string | undefined): string | undefined {
  const text = value?.trim();
  return text === "" ? undefined : text;
}

function parseJson(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString());
  } catch {
    return undefined; // ffprobe was ended, or found nothing
  }
}

interface RunLimits {
  readonly timeoutMs: number;
  readonly outputBytesMax: number;
}

/** What a program wrote until it ended, failed or was ended: a damaged file gives the audio before the damage. */
function run(
  program: string,
  args: readonly string[],
  { timeoutMs, outputBytesMax }: RunLimits,
): Promise<{ output: Buffer; complaints: string }> {
  const options = { encoding: "buffer", maxBuffer: outputBytesMax, timeout: timeoutMs, killSignal: "SIGKILL" } as const;
  return new Promise((resolve, reject) => {
    execFile(program, args, options, (error, stdout, stderr) => {
      if (error !== null && "code" in error && error.code === "ENOENT") reject(error);
      else resolve({ output: stdout, complaints: stderr.toString() });
    });
  });
}

function takeApart(samples: Float32Array): StereoAudio {
  const length = samples.length / 2;
  return {
    left: Float32Array.from({ length }, (_, index) => samples[2 * index]!),
    right: Float32Array.from({ length }, (_, index) => samples[2 * index + 1]!),
  };
}
