// Recognises an opened input that is not media but a text leading to some: a link list or an HLS playlist. Audio thread.

import type { ListedInput, PlainInput, PlayableInput } from "../../bridge/playable-input.ts";
import { NodeError } from "../../errors.ts";
import { parseInputUrl } from "./input-url.ts";
import { firstLink, LINK_LIST_BYTES_MAX, PLAYLIST_HEAD_BYTES, playlistFormatOf } from "./link-list.ts";
import type { OpenedInput } from "./open-input.ts";

/** The target of a playlist. */
export type PlaylistTarget =
  /** Load this instead, or else one of the others; the caller bounds how often. */
  | (ListedInput & { readonly kind: "link"; readonly alternatives?: readonly ListedInput[] | undefined })
  /** For `HlsDemuxer.open`: its address, and the one before redirects. */
  | { readonly kind: "hls"; readonly url: URL; readonly originUrl: URL };

/**
 * Reads the beginning of an input, which stays open and unchanged (the bytes read are in its head).
 * @returns undefined if it is not a playlist
 * @throws NodeError "playlist-empty", "hls-unsupported" for HLS in a local file, and those of the source
 */
export async function readPlaylist(input: PlayableInput, opened: OpenedInput): Promise<PlaylistTarget | undefined> {
  const { source, url } = opened;
  // Most inputs are media: 1000 bytes are enough to tell.
  if (playlistFormatOf(await source.read(0, PLAYLIST_HEAD_BYTES)) === undefined) return undefined;
  const text = await source.read(0, LINK_LIST_BYTES_MAX);
  const format = playlistFormatOf(text);
  if (format === undefined) return undefined;
  const found = input.kind === "site" ? opened.plain : input;
  const from: PlainInput | undefined = url === undefined ? found : { kind: "http", url, container: undefined };
  if (from === undefined) return undefined;
  if (format !== "hls") return { kind: "link", ...firstLink(text, format, from) };
  if (from.kind === "http") {
    const originUrl = parseInputUrl(found?.kind === "http" ? found.url : from.url);
    return { kind: "hls", url: parseInputUrl(from.url), originUrl };
  }
  throw new NodeError(
    "hls-unsupported",
    "opening an HLS playlist: it is a local file; it has to be loaded by its address",
  );
}
