// How the plugin looks to Bandcamp, and how it recognises the bot wall: a page that Bandcamp shows to programs instead of
// the requested one. Pure. Plugin thread.

import { type HttpAnswer, SourceError } from "../../src/plugin-api/plugin.ts";

/** Headers of a browser, besides the manifest's `userAgent`: without them the wall appears sooner. */
export const BROWSER_HEADERS = {
  accept: "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
  "accept-language": "en-US,en;q=0.5",
};
/** The wall lets clients pass that send a cookie of this name, even without a value (2026-05; not known why). */
export const PASSING_COOKIE = "identity";
/** The wall is a small page; a large one that has such a title is about something else. */
const WALL_LENGTH_MAX = 64 * 1024;
/** Its title, or the address of its script. */
const CHALLENGE = /<title\b[^>]{0,200}>\s*client challenge\b|_fs-ch-/i;
const WANTS_SCRIPTS = /<noscript\b|javascript is (?:disabled|required|not enabled)/i;
/** What pages of releases, artists and search results have. */
const BANDCAMP_MARKS = /tralbum|music-grid|searchresult|og:site_name|id=["']?pagedata/i;

/** The wall stands before what was requested; others may pass it. */
export class BotWall extends SourceError {}

/** The error for an answer that is the wall, a page that requires running a script; undefined: it is none. */
export function wallError({ status, text }: HttpAnswer): BotWall | undefined {
  const found = wallIn(text, status >= 200 && status <= 299);
  if (status !== 403 && found === undefined) return undefined;
  const answer = `HTTP ${status}${found === undefined ? "" : ` and ${found}`}`;
  return new BotWall("unreachable", `Bandcamp takes this node for a bot: it answered ${answer}`);
}

/** Error pages may want scripts, too. */
function wallIn(text: string, isSuccess: boolean): string | undefined {
  // JSON may have any text in it, as a song's title.
  const isPage = text.length <= WALL_LENGTH_MAX && text.trimStart().startsWith("<");
  if (!isPage || BANDCAMP_MARKS.test(text)) return undefined;
  if (CHALLENGE.test(text)) return 'its page "Client Challenge"';
  return isSuccess && WANTS_SCRIPTS.test(text) ? "a page that only runs scripts" : undefined;
}
