// Twitch's GraphQL operations and their answers: whether a channel is live, details of past broadcasts and clips, and
// playback tokens. Pure. Plugin thread.

import { SourceError, type SourceTrack } from "../../src/plugin-api/plugin.ts";
import { addressOf } from "../reading/address.ts";
import { listOf, type Members, membersOf, numberOf, trimmedText } from "../reading/json.ts";
import type { TwitchLink } from "./links.ts";
import type { Operation } from "./twitch-gql.ts";

const QUALITIES_MAX = 20;
const PICTURE = { width: "440", height: "248" };
const PICTURE_SIZE = `width: ${PICTURE.width}, height: ${PICTURE.height}`;
/** The player that a token is requested for. */
const PLAYER = `params: {platform: "web", playerBackend: "mediaplayer", playerType: "site"}`;

/** Allows playing one item for a while. */
export interface AccessToken {
  readonly value: string;
  readonly signature: string;
  /** Epoch milliseconds; undefined: it does not say. */
  readonly expiresAtMs: number | undefined;
  /** Why it would be refused. */
  readonly refusal: string | undefined;
}

export interface Clip {
  readonly track: SourceTrack;
  readonly token: AccessToken | undefined;
  /** The clip's video files. They all have the same audio. */
  readonly films: readonly { readonly quality: string; readonly url: string }[];
}

/** Undefined: offline, or no such channel. */
export function channelOperation({ id, uri }: TwitchLink, hash: string): Operation<SourceTrack> {
  const name = "StreamMetadata";
  return {
    name,
    query: `query ${name}($channelLogin: String!) {
      user(login: $channelLogin) { lastBroadcast { title } stream { id } }
    }`,
    variables: { channelLogin: id, includeIsDJ: true },
    persisted: { hash, option: "persistedQueryHash" },
    read: (data) => {
      const user = expected(data, "user", name);
      if (user === undefined || expected(user, "stream", name) === undefined) return undefined;
      return {
        identifier: uri,
        uri,
        author: id,
        isStream: true,
        title: trimmedText(membersOf(user.lastBroadcast).title) ?? id,
        artworkUrl: `https://static-cdn.jtvnw.net/previews-ttv/live_user_${id}-${PICTURE.width}x${PICTURE.height}.jpg`,
      };
    },
  };
}

/** Undefined: there is no such broadcast. */
export function videoOperation({ id, uri }: TwitchLink, hash: string): Operation<SourceTrack> {
  const name = "VideoMetadata";
  return {
    name,
    query: `query ${name}($videoID: ID!) {
      video(id: $videoID) { title lengthSeconds previewThumbnailURL(${PICTURE_SIZE}) owner { login } }
    }`,
    variables: { channelLogin: "", videoID: id },
    persisted: { hash, option: "videoQueryHash" },
    read: (data) => {
      const video = expected(data, "video", name);
      if (video === undefined) return undefined;
      const author = trimmedText(membersOf(video.owner).login)?.toLowerCase();
      return {
        identifier: uri,
        uri,
        author,
        isStream: false,
        title: trimmedText(video.title) ?? author ?? id,
        lengthMs: lengthOf(video.lengthSeconds),
        artworkUrl: pictureOf(video.previewThumbnailURL),
      };
    },
  };
}

/** Undefined: there is no such clip. */
export function clipOperation({ id, uri }: TwitchLink, hash: string): Operation<Clip> {
  const name = "ShareClipRenderStatus";
  return {
    name,
    query: `query ${name}($slug: ID!) {
      clip(slug: $slug) {
        title durationSeconds thumbnailURL broadcaster { login } videoQualities { quality sourceURL }
        playbackAccessToken(${PLAYER}) { value signature }
      }
    }`,
    variables: { slug: id },
    persisted: { hash, option: "clipQueryHash" },
    read: (data) => {
      const clip = expected(data, "clip", name);
      if (clip === undefined) return undefined;
      const author = trimmedText(membersOf(clip.broadcaster).login)?.toLowerCase();
      const track = {
        identifier: uri,
        uri,
        author,
        isStream: false,
        title: trimmedText(clip.title) ?? id,
        lengthMs: lengthOf(clip.durationSeconds),
        artworkUrl: pictureOf(clip.thumbnailURL),
      };
      return { track, token: tokenOf(membersOf(clip.playbackAccessToken)), films: filmsOf(clip) };
    },
  };
}

