// The keys of playback. Audio workers receive these values unchanged (bridge/worker-settings.ts), but for the cache's.

import { choiceKey, flagKey, integerKey, type ReadKey, textKey } from "./key.ts";

export function playingKeys(read: ReadKey) {
  return {
    players: playerKeys(read),
    opus: opusKeys(read),
    opusCache: opusCacheKeys(read),
    buffer: bufferKeys(read),
    voice: voiceKeys(read),
  };
}

function playerKeys(read: ReadKey) {
  return {
    updateIntervalMs:
      1000 *
      read(
        integerKey("lavalink.server.playerUpdateInterval", {
          meaning: "Interval of playerUpdate messages.",
          unit: "seconds",
          defaultValue: 5,
          min: 1,
          max: 3600,
        }),
      ),
    trackStuckThresholdMs: read(
      integerKey("lavalink.server.trackStuckThresholdMs", {
        meaning: "Time without audio after which clients receive TrackStuckEvent.",
        unit: "milliseconds",
        defaultValue: 10_000,
        min: 100,
        max: 3_600_000,
        outsideValue: 10_000,
      }),
    ),
  };
}

function opusKeys(read: ReadKey) {
  return {
    /** 0 to 10. */
    complexity: read(
      integerKey("lavalink.server.opusEncodingQuality", {
        meaning:
          "Complexity of libopus, if that is the encoder (tonearm.opus.encoder); 10 has the best quality and costs " +
          "most.",
        defaultValue: 10,
        min: 0,
        max: 10,
        outsideValue: 10,
      }),
    ),
    /** The encoder in use. */
    encoder: read(
      choiceKey("tonearm.opus.encoder", {
        meaning: "Opus encoder: Tonearm's, or libopus, which takes three times the CPU time.",
        names: ["tonearm", "libopus"],
        defaultValue: "tonearm",
      }),
    ),
    bitrateBps:
      1000 *
      read(
        integerKey("tonearm.opus.bitrateKbps", {
          meaning: "Bit rate of encoded audio. Opus sources that are passed through keep theirs.",
          unit: "kilobits per second",
          defaultValue: 128,
          min: 16,
          max: 510,
        }),
      ),
  };
}

function opusCacheKeys(read: ReadKey) {
  return {
    /** As it was written; "": no cache. */
    path: read(
      textKey("tonearm.opusCache.path", {
        meaning:
          "Folder that stores what songs were encoded to, for one node: the next time they cost no encoding. Unset: " +
          "nothing is stored. Relative to the folder the node was started in.",
        defaultValue: "",
        defaultNote: "not set",
        example: "/var/lib/tonearm/opus-cache",
      }),
    ).trim(),
    bytesMax:
      1024 *
      1024 *
      read(
        integerKey("tonearm.opusCache.megabytesMax", {
          meaning: "Limit of that folder. The songs that were not played for longest are removed. A minute takes 1 MB.",
          unit: "megabytes",
          defaultValue: 1024,
          min: 64,
          max: 1_048_576,
        }),
      ),
  };
}

function bufferKeys(read: ReadKey) {
  return {
    /** Target for the compressed read-ahead, in milliseconds of audio. */
    readAheadMs: read(
      integerKey("tonearm.buffer.readAheadMs", {
        meaning: "Compressed audio to read ahead, per player.",
        unit: "milliseconds",
        defaultValue: 10_000,
        min: 1000,
        max: 120_000,
      }),
    ),
    /** Upper bound of that read-ahead in bytes, per player. */
    readAheadBytesMax: read(
      integerKey("tonearm.buffer.readAheadBytesMax", {
        meaning: "Limit of the read-ahead in bytes, per player; whichever is reached first.",
        unit: "bytes",
        defaultValue: 1_048_576,
        min: 65_536,
        max: 67_108_864,
      }),
    ),
  };
}

function voiceKeys(read: ReadKey) {
  return {
    connectTimeoutMs: read(
      integerKey("tonearm.voice.connectTimeoutMs", {
        meaning: "Time a PATCH with voice data waits for Discord's voice server.",
        unit: "milliseconds",
        defaultValue: 5000,
        min: 100,
        max: 60_000,
      }),
    ),
    /** False forbids sending unencrypted audio when no DAVE group is established (discord-voice.md section 3.8). */
    isPlainFallbackAllowed: read(
      flagKey("tonearm.voice.plainFallback", {
        meaning:
          "Send audio without end-to-end encryption if a channel that supports it does not get it. False: " +
          "stay silent.",
        defaultValue: true,
      }),
    ),
    /** `wss` in production; `ws` for a fake Discord on loopback. */
    gatewayScheme: read(
      choiceKey("tonearm.voice.gatewayScheme", {
        meaning: "URL scheme of voice gateways. ws is for test servers only.",
        names: ["wss", "ws"],
        defaultValue: "wss",
      }),
    ),
  };
}
