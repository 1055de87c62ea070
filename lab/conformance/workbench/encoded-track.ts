// Writes encoded tracks of every version by the published description (protocol-v4.md section 5), separate from the
// node's code, so that both cannot share a mistake.

export interface TrackText {
  readonly title: string;
  readonly author: string;
  readonly lengthMs: bigint;
  readonly identifier: string;
  readonly isStream: boolean;
  readonly uri: string | null;
  readonly artworkUrl: string | null;
  readonly isrc: string | null;
  readonly sourceName: string;
  /** Fields between source name and position: texts such as `probeInfo` of http and local tracks, or bytes. */
  readonly details: readonly (string | Uint8Array)[];
  readonly positionMs: bigint;
}

export const ENDLESS_MS = 2n ** 63n - 1n;
const VERSION_FLAG = 0x4000_0000;

/** Base64 of the track; `version` 1 has no version byte and no uri, 2 adds the uri, 3 artwork and ISRC. */
export function encodeTrack(track: TrackText, version: 1 | 2 | 3 | number = 3): string {
  const parts = [
    text(track.title),
    text(track.author),
    i64(track.lengthMs),
    text(track.identifier),
    Buffer.from([track.isStream ? 1 : 0]),
    ...(version >= 2 ? [optionalText(track.uri)] : []),
    ...(version >= 3 ? [optionalText(track.artworkUrl), optionalText(track.isrc)] : []),
    text(track.sourceName),
    ...track.details.map((detail) => (typeof detail === "string" ? text(detail) : Buffer.from(detail))),
    i64(track.positionMs),
  ];
  return frame(
    Buffer.concat(version >= 2 ? [Buffer.from([version]), ...parts] : parts),
    version >= 2 ? VERSION_FLAG : 0,
  );
}

/** A track that plays (or fails to play) the file at a URL. */
export function httpTrack(url: string, changes: Partial<TrackText> = {}): TrackText {
  return {
    title: "Conformance",
    author: "Kit",
    lengthMs: 30_000n,
    identifier: url,
    isStream: false,
    uri: url,
    artworkUrl: null,
    isrc: null,
    sourceName: "http",
    details: ["wav"],
    positionMs: 0n,
    ...changes,
  };
}

function frame(body: Buffer, flags: number): string {
  const header = Buffer.alloc(4);
  header.writeUInt32BE(flags + body.length);
  return Buffer.concat([header, body]).toString("base64");
}

function i64(value: bigint): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigInt64BE(value);
  return bytes;
}

function optionalText(value: string | null): Buffer {
  return value === null ? Buffer.from([0]) : Buffer.concat([Buffer.from([1]), text(value)]);
}

/** Length in two bytes, then modified UTF-8: each UTF-16 unit by itself, U+0000 as two bytes. */
function text(value: string): Buffer {
  const bytes: number[] = [];
  for (let index = 0; index < value.length; index++) {
    const unit = value.charCodeAt(index);
    if (unit > 0 && unit < 0x80) bytes.push(unit);
    else if (unit < 0x800) bytes.push(0xc0 | (unit >> 6), 0x80 | (unit & 0x3f));
    else bytes.push(0xe0 | (unit >> 12), 0x80 | ((unit >> 6) & 0x3f), 0x80 | (unit & 0x3f));
  }
  return Buffer.concat([Buffer.from([bytes.length >> 8, bytes.length & 0xff]), Buffer.from(bytes)]);
}