/** The same for playing it. Undefined also where it has no token, so that an error of the answer is the reason. */
export function clipTokenOperation(link: TwitchLink, hash: string): Operation<Clip> {
  const operation = clipOperation(link, hash);
  const read: typeof operation.read = (data) => {
    const clip = operation.read(data);
    return clip?.token === undefined ? undefined : clip;
  };
  return { ...operation, read, isForPlaying: true };
}

/** Undefined: there is nothing of this name to play. */
export function tokenOperation({ kind, id }: TwitchLink): Operation<AccessToken> {
  const isVideo = kind === "video";
  const member = isVideo ? "videoPlaybackAccessToken" : "streamPlaybackAccessToken";
  // Letters and digits only: nothing that could end the text.
  const query = `{ ${member}(${isVideo ? "id" : "channelName"}: "${id}", ${PLAYER}) { value signature } }`;
  return {
    name: member,
    query,
    isForPlaying: true,
    read: (data) => {
      const found = expected(data, member, member);
      if (found === undefined) return undefined;
      const token = tokenOf(found);
      if (token === undefined)
        throw new SourceError("changed", `Twitch answered ${member} without value and signature`);
      return token;
    },
  };
}

/** Undefined where it is null, or the whole is not there because of errors. */
function expected(data: Members, member: string, query: string): Members | undefined {
  const value = data[member];
  if (value === null || (value === undefined && Object.keys(data).length === 0)) return undefined;
  if (typeof value === "object" && !Array.isArray(value)) return membersOf(value);
  throw new SourceError("changed", `Twitch answered the query ${query} without the member ${member}`);
}

function tokenOf(found: Members): AccessToken | undefined {
  const value = trimmedText(found.value);
  const signature = trimmedText(found.signature);
  if (value === undefined || signature === undefined) return undefined;
  const said = membersOf(parsed(value));
  const expires = numberOf(said.expires);
  return {
    value,
    signature,
    expiresAtMs: expires === undefined ? undefined : expires * 1000,
    refusal: refusalOf(said),
  };
}

function refusalOf({ authorization, geoblock_reason: region }: Members): string | undefined {
  if (trimmedText(region) !== undefined) return "it is not to be seen in the region of this node";
  const { forbidden, reason } = membersOf(authorization);
  return forbidden === true
    ? `it is not for everybody (${trimmedText(reason)?.slice(0, 100) ?? "no reason given"})`
    : undefined;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // The token may still be good; only when it ends is not known then.
    return undefined;
  }
}

/** The files of the first asset; a second one is the same for upright screens. */
function filmsOf(clip: Members): Clip["films"] {
  const asset = membersOf(listOf(clip.assets)[0]);
  const qualities = listOf(asset.videoQualities ?? clip.videoQualities).slice(0, QUALITIES_MAX);
  return qualities.flatMap((entry) => {
    const { sourceURL, quality } = membersOf(entry);
    const url = trimmedText(sourceURL);
    const isUsable = url !== undefined && /^https?:\/\//i.test(url) && addressOf(url) !== undefined;
    return isUsable ? { quality: String(quality).slice(0, 20), url } : [];
  });
}

function lengthOf(seconds: unknown): number | undefined {
  const value = numberOf(seconds) ?? 0;
  return value > 0 ? Math.round(value * 1000) : undefined;
}

/** Undefined while Twitch still makes one. */
function pictureOf(value: unknown): string | undefined {
  const text = trimmedText(value);
  if (text === undefined || !/^https:\/\//.test(text) || text.includes("/404_processing")) return undefined;
  return text.replaceAll("{width}", PICTURE.width).replaceAll("{height}", PICTURE.height);
}
