// The keys of the node's reporting to its operator: metrics, logs and the dashboard.

import { choiceKey, flagKey, freePathKey, integerKey, mapKey, type ReadKey, secretKey } from "./key.ts";
import { choiceType } from "./value-type.ts";

const LEVELS = ["TRACE", "DEBUG", "INFO", "WARN", "ERROR", "OFF"] as const;

const LEVEL_NAMES = {
  TRACE: "debug",
  DEBUG: "debug",
  INFO: "info",
  WARN: "warn",
  ERROR: "error",
  OFF: "silent",
} as const;

export function operatorKeys(read: ReadKey) {
  return { metrics: metricsKeys(read), dashboard: dashboardKeys(read), logging: loggingKeys(read) };
}

/** The dashboard is enabled when either password is set. */
function dashboardKeys(read: ReadKey) {
  return {
    operatorPassword: read(
      secretKey("tonearm.dashboard.password", {
        meaning:
          "Enables the dashboard at /dashboard. This password also allows pausing, skipping and stopping " +
          "tracks, reloading plugins and draining the node.",
        defaultNote: "none",
        example: "another long random text",
      }),
    ),
    viewerPassword: read(
      secretKey("tonearm.dashboard.viewerPassword", {
        meaning: "Enables the dashboard at /dashboard. This password allows viewing only.",
        defaultNote: "none",
        example: "a long random text for viewers",
      }),
    ),
  };
}

function metricsKeys(read: ReadKey) {
  const isEnabled = read(
    flagKey("metrics.prometheus.enabled", { meaning: "Serve metrics for Prometheus.", defaultValue: false }),
  );
  const endpoint = read(
    freePathKey("metrics.prometheus.endpoint", {
      meaning: "Path of the metrics, served without a password. Empty: /metrics, with the password.",
      defaultValue: "",
      // Anybody who knows the path can read the metrics.
      isPrivate: true,
    }),
  );
  return {
    isEnabled,
    /** Path of the metrics route, with a slash in front. */
    endpoint: endpoint === "" ? "/metrics" : endpoint,
    /** True when no endpoint was configured: the route then asks for the password, as Lavalink's does. */
    isPasswordNeeded: endpoint === "",
  };
}

function loggingKeys(read: ReadKey) {
  const level = read(
    mapKey("logging.level", {
      meaning:
        `Least level that is logged: ${LEVELS.join(", ")}. "lavalink" goes before "root"; other names mean Java ` +
        "classes and are ignored. The line that the node listens is always logged.",
      defaultValue: {},
      defaultNote: "root: INFO",
      example: "{ root: INFO, lavalink: DEBUG }",
      type: choiceType(LEVELS),
      memberNames: ["root", "lavalink"],
    }),
  );
  const isRequestLogged = read(
    flagKey("logging.request.enabled", { meaning: "Log every request of a client.", defaultValue: true }),
  );
  const requests = requestKeys(read);
  return {
    level: LEVEL_NAMES[level.lavalink ?? level.root ?? "INFO"],
    /** How requests of clients are logged; undefined: not at all. */
    requests: isRequestLogged ? requests : undefined,
    format: read(
      choiceKey("tonearm.log.format", {
        meaning: "Format of log lines.",
        names: ["text", "json"],
        defaultValue: "text",
      }),
    ),
  };
}

function requestKeys(read: ReadKey) {
  return {
    isClientShown: read(
      flagKey("logging.request.includeClientInfo", { meaning: "Include the client's address.", defaultValue: false }),
    ),
    areHeadersShown: read(
      flagKey("logging.request.includeHeaders", {
        meaning: "Include headers, except secret ones.",
        defaultValue: false,
      }),
    ),
    isQueryShown: read(
      flagKey("logging.request.includeQueryString", { meaning: "Include the query.", defaultValue: true }),
    ),
    isPayloadShown: read(
      flagKey("logging.request.includePayload", {
        meaning: "Include the body, except secret parts.",
        defaultValue: true,
      }),
    ),
    payloadLengthMax: read(
      integerKey("logging.request.maxPayloadLength", {
        meaning: "Limit for the body; never more than 15,360.",
        unit: "characters",
        defaultValue: 10_000,
        min: 0,
        max: 1_000_000,
      }),
    ),
    isLoggedBefore: read(
      flagKey("logging.request.beforeRequest", {
        meaning: "Also log requests before they are answered.",
        defaultValue: false,
      }),
    ),
  };
}
