// Which addresses are channels, past broadcasts and clips of Twitch. Pure. Plugin thread.

import { webAddressIn } from "../reading/address.ts";

export type TwitchLink =
  /** `id`: its login, in lower case. */
  | { readonly kind: "channel"; readonly id: string; readonly uri: string }
  | { readonly kind: "video"; readonly id: string; readonly uri: string }
  | { readonly kind: "clip"; readonly id: string; readonly uri: string };

const LENGTH_MAX = 2048;
const HOSTS = new Set(["twitch.tv", "www.twitch.tv", "go.twitch.tv", "m.twitch.tv"]);
const CLIPS_HOST = "clips.twitch.tv";
const LOGIN = /^\w{1,25}$/;
const VIDEO_ID = /^\d{1,15}$/;
const SLUG = /^[\w-]{1,120}$/;
/** Pages of Twitch's own that stand where channels stand. */
const NO_CHANNELS = new Set([
  ...["activate", "bits", "broadcast", "collections", "dashboard", "directory", "downloads", "drops", "friends"],
  ...["inventory", "jobs", "login", "p", "payments", "popout", "prime", "privacy", "products", "search", "settings"],
  ...["signup", "store", "subscriptions", "team", "turbo", "videos", "wallet", "clip", "embed"],
]);

/** Undefined if it is not a Twitch link. */
export function parseTwitchLink(text: string): TwitchLink | undefined {
  const url = text.length > LENGTH_MAX ? undefined : webAddressIn(text);
  if (url === undefined || url.port !== "" || url.username !== "") return undefined;
  const steps = url.pathname.split("/").filter((step) => step !== "");
  if (url.hostname === CLIPS_HOST) return clip(steps[0] === "embed" ? url.searchParams.get("clip") : steps.at(-1));
  return HOSTS.has(url.hostname) ? parseSteps(steps) : undefined;
}

function parseSteps([first = "", second, third, ...more]: readonly string[]): TwitchLink | undefined {
  if (more.length > 0) return undefined;
  if (second === undefined) return channel(first);
  if (third === undefined) return first === "videos" ? video(second) : first === "clip" ? clip(second) : undefined;
  if (second === "v" || second === "video") return video(third);
  return second === "clip" ? clip(third) : undefined;
}

function channel(name: string): TwitchLink | undefined {
  const id = name.toLowerCase();
  if (!LOGIN.test(id) || NO_CHANNELS.has(id)) return undefined;
  return { kind: "channel", id, uri: `https://www.twitch.tv/${id}` };
}

function video(id: string): TwitchLink | undefined {
  return VIDEO_ID.test(id) ? { kind: "video", id, uri: `https://www.twitch.tv/videos/${id}` } : undefined;
}

function clip(id: string | null | undefined): TwitchLink | undefined {
  return SLUG.test(id ?? "") && typeof id === "string"
    ? { kind: "clip", id, uri: `https://${CLIPS_HOST}/${id}` }
    : undefined;
}
