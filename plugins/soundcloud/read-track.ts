// A track in the JSON of SoundCloud's API as the node knows tracks, and what is needed to play it. Plugin thread.

import type { SourceTrack } from "../../src/plugin-api/plugin.ts";
import { type Members, objectOf } from "../reading/json.ts";
import { durationOf, idOf, textOf, webAddressOf } from "./read-json.ts";
import { lavalinkIdentifier, type OfferedVariants, readVariants } from "./variant.ts";

export interface FoundTrack {
  readonly id: string;
  readonly track: SourceTrack;
  readonly playing: TrackPlaying;
}

/** What playing it takes. */
export interface TrackPlaying extends OfferedVariants {
  /** For tracks that only those with the link may hear. */
  readonly secret: string | undefined;
  /** Not to be heard where the node is. */
  readonly isBlocked: boolean;
  /** All that can be heard is its beginning. */
  readonly isPreview: boolean;
}

export interface ReadTrackOptions {
  /** An account's token is sent along: what is only for subscribers may be whole. */
  readonly hasAccount: boolean;
}

/** Undefined for what is no track, or one of which only the id is told. */
export function readTrack(json: Members, options: ReadTrackOptions): FoundTrack | undefined {
  const id = idOf(json.id);
  const title = textOf(json.title);
  if (id === undefined || title === undefined || (json.kind !== undefined && json.kind !== "track")) return undefined;
  const offered = readVariants(json);
  const secret = /^s-[\w-]{1,100}$/.exec(textOf(json.secret_token) ?? "")?.[0];
  const isPreview = isOnlyPreview(json, offered, options);
  const user = objectOf(json.user);
  const track: SourceTrack = {
    identifier: lavalinkIdentifier(offered.variants) ?? id,
    title,
    author: textOf(user?.username),
    // How long the whole of it is, also where only a preview can be heard: as Lavalink has it.
    lengthMs: durationOf(json.full_duration) ?? durationOf(json.duration),
    isStream: false,
    uri: addressOf(json, secret),
    artworkUrl: artworkOf(json.artwork_url) ?? artworkOf(user?.avatar_url) ?? null,
    isrc: textOf(objectOf(json.publisher_metadata)?.isrc) ?? null,
    ...(isPreview && { pluginInfo: { isPreview } }),
  };
  return { id, track, playing: { ...offered, secret, isPreview, isBlocked: json.policy === "BLOCK" } };
}

/** The largest picture there is. */
export function artworkOf(value: unknown): string | undefined {
  return webAddressOf(value)?.replace(/large(?=\.[a-z]{3,4}$)/, "original");
}

function isOnlyPreview(
  { policy, monetization_model: model }: Members,
  { variants }: OfferedVariants,
  { hasAccount }: ReadTrackOptions,
): boolean {
  const hasWhole = variants.some((variant) => !variant.isPreview);
  if (policy === "SNIP" || model === "SUB_HIGH_TIER") return !(hasAccount && hasWhole);
  return variants.length > 0 && !hasWhole;
}

/** With its secret, so that whoever has it can ask for it again. */
function addressOf({ permalink_url: link }: Members, secret: string | undefined): string | null {
  const address = webAddressOf(link)?.replace(/[?#].*$/, "");
  if (address === undefined) return null;
  return secret === undefined || address.endsWith(`/${secret}`) ? address : `${address.replace(/\/$/, "")}/${secret}`;
}
