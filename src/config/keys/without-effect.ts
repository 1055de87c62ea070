// The keys known from Lavalink that have no effect here. They are checked all the same, and each gives the reason.

import { formerKeys, NO_LOG_FILES, NO_SENTRY } from "./former-keys.ts";
import { choiceKey, flagKey, integerKey, type Key, mapKey, secretKey, textKey, treeKey } from "./key.ts";
import { textType } from "./value-type.ts";

const NO_YOUTUBE_PASSWORD = "YouTube accepts no passwords; plugins.youtube.oauth sets up an account";
const COMPRESSED_BUFFER = "audio is buffered compressed and decoded just in time; see tonearm.buffer";
const NO_JAVA = "Java plugins cannot run in Tonearm";

export function keysWithoutEffect(): readonly Key<unknown>[] {
  return [...serverKeys(), ...youtubeKeys(), ...bufferKeys(), ...pluginKeys(), ...reportingKeys(), ...formerKeys()];
}

function serverKeys(): Key<unknown>[] {
  return [
    ...tlsKeys(),
    flagKey("server.http2.enabled", {
      meaning: "HTTP/2 for REST.",
      defaultValue: false,
      noEffect: "only HTTP/1.1 is served, which all clients use",
    }),
    integerKey("lavalink.server.timeouts.connectionRequestTimeoutMs", {
      meaning: "Longest wait for a free connection of the pool.",
      unit: "milliseconds",
      defaultValue: 3000,
      min: 1,
      max: 600_000,
      noEffect: "no request waits for a free connection",
    }),
    flagKey("lavalink.server.gc-warnings", {
      meaning: "Warn of long garbage collections.",
      defaultValue: true,
      noEffect: "audio workers count late ticks instead",
    }),
  ];
}

function tlsKeys(): Key<unknown>[] {
  const text = (name: string, docs: { meaning: string; noEffect: string; isMissed?: boolean }): Key<string> =>
    textKey(`server.ssl.${name}`, { defaultValue: "", ...docs });
  return [
    text("bundle", {
      meaning: "Name of an SSL bundle.",
      noEffect: "use the other keys of server.ssl",
      isMissed: true,
    }),
    text("key-alias", { meaning: "Name of the key in the key store.", noEffect: "a PKCS12 file has one key" }),
    text("protocol", { meaning: "Protocol of the Java framework.", noEffect: "use server.ssl.enabled-protocols" }),
    text("ciphers", {
      meaning: "Ciphers to allow.",
      noEffect: "Node.js's defaults apply; node --tls-cipher-list=… changes them",
      isMissed: true,
    }),
    text("trust-store", {
      meaning: "PKCS#12 file with certificates that clients' certificates must come from.",
      noEffect: "use server.ssl.trust-certificate, in PEM",
      isMissed: true,
    }),
    secretKey("server.ssl.trust-store-password", {
      meaning: "Password of the trust store.",
      defaultNote: "none",
      example: "secret",
      noEffect: "there is no trust store",
    }),
    text("trust-store-type", { meaning: "Type of the trust store.", noEffect: "there is no trust store" }),
  ];
}

function youtubeKeys(): Key<unknown>[] {
  return [
    flagKey("lavalink.server.youtubeSearchEnabled", {
      meaning: "Allow ytsearch: in Lavalink's former source.",
      defaultValue: true,
      noEffect: "use plugins.youtube.allowSearch",
    }),
    textKey("lavalink.server.youtubeConfig.email", {
      meaning: "Account.",
      defaultValue: "",
      isPrivate: true,
      noEffect: NO_YOUTUBE_PASSWORD,
    }),
    secretKey("lavalink.server.youtubeConfig.password", {
      meaning: "Password of the account.",
      defaultNote: "none",
      example: "secret",
      noEffect: NO_YOUTUBE_PASSWORD,
    }),
  ];
}

function bufferKeys(): Key<unknown>[] {
  return [
    flagKey("lavalink.server.nonAllocatingFrameBuffer", {
      meaning: "Reuse memory for decoded frames.",
      defaultValue: false,
      noEffect: "memory is always reused",
    }),
    integerKey("lavalink.server.bufferDurationMs", {
      meaning: "Size of the native send buffer.",
      unit: "milliseconds",
      defaultValue: 400,
      min: -1_000_000,
      max: 1_000_000,
      noEffect: COMPRESSED_BUFFER,
    }),
    integerKey("lavalink.server.frameBufferDurationMs", {
      meaning: "Duration of audio decoded in advance.",
      unit: "milliseconds",
      defaultValue: 5000,
      min: 200,
      max: 1_000_000,
      outsideValue: 5000,
      noEffect: COMPRESSED_BUFFER,
    }),
    choiceKey("lavalink.server.resamplingQuality", {
      meaning: "Quality of the resampler.",
      names: ["LOW", "MEDIUM", "HIGH"],
      defaultValue: "LOW",
      noEffect: "the only resampler is better than HIGH",
    }),
    flagKey("lavalink.server.useSeekGhosting", {
      meaning: "Continue playing at the old position during a seek.",
      defaultValue: true,
      noEffect: "seeks are fast enough without it",
    }),
  ];
}

function pluginKeys(): Key<unknown>[] {
  return [
    textKey("lavalink.pluginsDir", { meaning: "Folder of the plugins.", defaultValue: "./plugins", noEffect: NO_JAVA }),
    textKey("lavalink.defaultPluginRepository", {
      meaning: "Where plugins are downloaded from.",
      defaultValue: "https://maven.lavalink.dev/releases",
      noEffect: NO_JAVA,
    }),
    textKey("lavalink.defaultPluginSnapshotRepository", {
      meaning: "Where snapshots of plugins are downloaded from.",
      defaultValue: "https://maven.lavalink.dev/snapshots",
      noEffect: NO_JAVA,
    }),
    treeKey("spring", {
      meaning: "Settings of the Java framework.",
      defaultNote: "none",
      example: "{ main: { banner-mode: log } }",
      noEffect: "Tonearm does not use Spring",
    }),
  ];
}

function reportingKeys(): Key<unknown>[] {
  const logFile = (path: string, meaning: string): Key<string> =>
    textKey(path, { meaning, defaultValue: "", noEffect: NO_LOG_FILES });
  return [
    secretKey("sentry.dsn", {
      meaning: "Where errors are sent.",
      defaultNote: "none",
      example: "https://key@host/1",
      noEffect: NO_SENTRY,
      isMissed: true,
    }),
    textKey("sentry.environment", { meaning: "Name of this installation.", defaultValue: "", noEffect: NO_SENTRY }),
    mapKey("sentry.tags", {
      meaning: "Names and texts to send along.",
      defaultNote: "none",
      example: "{ region: europe }",
      defaultValue: {},
      type: textType,
      memberNames: [],
      isPrivate: true,
      noEffect: NO_SENTRY,
    }),
    logFile("logging.file.path", "Folder for log files."),
    logFile("logging.file.name", "Name of the log file."),
    logFile("logging.logback.rollingpolicy.max-file-size", "Size at which a new log file is started."),
    logFile("logging.logback.rollingpolicy.max-history", "Number of log files to keep."),
  ];
}
