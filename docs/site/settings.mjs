// What whoever publishes the site may want to change.

/** The path that the site has on its host, with a slash at both ends: `/` at the root, `/tonearm/` below a folder. */
export const BASE = "/";

/**
 * Where the sources can be read on the web, as the address in front of a path in this repository, without a slash at
 * its end. Empty: the project has no such address yet, and pages name the path instead of linking to it.
 */
export const SOURCES_URL = "";
