// Settings for publishing the site.

/** The path of the site on its host, with a slash at both ends: `/` at the root, `/tonearm/` below a folder. */
export const BASE = "/";
