// Our own version, as /version, --version and outgoing requests tell it. A tidy test keeps it equal to package.json.

/** Semantic versioning 2.0.0. */
export const VERSION = "0.1.0";
