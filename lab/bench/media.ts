// The songs of the benchmark, made with ffmpeg so that they are the same everywhere: minutes of moving chords
// with some noise, stereo, as WebM-Opus at 128 kbit/s, and at 44.1 kHz as MP3 and AAC at 192 kbit/s and as FLAC.

import { execFile } from "node:child_process";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

const LENGTH_SECONDS = 180;

function tonesOf(lengthSeconds: number): string {
  return (
    "aevalsrc=exprs='0.2*sin(2*PI*220*t*(1+0.1*sin(t/3)))+0.15*sin(2*PI*660*t)+0.05*(random(0)-0.5)|" +
    `0.2*sin(2*PI*330*t*(1+0.1*cos(t/4)))+0.15*sin(2*PI*880*t)+0.05*(random(1)-0.5)':s=48000:d=${lengthSeconds}`
  );
}

/**
 * Makes `song.webm`, `song.mp3`, `song.m4a` and `song.flac` in a new folder below the system's temporary one; resolves
 * with its path.
 */
export async function makeBenchMedia(lengthSeconds = LENGTH_SECONDS): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "tonearm-bench-"));
  const make = async (...output: string[]) => {
    await promisify(execFile)("ffmpeg", ["-v", "error", "-f", "lavfi", "-i", tonesOf(lengthSeconds), ...output]);
  };
  await make("-c:a", "libopus", "-b:a", "128k", join(folder, "song.webm"));
  await make("-ar", "44100", "-c:a", "libmp3lame", "-b:a", "192k", join(folder, "song.mp3"));
  await make("-ar", "44100", "-c:a", "aac", "-b:a", "192k", "-movflags", "+faststart", join(folder, "song.m4a"));
  await make("-ar", "44100", "-c:a", "flac", join(folder, "song.flac"));
  return folder;
}
