// The path and client name of `tonearm health`, known to both sides, so that an answer every half minute does not fill
// the log. Main thread, and the process of the check.

/** The lightest route, and open: no password is needed, so none can be wrong. */
export const HEALTH_PATH = "/version";
/** As `User-Agent`. */
export const HEALTH_AGENT = "tonearm-health";
/** Every answer of a node has it; lower case, as Node.js gives names of headers. */
export const NODE_HEADER = "lavalink-api-version";
