// Fake servers for the two text-to-speech sites: Google Translate's and flowery's. Accepted and refused requests are
// from the sheet of sources, section 4.11 (LavaSrc, DuncteBot's plugin); that Google refuses more than 200 characters
// is marked there as not checked. Runs in the process that starts it.

import { repeat } from "../media-files/bytes.ts";
import { mp3Frame, wav } from "../media-files/containers.ts";
import { countedSong } from "../media-files/counted-song.ts";
import { type SiteAnswer, type SiteRequest, SiteServer } from "./site-server.ts";

const GOOGLE_HOST = "translate.google.com";
const FLOWERY_HOST = "api.flowery.pw";
const SPEAK_LENGTH_MAX = 200;
const FLOWERY_LENGTH_MAX = 2048;
const SECONDS = 2;
const MP3_FRAMES_PER_SECOND = 38;
const WAV_RATE_HZ = 24_000;

export class SpeechSites {
  readonly server: SiteServer;

  static async start(): Promise<SpeechSites> {
    return new SpeechSites(await SiteServer.start(answer));
  }

  private constructor(server: SiteServer) {
    this.server = server;
  }

  /** For the node's `hosts`. */
  get hosts(): Record<string, string> {
    return this.server.hosts(GOOGLE_HOST, FLOWERY_HOST);
  }

  /** For the options `speakServer` and `floweryServer`. */
  get servers(): { readonly speakServer: string; readonly floweryServer: string } {
    const { [GOOGLE_HOST]: speakServer = "", [FLOWERY_HOST]: floweryServer = "" } = this.hosts;
    return { speakServer, floweryServer };
  }

  close(): Promise<void> {
    return this.server.close();
  }
}

function answer({ host, path, query, method }: SiteRequest): SiteAnswer | undefined {
  if (method !== "GET") return { status: 405 };
  if (host === GOOGLE_HOST && path === "/translate_tts") return spoken(query);
  if (host === FLOWERY_HOST && path === "/v1/tts") return read(query);
  return undefined;
}

function spoken(query: URLSearchParams): SiteAnswer {
  const text = query.get("q") ?? "";
  const isWhole = query.get("client") === "tw-ob" && (query.get("tl") ?? "") !== "";
  if (!isWhole || text === "" || text.length > SPEAK_LENGTH_MAX)
    return { status: 400, text: "<html>bad request</html>" };
  return mp3();
}

function read(query: URLSearchParams): SiteAnswer {
  const text = query.get("text") ?? "";
  if (text === "" || text.length > FLOWERY_LENGTH_MAX) return { status: 422, json: { detail: "text" } };
  const format = query.get("audio_format");
  if (format === "ogg_opus") {
    return { headers: { "content-type": "audio/ogg" }, bytes: countedSong({ seconds: SECONDS }) };
  }
  if (format === "wav") {
    const data = new Uint8Array(WAV_RATE_HZ * 2 * SECONDS);
    return { headers: { "content-type": "audio/wav" }, bytes: wav({ rateHz: WAV_RATE_HZ, channels: 1, data }) };
  }
  return mp3();
}

function mp3(): SiteAnswer {
  const bytes = repeat(mp3Frame(), MP3_FRAMES_PER_SECOND * SECONDS);
  return { headers: { "content-type": "audio/mpeg" }, bytes };
}
