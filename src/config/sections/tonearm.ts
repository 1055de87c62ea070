// `tonearm`: what Lavalink has no key for.

import { delimiter } from "node:path";
import { choiceKey, flagKey, integerKey, listKey } from "../key.ts";
import { defineSection } from "../section.ts";
import { addressBlockType, choiceType, textType } from "../value-type.ts";

export const tonearmSection = defineSection("tonearm", {
  "network.allow": listKey({
    meaning:
      "Address blocks the node may connect to although they are private, loopback, link-local or the machine's own. All others of that kind are refused for every outgoing connection.",
    defaultValue: [],
    type: addressBlockType,
  }),
  "local.roots": listKey({
    meaning:
      "Folders below which the local source may read; relative ones count from where the node was started. In one text, put a colon between them (on Windows a semicolon).",
    defaultValue: ["."],
    type: textType,
    separator: delimiter,
  }),
  "routePlanner.sources": listKey({
    meaning: "Sources whose requests are sent from the addresses of lavalink.server.ratelimit.",
    defaultValue: ["http"],
    type: choiceType(["http"]),
  }),
  "workers.count": integerKey({
    meaning: "Audio threads. 0: as many as the processor has cores.",
    defaultValue: 0,
    min: 0,
    max: 64,
  }),
  "workers.loadControl": flagKey({
    meaning:
      "When audio threads near their limit, encoders work less hard for all players, and when that is not enough, further players are refused. False: neither.",
    defaultValue: true,
  }),
  "opus.bitrateKbps": integerKey({
    meaning: "Bit rate of sound that has to be encoded. Opus sources are passed through as they are.",
    unit: "kilobits per second",
    defaultValue: 128,
    min: 16,
    max: 510,
  }),
  "voice.connectTimeoutMs": integerKey({
    meaning: "How long a PATCH with voice data waits for Discord's voice server.",
    unit: "milliseconds",
    defaultValue: 5000,
    min: 100,
    max: 60_000,
  }),
  "voice.plainFallback": flagKey({
    meaning:
      "Send sound without end-to-end encryption when a channel that could have it never gets there. False: stay silent.",
    defaultValue: true,
  }),
  "voice.gatewayScheme": choiceKey({
    meaning: "How voice gateways are reached. ws is for test servers only.",
    names: ["wss", "ws"],
    defaultValue: "wss",
  }),
  "buffer.readAheadMs": integerKey({
    meaning: "Compressed sound to keep ahead of what is heard, per player.",
    unit: "milliseconds",
    defaultValue: 10_000,
    min: 1000,
    max: 120_000,
  }),
  "buffer.readAheadBytesMax": integerKey({
    meaning: "The same in bytes, per player; whichever is reached first.",
    unit: "bytes",
    defaultValue: 1_048_576,
    min: 65_536,
    max: 67_108_864,
  }),
  "log.format": choiceKey({
    meaning: "Log lines for people or for programs.",
    names: ["text", "json"],
    defaultValue: "text",
  }),
});
