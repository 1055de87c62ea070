// `metrics`, `sentry` and `logging`: what the node tells its operator.

import { flagKey, freePathKey, integerKey, mapKey, secretKey, textKey } from "../key.ts";
import type { NodeConfig, RequestLogging } from "../node-config.ts";
import { defineSection, type SectionValues } from "../section.ts";
import { choiceType, textType } from "../value-type.ts";

const LEVELS = ["TRACE", "DEBUG", "INFO", "WARN", "ERROR", "OFF"] as const;

const LEVEL_NAMES = {
  TRACE: "debug",
  DEBUG: "debug",
  INFO: "info",
  WARN: "warn",
  ERROR: "error",
  OFF: "silent",
} as const;

const NO_SENTRY = "errors are logged, not sent anywhere";
const NO_LOG_FILES = "log lines go to standard output; let the service manager or the shell keep them";

export const metricsSection = defineSection("metrics.prometheus", {
  enabled: flagKey({
    meaning: "Serve metrics for Prometheus.",
    defaultValue: false,
  }),
  endpoint: freePathKey({
    meaning: "Path of the metrics. Empty: /metrics, and then the password is needed.",
    defaultValue: "",
  }),
});

export const sentrySection = defineSection("sentry", {
  dsn: secretKey({
    meaning: "Where errors are sent.",
    defaultNote: "none",
    example: "https://key@host/1",
    noEffect: NO_SENTRY,
    isMissed: true,
  }),
  environment: textKey({ meaning: "Name of this installation.", defaultValue: "", noEffect: NO_SENTRY }),
  tags: mapKey({
    meaning: "Names and texts to send along.",
    defaultNote: "none",
    example: "{ region: europe }",
    defaultValue: {},
    type: textType,
    memberNames: [],
    noEffect: NO_SENTRY,
  }),
});

export const loggingSection = defineSection("logging", {
  level: mapKey({
    meaning: `Least level that is logged: ${LEVELS.join(", ")}. "lavalink" goes before "root"; other names mean Java classes and are ignored.`,
    defaultValue: {},
    defaultNote: "root: INFO",
    example: "{ root: INFO, lavalink: DEBUG }",
    type: choiceType(LEVELS),
    memberNames: ["root", "lavalink"],
  }),
  "request.enabled": flagKey({
    meaning: "Log every request of a client.",
    defaultValue: true,
  }),
  "request.includeClientInfo": flagKey({
    meaning: "With the address of the client.",
    defaultValue: false,
  }),
  "request.includeHeaders": flagKey({
    meaning: "With headers, but for secret ones.",
    defaultValue: false,
  }),
  "request.includeQueryString": flagKey({ meaning: "With the query.", defaultValue: true }),
  "request.includePayload": flagKey({
    meaning: "With the body, but for secret parts.",
    defaultValue: true,
  }),
  "request.maxPayloadLength": integerKey({
    meaning: "How much of the body; never more than 15,360.",
    unit: "characters",
    defaultValue: 10_000,
    min: 0,
    max: 1_000_000,
  }),
  "request.beforeRequest": flagKey({
    meaning: "Also before it is answered.",
    defaultValue: false,
  }),
  "file.path": textKey({ meaning: "Folder for log files.", defaultValue: "", noEffect: NO_LOG_FILES }),
  "file.name": textKey({ meaning: "Name of the log file.", defaultValue: "", noEffect: NO_LOG_FILES }),
  "logback.rollingpolicy.max-file-size": textKey({
    meaning: "Size at which a new log file is begun.",
    defaultValue: "",
    noEffect: NO_LOG_FILES,
  }),
  "logback.rollingpolicy.max-history": textKey({
    meaning: "How many log files are kept.",
    defaultValue: "",
    noEffect: NO_LOG_FILES,
  }),
});

export function metricsOf(values: SectionValues<typeof metricsSection>): NodeConfig["metrics"] {
  return {
    isEnabled: values.enabled,
    endpoint: values.endpoint === "" ? "/metrics" : values.endpoint,
    isPasswordNeeded: values.endpoint === "",
  };
}

export function logLevelOf(values: SectionValues<typeof loggingSection>): NodeConfig["logging"]["level"] {
  return LEVEL_NAMES[values.level.lavalink ?? values.level.root ?? "INFO"];
}

export function requestLoggingOf(values: SectionValues<typeof loggingSection>): RequestLogging | undefined {
  if (!values["request.enabled"]) return undefined;
  return {
    isClientShown: values["request.includeClientInfo"],
    areHeadersShown: values["request.includeHeaders"],
    isQueryShown: values["request.includeQueryString"],
    isPayloadShown: values["request.includePayload"],
    payloadLengthMax: values["request.maxPayloadLength"],
    isLoggedBefore: values["request.beforeRequest"],
  };
}
