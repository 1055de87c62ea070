// What an untagged track is called: the name of its file and the host of its link, for the node's "Unknown title" says
// nothing. In the browser.

/** The node's words for what a file's tags lack; other nodes' encoded tracks have the others. */
const UNKNOWN = new Set(["", "unknown title", "unknown artist", "unknown author", "unknown"]);

/** Title and author as they are shown. */
interface TrackName {
  readonly title: string;
  readonly author: string;
}

/**
 * The title, or for an untagged track the file name in `uri`; the author, or the host of `uri`. Query, fragment and
 * credentials of a link are never part of it. `uri` is a link, a path or null.
 */
export function trackName(track: { readonly title: string; readonly author: string; readonly uri: string | null }) {
  const { title, author } = track;
  const { file, host } = partsOf(track.uri ?? "");
  const shown: TrackName = {
    title: isUnknown(title) ? file || host || title.trim() || "Without a title" : title,
    author: isUnknown(author) ? host || author : author,
  };
  if (!isUnknown(title) || isUnknown(author) || host === "") return shown;
  return { ...shown, author: `${author}, ${host}` };
}

function isUnknown(text: string): boolean {
  return UNKNOWN.has(text.trim().toLowerCase());
}

/** Not by `URL`: the node has replaced credentials by a mark that is valid nowhere. */
function partsOf(uri: string): { readonly file: string; readonly host: string } {
  const [, authority = "", rest = uri] = /^[a-z][a-z0-9+.-]*:\/\/([^/?#\\]*)(.*)$/is.exec(uri) ?? [];
  const path = rest === uri ? uri : rest.replace(/[?#].*$/s, "");
  // Not the `;` that a radio's link ends with.
  const file = path
    .split(/[/\\]/)
    .map(decoded)
    .findLast((part) => /[\p{L}\p{N}]/u.test(part));
  return { file: file ?? "", host: authority.slice(authority.lastIndexOf("@") + 1) };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    // A name with a bare percent sign is shown as it is.
    return text;
  }
}
