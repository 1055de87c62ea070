// Reads YouTube's answer about one video: its metadata, why it cannot be played, and its audio links. The messages are
// those of Lavalink's youtube-source. Plugin thread.

import { SourceError, type SourceTrack } from "../../src/plugin-api/plugin.ts";
import { BotCheckError, isBotCheck } from "./bot-check.ts";
import { label, list, member, number, string, wholeLabel } from "./read-json.ts";
import { artworkOf, toTrack } from "./read-tracks.ts";

/** A private video is private for all clients: no other one is tried. */
export class PrivateVideoError extends SourceError {}

/** Another client may know more, but not this one. */
const LOADING_FAILED = "Loading information for video failed";
const RATE_LIMIT = /try again later/i;
const PRIVATE_WORDS = /video is private|\bprivate video\b/i;
const AGE_WORDS = /inappropriate for some users|confirm your age/i;
const EMBED_WORDS = "Playback on other websites has been disabled by the video owner";

export function visitorOf(answer: unknown): string | undefined {
  const found = string(answer, "responseContext", "visitorData");
  return found !== undefined && found.length <= 2000 ? found : undefined;
}

export function isLive(answer: unknown): boolean {
  return member(answer, "videoDetails", "isLive") === true;
}

/** Reads the title and other metadata, also if the video cannot be played. Throws YouTube's reason if there is none. */
export function readVideo(answer: unknown, videoId: string): SourceTrack {
  const details = member(answer, "videoDetails");
  const title = string(details, "title");
  if (title === undefined) {
    checkPlayability(answer);
    throw new SourceError("changed", `${LOADING_FAILED}.`);
  }
  checkVideoId(answer, videoId);
  const seconds = number(details, "lengthSeconds") ?? 0;
  const isStream = isLive(answer);
  return toTrack({
    videoId,
    title,
    author: string(details, "author"),
    isStream,
    lengthMs: isStream || seconds <= 0 ? undefined : seconds * 1000,
    artworkUrl: artworkOf(list(details, "thumbnail", "thumbnails")),
  });
}

/** Returning another video than requested is how YouTube refuses some addresses. */
export function checkVideoId(answer: unknown, videoId: string): void {
  const found = string(answer, "videoDetails", "videoId");
  if (found !== videoId) throw new SourceError("busy", "The video returned is not what was requested.");
}

/** Throws the reason why the video cannot be played. */
export function checkPlayability(answer: unknown): void {
  const block = member(answer, "playabilityStatus");
  const status = string(block, "status");
  if (status === undefined) throw new SourceError("changed", "No playability status block.");
  if (isBotCheck(answer)) throw new BotCheckError();
  if (status !== "OK") throw troubleOf(status, block);
}

/** A temporary error of YouTube; the request usually succeeds with another visitor id. */
export function isPassing(answer: unknown): boolean {
  return /needs to be reloaded/i.test(string(answer, "playabilityStatus", "reason") ?? "");
}

function troubleOf(status: string, block: unknown): SourceError {
  const [title, description] = [label(screenOf(block), "title"), label(screenOf(block), "description")];
  const reason = label(block, "reason") ?? title ?? "";
  switch (status) {
    case "LOGIN_REQUIRED":
      return loginTrouble([reason, title, description].join("\n"));
    case "UNPLAYABLE":
      return unplayableTrouble(reason, block);
    case "LIVE_STREAM_OFFLINE": {
      const isTrailer = member(block, "errorScreen", "ypcTrailerRenderer") !== undefined;
      return unavailable(isTrailer ? "This trailer cannot be loaded." : reason || "This live event has not begun yet.");
    }
    case "ERROR":
    case "CONTENT_CHECK_REQUIRED":
      return RATE_LIMIT.test(reason)
        ? new SourceError("busy", reason)
        : unavailable(reason || "This video is unavailable.");
    default:
      return unavailable("This video cannot be viewed anonymously.");
  }
}

/** The texts may say it in any of their places. */
function loginTrouble(texts: string): SourceError {
  if (PRIVATE_WORDS.test(texts)) return new PrivateVideoError("unavailable", "This is a private video.");
  if (AGE_WORDS.test(texts)) return unavailable("This video requires age verification.");
  return unavailable("This video requires login.");
}

function unplayableTrouble(reason: string, block: unknown): SourceError {
  if (reason === "") return unavailable("This video is unplayable.");
  if (reason.includes(EMBED_WORDS)) return unavailable(LOADING_FAILED);
  const more =
    wholeLabel("\n", block, "errorScreen", "playerErrorMessageRenderer", "subreason") ??
    wholeLabel("\n", block, "subreason") ??
    label(screenOf(block), "description");
  const text = more ?? reason;
  return RATE_LIMIT.test(text) ? new SourceError("busy", text) : unavailable(text);
}

/** Where newer answers have their texts: a title and a description. */
function screenOf(block: unknown): unknown {
  return member(block, "errorScreen", "playerInterstitialRenderer", "content", "interstitialViewModel");
}

function unavailable(message: string): SourceError {
  return new SourceError("unavailable", message);
}
