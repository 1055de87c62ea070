// What other programs see of the node's environment, which holds passwords and addresses of the node and of whatever
// else runs beside it. A leaf, on all threads.

/** How to find files and programs, the language, and how to reach the network. Windows does not heed the case. */
const PASSED_ON = new RegExp(
  `^(?:${[
    "PATH|HOME|LANG|LANGUAGE|LC_[A-Z]+|TZ|TMPDIR|TMP|TEMP|XDG_CACHE_HOME",
    "(?:HTTP|HTTPS|ALL|NO)_PROXY|SSL_CERT_FILE|SSL_CERT_DIR",
    "SYSTEMROOT|COMSPEC|PATHEXT|USERPROFILE|APPDATA|LOCALAPPDATA",
  ].join("|")})$`,
  "i",
);

/** The environment for a program that the node starts: nothing of `env` but what any program needs. */
export function programEnvironment(env: NodeJS.ProcessEnv = process.env): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(env).filter(([name]) => PASSED_ON.test(name)));
}
