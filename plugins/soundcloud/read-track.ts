// Converts a track in the JSON of SoundCloud's API to the node's format, with the data needed to play it. Plugin
// thread.

import type { SourceTrack } from "../../src/plugin-api/plugin.ts";
import { type Members, objectOf } from "../reading/json.ts";
import { durationOf, idOf, textOf, webAddressOf } from "./read-json.ts";
import { lavalinkIdentifier, type OfferedVariants, readVariants } from "./variant.ts";

export interface FoundTrack {
  readonly id: string;
  readonly track: SourceTrack;
  readonly playing: TrackPlaying;
}

/** The data needed to play a track. */
export interface TrackPlaying extends OfferedVariants {
  /** Secret of a private track, which only people with the link may play. */
  readonly secret: string | undefined;
  /** The track is blocked in the node's region. */
  readonly isBlocked: boolean;
  /** Only the beginning is available. */
  readonly isPreview: boolean;
}

export interface ReadTrackOptions {
  /** Requests carry an account's token: tracks for subscribers may be complete. */
  readonly hasAccount: boolean;
}

/** Undefined if it is not a track, or if only its id is known. */
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
    // The length of the whole track, also if only a preview is available, as in Lavalink.
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

/** With its secret, so that the address can be loaded again. */
function addressOf({ permalink_url: link }: Members, secret: string | undefined): string | null {
  const address = webAddressOf(link)?.replace(/[?#].*$/, "");
  if (address === undefined) return null;
  return secret === undefined || address.endsWith(`/${secret}`) ? address : `${address.replace(/\/$/, "")}/${secret}`;
}
