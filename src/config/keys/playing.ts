// The keys of what playing sounds like. Audio workers are told these values as they are (bridge/worker-settings.ts).

import { choiceKey, flagKey, integerKey, type ReadKey } from "./key.ts";

export function playingKeys(read: ReadKey) {
  return { players: playerKeys(read), opus: opusKeys(read), buffer: bufferKeys(read), voice: voiceKeys(read) };
}

function playerKeys(read: ReadKey) {
  return {
    updateIntervalMs:
      1000 *
      read(
        integerKey("lavalink.server.playerUpdateInterval", {
          meaning: "How often clients are told a player's position.",
          unit: "seconds",
          defaultValue: 5,
          min: 1,
          max: 3600,
        }),
      ),
    trackStuckThresholdMs: read(
      integerKey("lavalink.server.trackStuckThresholdMs", {
        meaning: "Silence of a playing track after which clients get TrackStuckEvent.",
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
          "Effort of the Opus encoder where that is libopus (tonearm.opus.encoder); 10 sounds best and costs most.",
        defaultValue: 10,
        min: 0,
        max: 10,
        outsideValue: 10,
      }),
    ),
    /** Which of the two encodes. */
    encoder: read(
      choiceKey("tonearm.opus.encoder", {
        meaning:
          "What encodes to Opus: the encoder of Tonearm's own, or libopus, which takes three times the processor time.",
        names: ["tonearm", "libopus"],
        defaultValue: "tonearm",
      }),
    ),
    bitrateBps:
      1000 *
      read(
        integerKey("tonearm.opus.bitrateKbps", {
          meaning: "Bit rate of sound that has to be encoded. Opus sources are passed through as they are.",
          unit: "kilobits per second",
          defaultValue: 128,
          min: 16,
          max: 510,
        }),
      ),
  };
}

function bufferKeys(read: ReadKey) {
  return {
    /** Compressed read-ahead aimed at, milliseconds of sound. */
    readAheadMs: read(
      integerKey("tonearm.buffer.readAheadMs", {
        meaning: "Compressed sound to keep ahead of what is heard, per player.",
        unit: "milliseconds",
        defaultValue: 10_000,
        min: 1000,
        max: 120_000,
      }),
    ),
    /** Upper bound of that read-ahead in bytes, per player. */
    readAheadBytesMax: read(
      integerKey("tonearm.buffer.readAheadBytesMax", {
        meaning: "The same in bytes, per player; whichever is reached first.",
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
        meaning: "How long a PATCH with voice data waits for Discord's voice server.",
        unit: "milliseconds",
        defaultValue: 5000,
        min: 100,
        max: 60_000,
      }),
    ),
    /** False forbids sending unencrypted sound when a DAVE group never comes to be (discord-voice.md section 3.8). */
    isPlainFallbackAllowed: read(
      flagKey("tonearm.voice.plainFallback", {
        meaning:
          "Send sound without end-to-end encryption when a channel that could have it never gets there. False: " +
          "stay silent.",
        defaultValue: true,
      }),
    ),
    /** `wss` in production; `ws` for a fake Discord on loopback. */
    gatewayScheme: read(
      choiceKey("tonearm.voice.gatewayScheme", {
        meaning: "How voice gateways are reached. ws is for test servers only.",
        names: ["wss", "ws"],
        defaultValue: "wss",
      }),
    ),
  };
}
