// The first segments of the node's own paths below `/v4`, which plugins cannot use for their routes. A test compares
// them with the routes. Any thread.

/** `/v4/sessions` and all below it are the node's. */
export const RESERVED_SEGMENTS: ReadonlySet<string> = new Set([
  "decodetrack",
  "decodetracks",
  "info",
  "lavasrc",
  "loadsearch",
  "loadtracks",
  "lyrics",
  "routeplanner",
  "sessions",
  "stats",
  "tonearm",
  "websocket",
]);
