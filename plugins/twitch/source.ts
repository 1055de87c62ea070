// The source itself: resolves links to tracks of Twitch, and a track to its current stream. Plugin thread.

import {
  type LoadRequest,
  type OptionValues,
  type Playable,
  type PluginHost,
  type ResolveRequest,
  type SourceAnswer,
  SourceError,
  type SourceTrack,
} from "../../src/plugin-api/plugin.ts";
import { TwitchIdentity } from "./identity.ts";
import { parseTwitchLink, type TwitchLink } from "./links.ts";
import type { TWITCH_MANIFEST } from "./manifest.ts";
import {
  type AccessToken,
  type Clip,
  channelOperation,
  clipOperation,
  clipTokenOperation,
  tokenOperation,
  videoOperation,
} from "./operations.ts";
import { StreamPlaylists } from "./stream-playlists.ts";
import { TwitchGql } from "./twitch-gql.ts";

/** Below this height a clip may have poorer audio; above it only the picture improves. */
const GOOD_HEIGHT = 360;

type Host = PluginHost<OptionValues<typeof TWITCH_MANIFEST.config>>;

export class TwitchSource {
  readonly #options: Host["options"];
  readonly #gql: TwitchGql;
  readonly #playlists: StreamPlaylists;

  constructor(host: Host) {
    this.#options = host.options;
    this.#gql = new TwitchGql(host, new TwitchIdentity(host));
    this.#playlists = new StreamPlaylists(host);
  }

  async load({ identifier, signal }: LoadRequest): Promise<SourceAnswer | undefined> {
    const link = parseTwitchLink(identifier.trim());
    if (link === undefined) return undefined;
    const track = await this.#find(link, signal);
    return track === undefined ? { kind: "empty" } : { kind: "track", track };
  }

  async resolve({ track, signal, variant }: ResolveRequest): Promise<Playable> {
    const link = parseTwitchLink(track.identifier);
    if (link === undefined) {
      throw new SourceError("invalid", "a track of Twitch must have its address there as its identifier");
    }
    if (link.kind === "clip") {
      const clip = await this.#gql.ask(clipTokenOperation(link, this.#options.clipQueryHash), signal);
      return clipPlayable(clip, { link, variant });
    }
    const token = usable(await this.#gql.ask(tokenOperation(link), signal), link);
    return { kind: "link", url: await this.#playlists.find(link, token, signal), expiresAtMs: token.expiresAtMs };
  }

  async #find(link: TwitchLink, signal: AbortSignal): Promise<SourceTrack | undefined> {
    const { persistedQueryHash, videoQueryHash, clipQueryHash } = this.#options;
    switch (link.kind) {
      case "channel":
        return this.#gql.ask(channelOperation(link, persistedQueryHash), signal);
      case "video":
        return this.#gql.ask(videoOperation(link, videoQueryHash), signal);
      case "clip":
        return (await this.#gql.ask(clipOperation(link, clipQueryHash), signal))?.track;
    }
  }
}

/** Throws `unavailable` if there is no token, or one that would be refused. */
function usable(token: AccessToken | undefined, { uri }: TwitchLink): AccessToken {
  if (token === undefined) throw new SourceError("unavailable", `Twitch: ${uri} does not exist any more`);
  if (token.refusal !== undefined) throw new SourceError("unavailable", `Twitch refuses ${uri}: ${token.refusal}`);
  return token;
}

interface ClipRequest {
  readonly link: TwitchLink;
  readonly variant: string | undefined;
}

function clipPlayable(clip: Clip | undefined, { link, variant }: ClipRequest): Playable {
  const { value, signature, expiresAtMs } = usable(clip?.token, link);
  const nameOf = (quality: string): string => `clip/${link.id}/${quality}`;
  const films = (clip?.films ?? []).toSorted((a, b) => heightOf(a) - heightOf(b));
  const same = films.find(({ quality }) => nameOf(quality) === variant);
  const film = same ?? films.find((candidate) => heightOf(candidate) >= GOOD_HEIGHT) ?? films.at(-1);
  if (film === undefined) throw new SourceError("changed", `Twitch names no video of the clip ${link.uri}`);
  const url = new URL(film.url);
  url.searchParams.set("sig", signature);
  url.searchParams.set("token", value);
  return { kind: "link", url: url.href, expiresAtMs, variant: nameOf(film.quality) };
}

function heightOf({ quality }: Clip["films"][number]): number {
  return Number.parseInt(quality, 10) || 0;
}
