// Our own version, as /version, --version and outgoing requests tell it. A tidy test keeps it equal to package.json.

export const VERSION = "0.1.0";
