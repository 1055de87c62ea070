// Identifiers of items on the operator's servers: `subsonic:home:s1`, `subsonic:home:album:a1`. They contain the
// server's name and never its address. Pure. Plugin threads.

export type ListKind = "album" | "playlist" | "artist";

/** The item that an identifier names. */
export interface ServerThing {
  readonly server: string;
  readonly kind: "track" | ListKind;
  readonly id: string;
}

const ID_LENGTH_MAX = 500;
/** Source, server, kind and id, which may hold colons. */
const IDENTIFIER = /^([\w.-]+):([\w.-]{1,40}):(?:(album|playlist|artist):)?(\S[^\p{Cc}]*)$/u;

/** Undefined if the identifier does not belong to this source. */
export function parseServerIdentifier(text: string, sourceName: string): ServerThing | undefined {
  const [, source, server, kind, id] = IDENTIFIER.exec(text) ?? [];
  if (source !== sourceName || server === undefined || id === undefined || id.length > ID_LENGTH_MAX) return undefined;
  // The pattern has these names only.
  return { server, kind: (kind as ListKind | undefined) ?? "track", id };
}

export function serverIdentifier(sourceName: string, { server, kind, id }: ServerThing): string {
  return [sourceName, server, ...(kind === "track" ? [] : [kind]), id].join(":");
}
