// Settings for publishing the site.

/** The path of the site on its host, with a slash at both ends: `/` at the root, `/tonearm/` below a folder. */
export const BASE = "/";

/**
 * The web address of the source repository, to be followed by a path in it, without a trailing slash. Empty: the
 * project has no such address yet, and pages name the path instead of linking to it.
 */
export const SOURCES_URL = "";
