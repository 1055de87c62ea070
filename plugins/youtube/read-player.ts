// Reads YouTube's answer about one video: its metadata, why it cannot be played, and its audio links. The messages are
// those of Lavalink's youtube-source. Plugin thread.

import { SourceError, type SourceTrack } from "../../src/plugin-api/plugin.ts";
import { BotCheckError, isBotCheck } from "./bot-check.ts";
import { list, member, number, string, wholeLabel } from "./read-json.ts";
import { artworkOf, toTrack } from "./read-tracks.ts";

/** A private video is private for all clients: no other one is tried. */
export class PrivateVideoError extends SourceError {}

/** Another client may know more, but not this one. */
const LOADING_FAILED = "Loading information for video failed";
const RATE_LIMIT = /try again later/i;
const PRIVATE_WORDS = /video is private|\bprivate video\b/i;
const RELOAD_WORDS = /needs to be reloaded/i;
const AGE_WORDS = /inappropriate for some users|confirm your age/i;
const HELP_LINK = /^\s*learn more\.?\s*$/i;
const EMBED_WORDS = "Playback on other websites has been disabled by the video owner";
/** Messages of a refusal that are read. */
const MESSAGES_MAX = 10;

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
  return textsOf(member(answer, "playabilityStatus")).some((text) => RELOAD_WORDS.test(text));
}

function troubleOf(status: string, block: unknown): SourceError {
  const texts = textsOf(block);
  const has = (words: RegExp) => texts.some((text) => words.test(text));
  const [reason = ""] = texts;
  if (has(PRIVATE_WORDS)) return new PrivateVideoError("unavailable", "This is a private video.");
  if (has(AGE_WORDS)) return unavailable("This video requires age verification.");
  const limited = texts.find((text) => RATE_LIMIT.test(text));
  const isLimitable = status === "UNPLAYABLE" || status === "ERROR" || status === "CONTENT_CHECK_REQUIRED";
  if (isLimitable && limited !== undefined) return new SourceError("busy", limited);
  switch (status) {
    case "LOGIN_REQUIRED": {
      const isOfAge = member(block, "desktopLegacyAgeGateReason") !== undefined;
      return unavailable(isOfAge ? "This video requires age verification." : "This video requires login.");
    }
    case "UNPLAYABLE":
      if (texts.some((text) => text.includes(EMBED_WORDS))) return unavailable(LOADING_FAILED);
      return unavailable(detailOf(block) ?? (reason || "This video is unplayable."));
    case "LIVE_STREAM_OFFLINE": {
      const isTrailer = member(block, "errorScreen", "ypcTrailerRenderer") !== undefined;
      return unavailable(isTrailer ? "This trailer cannot be loaded." : reason || "This live event has not begun yet.");
    }
    case "ERROR":
    case "CONTENT_CHECK_REQUIRED":
      return unavailable(reason || "This video is unavailable.");
    default:
      return unavailable("This video cannot be viewed anonymously.");
  }
}

/** All texts of a refusal, which may stand in any of several places; the one that sums it up is first. */
function textsOf(block: unknown): string[] {
  const [screen, renderer] = [screenOf(block), member(block, "errorScreen", "playerErrorMessageRenderer")];
  return [
    wholeLabel("", block, "reason"),
    wholeLabel("", screen, "title"),
    wholeLabel("", renderer, "reason"),
    wholeLabel("", renderer, "subreason"),
    wholeLabel("", block, "subreason"),
    wholeLabel("", screen, "description"),
    ...list(block, "messages")
      .slice(0, MESSAGES_MAX)
      .map((message) => wholeLabel("", message)),
  ].filter((text) => text !== undefined);
}

/** What says more than the reason; a mere link to a help page does not. */
function detailOf(block: unknown): string | undefined {
  return [
    wholeLabel("\n", block, "errorScreen", "playerErrorMessageRenderer", "subreason"),
    wholeLabel("\n", block, "subreason"),
    wholeLabel("\n", screenOf(block), "description"),
  ].find((text) => text !== undefined && !HELP_LINK.test(text));
}

/** Where newer answers have their texts: a title and a description. */
function screenOf(block: unknown): unknown {
  return member(block, "errorScreen", "playerInterstitialRenderer", "content", "interstitialViewModel");
}

function unavailable(message: string): SourceError {
  return new SourceError("unavailable", message);
}
