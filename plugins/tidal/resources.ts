// Reads the resources of a document of Tidal's API: what they refer to, and tracks in the node's format. They are
// untrusted: a value of an unexpected form reads as missing. Pure. Plugin thread.

import type { SourceTrack } from "../../src/plugin-api/plugin.ts";
import { webLinkOf } from "../reading/address.ts";
import { listOf, type Members, membersOf, numberOf, objectOf, objectsOf, trimmedText } from "../reading/json.ts";
import type { TidalDocument } from "./api.ts";

const ID_LENGTH_MAX = 100;
const TEXT_LENGTH_MAX = 1000;
const ARTISTS_MAX = 50;
const FILES_MAX = 50;
const DAY_MS = 24 * 60 * 60_000;

/** The resources that documents include, by kind and id. */
export class TidalResources {
  readonly #byKey = new Map<string, Members>();

  add({ data, included }: Pick<TidalDocument, "data" | "included">): void {
    for (const resource of [...included, ...data]) {
      const key = keyOf(resource);
      // A reference has no attributes.
      if (key !== undefined && objectOf(resource.attributes) !== undefined) this.#byKey.set(key, resource);
    }
  }

  /** What a resource or a reference stands for; undefined: it is not there. */
  of(reference: Members): Members | undefined {
    const key = keyOf(reference);
    return key === undefined ? undefined : this.#byKey.get(key);
  }

  /** The resources that one refers to, in its order, as far as they are there. */
  related(resource: Members | undefined, relationship: string): Members[] {
    const { data } = membersOf(membersOf(resource?.relationships)[relationship]);
    const references = objectsOf(Array.isArray(data) ? data : [data], ARTISTS_MAX);
    return references.map((reference) => this.of(reference)).filter((found) => found !== undefined);
  }

  /** The largest picture of an album, a playlist or an artist; null: it has none. */
  artworkOf(resource: Members | undefined, relationship = "coverArt"): string | null {
    const lists = [
      ...this.related(resource, relationship).map((art) => attribute(art, "files")),
      attribute(resource, "imageLinks"),
    ];
    const files = objectsOf(lists.flatMap(listOf), FILES_MAX).map(({ href, meta }) => ({
      href: webLinkOf(href),
      width: numberOf(membersOf(meta).width) ?? 0,
    }));
    return files.toSorted((a, b) => b.width - a.width).find(({ href }) => href !== null)?.href ?? null;
  }

  /** Names of the artists of a track or an album, joined; undefined: it has none. */
  authorOf(resource: Members | undefined): string | undefined {
    const names = this.related(resource, "artists").flatMap((artist) => textAttribute(artist, "name") ?? []);
    return names.length === 0 ? undefined : names.join(", ").slice(0, TEXT_LENGTH_MAX);
  }

  /** `album`: that whose list it is in. Undefined for what is no track, such as a video, or is not there. */
  track(reference: Members, album?: Members): SourceTrack | undefined {
    const resource = this.of(reference);
    const id = idOf(resource);
    const title = textAttribute(resource, "title");
    if (resource?.type !== "tracks" || id === undefined || title === undefined) return undefined;
    const [ownAlbum = album] = this.related(resource, "albums");
    const [artist] = this.related(resource, "artists");
    const fields = {
      albumName: textAttribute(ownAlbum, "title") ?? null,
      albumUrl: pageOf("album", ownAlbum),
      artistUrl: pageOf("artist", artist),
      artistArtworkUrl: null,
      previewUrl: null,
      isPreview: false,
    };
    return {
      identifier: id,
      title: withVersion(title, textAttribute(resource, "version")),
      author: this.authorOf(resource) ?? this.authorOf(ownAlbum),
      lengthMs: durationMsOf(attribute(resource, "duration")),
      isStream: false,
      uri: pageOf("track", resource),
      artworkUrl: this.artworkOf(ownAlbum),
      isrc: textAttribute(resource, "isrc") ?? null,
      fields,
      pluginInfo: fields,
    };
  }
}

/** Null for what has no id. */
export function pageOf(kind: string, resource: Members | undefined): string | null {
  const id = idOf(resource);
  return id === undefined ? null : `https://tidal.com/browse/${kind}/${id}`;
}

export function textAttribute(resource: Members | undefined, name: string): string | undefined {
  return trimmedText(attribute(resource, name))?.slice(0, TEXT_LENGTH_MAX);
}

/** Milliseconds of an ISO 8601 duration (`PT3M21S`), or of a number of seconds; undefined: neither, or over a day. */
export function durationMsOf(value: unknown): number | undefined {
  const [, hours = 0, minutes = 0, seconds = 0] =
    typeof value === "string"
      ? (/^PT(?:(\d{1,3})H)?(?:(\d{1,5})M)?(?:(\d{1,7}(?:\.\d{1,9})?)S)?$/.exec(value) ?? [])
      : [];
  const lengthS = numberOf(value) ?? Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds);
  const lengthMs = Math.round(lengthS * 1000);
  return lengthMs > 0 && lengthMs <= DAY_MS ? lengthMs : undefined;
}

function attribute(resource: Members | undefined, name: string): unknown {
  return membersOf(resource?.attributes)[name];
}

/** `Live`, `Remastered 2011`: without it, another recording would be looked for. */
function withVersion(title: string, version: string | undefined): string {
  return version === undefined || title.toLowerCase().includes(version.toLowerCase()) ? title : `${title} (${version})`;
}

function keyOf({ type, id }: Members): string | undefined {
  const known = idOf({ id });
  return typeof type === "string" && known !== undefined ? `${type} ${known}` : undefined;
}

function idOf(resource: Members | undefined): string | undefined {
  const id = typeof resource?.id === "number" ? String(resource.id) : trimmedText(resource?.id);
  return id !== undefined && id.length <= ID_LENGTH_MAX && /^[\w-]+$/.test(id) ? id : undefined;
}
