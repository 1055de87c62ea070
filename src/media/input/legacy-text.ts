// Text without a declared encoding: playlists and station titles. Audio thread.

/** Decodes UTF-8 (with or without a byte order mark) if it is valid, else Windows-1252. */
export function decodeText(bytes: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    // Not UTF-8, which is one of the two expected cases.
    return new TextDecoder("windows-1252").decode(bytes);
  }
}
