// The media of the recordings, as long and with the same tags but silent and so much smaller: every recorded path is
// served under its name by two web servers, with ranges and without, and lies in a folder. Recorded addresses are
// translated to the present ones.

import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { extname, join } from "node:path";
import { wav } from "../../lab/media-files/containers.ts";
import { plainPlan } from "../../lab/media-server/answer-plan.ts";
import { MediaServer } from "../../lab/media-server/media-server.ts";
import { createTrack, decodeTrack } from "../../src/track/track.ts";

const MEDIA = new URL("../fixtures/golden/media/", import.meta.url);
const HLS = new URL("../fixtures/hls/", import.meta.url);
const WAV_SECONDS = 30;
/** Frames of 64 kbit/s after the tag, as long as the rest of the recorded file. */
const TRUNCATED_BYTES = 1656 * 8;
const XING_FRAME_BYTES = 192;
const HLS_SEGMENTS = [0, 1, 2, 3, 4, 5].map((index) => [`hls${index}.ts`, `ts${Math.min(index, 4)}.ts`] as const);
const MIME_TYPES: Readonly<Record<string, string>> = {
  ".mp3": "audio/mpeg",
  ".opus": "audio/ogg",
  ".wav": "audio/wav",
};

export class GoldenSite {
  /** Where local files lie; the recordings say `{media}`. */
  readonly folder: string;
  readonly #plain: MediaServer;
  readonly #ranged: MediaServer;

  private constructor(folder: string, plain: MediaServer, ranged: MediaServer) {
    this.folder = folder;
    this.#plain = plain;
    this.#ranged = ranged;
  }

  static async open(): Promise<GoldenSite> {
    const folder = await mkdtemp(join(tmpdir(), "tonearm-golden-"));
    const files = await recordedFiles();
    const plain: MediaServer = await MediaServer.start({
      script: ({ path }) => answerWithoutRanges(files, path, plain),
    });
    const ranged = await MediaServer.start({ files: Object.fromEntries(files) });
    await Promise.all(Array.from(files, ([name, bytes]) => writeFile(join(folder, name), bytes)));
    await writeFile(join(folder, "list.m3u"), linkLists(plain.url)["/list.m3u"] ?? "");
    return new GoldenSite(folder, plain, ranged);
  }

  /** Recorded text with today's addresses, also within encoded tracks. */
  translate(text: string): string {
    const port = (server: MediaServer) => new URL(server.url).port;
    return text
      .replaceAll(/QAAA[A-Za-z0-9+/]{40,}=*/g, (encoded) => this.#translateTrack(encoded))
      .replaceAll(/(127\.0\.0\.1(?::|%3A))8088/g, `$1${port(this.#plain)}`)
      .replaceAll(/(127\.0\.0\.1(?::|%3A))8089/g, `$1${port(this.#ranged)}`)
      .replaceAll("localhost:8088", `localhost:${port(this.#plain)}`);
  }

  async close(): Promise<void> {
    await Promise.all([this.#plain.close(), this.#ranged.close(), rm(this.folder, { recursive: true, force: true })]);
  }

  #translateTrack(encoded: string): string {
    const { info, details } = decodeTrack(encoded);
    const identifier = this.translate(info.identifier);
    const uri = info.uri === null ? null : this.translate(info.uri);
    return createTrack({ ...info, identifier, uri }, details).encoded;
  }
}

async function recordedFiles(): Promise<ReadonlyMap<string, Uint8Array>> {
  const files = new Map<string, Uint8Array>();
  for (const name of await readdir(MEDIA)) files.set(name, await readFile(new URL(name, MEDIA)));
  const tagged = await readFile(new URL("tone.mp3", MEDIA));
  const noTags = tagged.subarray(id3Size(tagged));
  files.set("tone.ogg", await readFile(new URL("tone.opus", MEDIA)));
  files.set("notags.mp3", noTags);
  files.set("tone-noxing.mp3", noTags.subarray(XING_FRAME_BYTES));
  files.set("tronc é.mp3", tagged.subarray(0, id3Size(tagged) + TRUNCATED_BYTES));
  files.set("tone.wav", silentWav());
  files.set("empty.mp3", new Uint8Array(0));
  files.set(
    "random.mp3",
    Uint8Array.from({ length: 20_000 }, (_, index) => (index * 7919 + (index >> 3) * 104_729) & 0x7f),
  );
  const playlist = await readFile(new URL("ts.m3u8", HLS), "utf8");
  files.set("hls.m3u8", Buffer.from(playlist.replaceAll(/ts(\d)\.ts/g, "hls$1.ts")));
  files.set("master.m3u8", Buffer.from("#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=128000\nhls.m3u8\n"));
  for (const [name, segment] of HLS_SEGMENTS) files.set(name, await readFile(new URL(segment, HLS)));
  return files;
}

function linkLists(url: string): Readonly<Record<string, string>> {
  return {
    "/list.m3u": `#EXTM3U\n#EXTINF:30,One\n${url}/tone.mp3\n#EXTINF:30,Two\n${url}/tone.flac\n`,
    "/list.pls": `[playlist]\nFile1=${url}/tone.mp3\nTitle1=PlsOne\nLength1=30\nNumberOfEntries=1\n`,
    "/": "<html><body>a directory</body></html>",
  };
}

function answerWithoutRanges(files: ReadonlyMap<string, Uint8Array>, path: string, server: MediaServer) {
  const { pathname } = new URL(path, "http://site");
  const name = decodeURIComponent(pathname).slice(1);
  const body = linkLists(server.url)[pathname] ?? files.get(name);
  if (body === undefined) return undefined;
  const plan = plainPlan(Buffer.from(body as Uint8Array), MIME_TYPES[extname(name)]); // text is taken as well
  return { ...plan, acceptsRanges: false };
}

function id3Size(file: Buffer): number {
  const [a = 0, b = 0, c = 0, d = 0] = file.subarray(6, 10);
  return 10 + (a << 21) + (b << 14) + (c << 7) + d;
}

/** 48 kHz, stereo, 16 bit. */
function silentWav(): Buffer {
  return Buffer.from(wav({ rateHz: 48_000, data: new Uint8Array(WAV_SECONDS * 192_000) }));
}
