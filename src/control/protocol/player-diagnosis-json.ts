// The state of a player's audio and why it stuttered, for operators: GET /v4/tonearm/players/{guildId}. Not part of
// Lavalink's protocol. Main thread; made by control/players/player-diagnosis.ts.

import { z } from "zod";
import { AUDIO_CODECS, AUDIO_MODES, VOICE_COUNTS } from "../../bridge/audio-metrics.ts";
import { LOSS_CAUSES, REPAIR_KINDS, VOICE_STATES } from "../../bridge/audio-report.ts";
import { count, type JsonOf, share, text } from "./json-of.ts";

/** One player. All fields reported by its worker are as old as `age` says. */
export type PlayerDiagnosisJson = JsonOf<typeof playerDiagnosisSchema>;
/** An audio thread, from its last report. */
export type WorkerPlacementJson = NonNullable<PlayerDiagnosisJson["worker"]>;
/** How its voice connection stands, and what it has counted. */
export type VoiceDiagnosisJson = NonNullable<PlayerDiagnosisJson["voice"]>;
/** One stutter as a listener perceives it. */
export type IncidentJson = PlayerDiagnosisJson["incidents"][number];

const milliseconds = z.number().min(0);
const epochMilliseconds = z.int().describe("Epoch milliseconds");
const cause = z.enum(LOSS_CAUSES);
const repairKind = z.enum(REPAIR_KINDS);

const workerPlacement = z.strictObject({
  index: count,
  isIsolated: z.boolean(),
  load: share.describe("Share of a core"),
  latenessP99: milliseconds.describe("99th percentile over all its packets of the last half second"),
  latenessMax: milliseconds,
});

const audio = z.strictObject({
  mode: z.enum(AUDIO_MODES),
  codec: z.enum(AUDIO_CODECS).nullable().describe("Of the input; null before its first packet"),
  bitrate: count.nullable().describe("Mean of the input so far, bits per second; null when not known"),
  queued: milliseconds.describe("Audio that is read and not sent yet"),
  heldBytes: count.describe("Memory of the track: bytes read ahead, tables, decoder"),
});

const voice = z.strictObject({
  state: z.enum(VOICE_STATES),
  gate: z.enum(["send", "hold", "discard", "down"]).describe("What happens to due frames"),
  ping: z.int().describe("Milliseconds; -1 without a connection, 0 before the first heartbeat is acknowledged"),
  dave: z.strictObject({
    version: count.describe("0: the call is not encrypted end to end"),
    epoch: count.nullable(),
    state: z.enum(["plain", "waiting", "encrypted", "recovering"]),
    ready: milliseconds.describe("Time until the session's first group was ready; 0 before"),
  }),
  counts: z.record(z.enum(VOICE_COUNTS), count),
});

const incident = z.strictObject({
  cause: cause.describe("Cause of most of its frames"),
  start: epochMilliseconds,
  length: milliseconds,
  framesLost: count,
  repair: repairKind.nullable().describe("Repair made by the node"),
  isOver: z.boolean(),
});

const repairs = z.strictObject({
  reopen: count,
  rejoin: count,
  last: z
    .strictObject({
      kind: repairKind,
      cause,
      time: epochMilliseconds,
      silent: milliseconds.describe("How long nothing had been sent by then"),
    })
    .nullable(),
});

const playerDiagnosisSchema = z
  .strictObject({
    guildId: text,
    sessionId: text,
    track: z.strictObject({ identifier: text, title: text, sourceName: text, isStream: z.boolean() }).nullable(),
    position: count.describe("Milliseconds"),
    paused: z.boolean(),
    volume: count.describe("Percent"),
    filters: z.array(text).describe("Names of the filters that are set and change the audio"),
    region: text.nullable().describe("Voice region, from the host name of Discord's voice server; null without one"),
    age: count.nullable().describe("Milliseconds since its worker's last report; null before the first"),
    worker: workerPlacement.nullable().describe("Worker of its voice connection; null while it waits for one"),
    renderWorker: workerPlacement.nullable().describe("Another worker that renders its audio"),
    audio: audio.nullable().describe("Null without a track"),
    voice: voice.nullable().describe("Null before its first connection"),
    frames: z
      .strictObject({
        sent: count,
        lost: z.record(cause, count),
        lostMinutes: z
          .array(z.strictObject({ time: epochMilliseconds.describe("Start of the minute"), lost: count }))
          .describe("Minutes of the last hour with lost frames, oldest first; without those in an empty channel"),
      })
      .describe("Frames of 20 ms"),
    incidents: z.array(incident).describe("Newest first; the last 20"),
    repairs,
    inputReopened: count.describe("Times a lost connection to the server of its input was opened again"),
  })
  .meta({ id: "PlayerDiagnosis" });

/** Schema of an array of PlayerDiagnosisJson. */
export const playerDiagnosesSchema = z.array(playerDiagnosisSchema).meta({ id: "PlayerDiagnoses" });
