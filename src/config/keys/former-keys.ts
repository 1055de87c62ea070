// Keys of Lavalink 2 and 3, of Lavalink's forks and of its Java framework, which examples on the web still have. They
// have no effect here, and each gives the reason or what takes its place.

import { flagKey, type Key, treeKey } from "./key.ts";

const LISTENS_ELSEWHERE = "server.port and server.address are used for REST and WebSocket";
const CLOSED = "the service was closed";
export const NO_SENTRY = "errors are logged, not sent anywhere";
export const NO_LOG_FILES = "log lines go to standard output; let the service manager or the shell keep them";
const NO_SPRING = "Tonearm does not use Spring";

/** Sources that `lavalink.server.sources` had and that nothing stands for, with the reason. */
const SOURCES: Readonly<Record<string, string>> = { mixer: CLOSED, beam: CLOSED };

/** What the Java framework reads below these names. */
const FRAMEWORK = [
  "management",
  ...["compression", "error", "jetty", "netty", "servlet", "tomcat", "undertow"].map((name) => `server.${name}`),
  ...["connection-timeout", "forward-headers-strategy", "max-http-header-size", "max-http-request-header-size"].map(
    (name) => `server.${name}`,
  ),
  "server.shutdown",
];

export function formerKeys(): readonly Key<unknown>[] {
  return [
    former("lavalink.server.ws", { noEffect: LISTENS_ELSEWHERE, isMissed: true }),
    former("lavalink.server.koe", { noEffect: "voice packets are sent by the pacer thread, without Netty" }),
    former("lavalink.server.sentryDsn", { noEffect: NO_SENTRY }),
    ...Object.entries(SOURCES).map(([name, noEffect]) =>
      flagKey(`lavalink.server.sources.${name}`, {
        meaning: "Source of former versions.",
        defaultValue: false,
        noEffect,
        isMissed: true,
      }),
    ),
    flagKey("lavalink.server.sources.getyarn", {
      meaning: "Source of former versions.",
      defaultValue: false,
      noEffect: "on unless plugins.getyarn.enabled is false",
    }),
    former("lavasrc", { noEffect: "the options of a plugin belong below plugins: plugins.lavasrc", isMissed: true }),
    former("sentry", { noEffect: NO_SENTRY }),
    ...["file", "path", "logback", "config", "pattern"].map((name) =>
      former(`logging.${name}`, { noEffect: NO_LOG_FILES }),
    ),
    ...FRAMEWORK.map((path) => former(path, { noEffect: NO_SPRING })),
  ];
}

function former(path: string, docs: { readonly noEffect: string; readonly isMissed?: boolean }): Key<boolean> {
  return treeKey(path, { meaning: "Key of former versions.", defaultNote: "none", example: "anything", ...docs });
}
