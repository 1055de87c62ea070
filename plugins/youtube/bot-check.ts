// Recognises the answer with which YouTube turns away an address that it takes for a bot's. Plugin thread.

import { SourceError } from "../../src/plugin-api/plugin.ts";
import { list, member } from "./read-json.ts";

/** What helps; stated once in a message that lists several clients. */
export const BOT_CHECK_REMEDY =
  "YouTube takes this node's address for a bot's. What helps: a login (plugins.youtube.oauth), another address " +
  "(tonearm.routePlanner or plugins.youtube.proxy), or a PO token (plugins.youtube.pot).";

/** Concerns the address and the client that asked, not the video: the client's backend must pause. */
export class BotCheckError extends SourceError {
  constructor() {
    super("busy", `This video requires login. ${BOT_CHECK_REMEDY}`);
  }
}

/** The check's words, its help page. */
const BOT_CHECK = /\bnot a bot\b|support\.google\.com\/youtube\/answer\/3037019/i;
const OF_VIDEO = /private video|video is private|inappropriate for some users|confirm your age/i;
/** Part of the block that is searched for these. */
const BLOCK_LENGTH_MAX = 20_000;

/**
 * True for a player answer with `LOGIN_REQUIRED` that is a bot check, in any language: it says so, links to the help
 * page of these checks, poses a captcha, or gives a reason and nothing about the video.
 */
export function isBotCheck(answer: unknown): boolean {
  const block = member(answer, "playabilityStatus");
  if (member(block, "status") !== "LOGIN_REQUIRED") return false;
  const screen = member(block, "errorScreen");
  const text = JSON.stringify(block).slice(0, BLOCK_LENGTH_MAX);
  if (BOT_CHECK.test(text) || member(screen, "playerCaptchaViewModel") !== undefined) return true;
  const isOfVideo =
    OF_VIDEO.test(text) ||
    member(answer, "videoDetails") !== undefined ||
    member(block, "desktopLegacyAgeGateReason") !== undefined ||
    list(block, "messages").length > 0;
  return !isOfVideo && (member(block, "reason") ?? screen) !== undefined;
}
