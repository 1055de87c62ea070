// Audio quality of all players for Prometheus: frames, incidents and repairs by cause, lateness, and voice counters. No
// label names a guild: that would be too many series; GET /v4/tonearm/players/{guildId} reports on one. Every series is
// there from the start, with 0. Main thread.

import { LOSS_CAUSES, REPAIR_KINDS, type VoiceCounts } from "../../bridge/audio-report.ts";
import { LATENESS_BOUNDS_MS } from "../../bridge/events.ts";
import { type AudioTotals, VOICE_CLOSE_CODES } from "../../control/workers/audio-totals.ts";
import type { MetricFamily, Sample } from "./prometheus-text.ts";

/** Name behind `tonearm_`, and help. */
const OF_VOICE: Readonly<Record<keyof VoiceCounts, readonly [string, string]>> = {
  framesRefused: ["voice_frames_refused_total", "Frames that voice connections could not send."],
  encryptFailures: ["dave_encrypt_failures_total", "Frames that could not be encrypted end to end; refused."],
  daveTransitions: ["dave_transitions_total", "DAVE groups joined and changes of them followed."],
  daveRecoveries: ["dave_recoveries_total", "Times a DAVE group was left and joined again to repair it."],
  plainFallbacks: [
    "dave_plain_fallbacks_total",
    "Times no DAVE group was joined in time and audio was sent without end-to-end encryption.",
  ],
  udpErrors: ["voice_udp_errors_total", "Errors of the system about packets to voice servers."],
  malformedMessages: ["voice_malformed_messages_total", "Messages of voice gateways that could not be read."],
  resumes: ["voice_resumes_total", "Voice sessions taken up again after their WebSocket was lost."],
  reconnects: ["voice_reconnects_total", "New voice sessions with the same credentials."],
};

export function audioFamilies(totals: AudioTotals): MetricFamily[] {
  return [
    counter("frames_sent_total", "Audio frames sent, 20 ms each.", totals.framesSent),
    labelled("frames_lost_total", "Frames that were due and not sent.", { cause: LOSS_CAUSES }, totals.lostFrames),
    labelled("incidents_total", "Periods in which audio was missing.", { cause: LOSS_CAUSES }, totals.incidents),
    labelled("repairs_total", "Silent players that were repaired.", { kind: REPAIR_KINDS }, totals.repairs),
    lateness(totals),
    counter("input_reopened_total", "Lost connections to inputs' servers opened again.", totals.inputReopened),
    counter("workers_lost_total", "Audio threads that died or hung.", totals.workersLost),
    counter("voice_packets_sent_total", "Packets sent to voice servers, silence included.", totals.packetsSent),
    ...voiceFamilies(totals),
    labelled(
      "voice_closed_total",
      "Voice connections that Discord closed for good, by code.",
      { code: VOICE_CLOSE_CODES },
      totals.voiceClosed,
    ),
  ];
}

function voiceFamilies({ voice }: AudioTotals): MetricFamily[] {
  const names = Object.keys(OF_VOICE) as (keyof VoiceCounts)[]; // its own keys
  return names.map((name) => counter(...OF_VOICE[name], voice[name]));
}

function lateness({ latenessCounts, latenessMsSum }: AudioTotals): MetricFamily {
  const samples: Sample[] = [];
  let seen = 0;
  for (const [index, count] of latenessCounts.entries()) {
    const boundMs = LATENESS_BOUNDS_MS[index];
    seen += count;
    samples.push({
      suffix: "_bucket",
      labels: { le: boundMs === undefined ? "+Inf" : String(boundMs / 1000) },
      value: seen,
    });
  }
  samples.push({ suffix: "_sum", value: latenessMsSum / 1000 }, { suffix: "_count", value: seen });
  const help = "How late frames were sent.";
  return { name: "tonearm_frame_lateness_seconds", help, type: "histogram", samples };
}

function counter(name: string, help: string, value: number): MetricFamily {
  return { name: `tonearm_${name}`, help, type: "counter", samples: [{ value }] };
}

function labelled<Name extends string>(
  name: string,
  help: string,
  label: Readonly<Record<string, readonly Name[]>>,
  counts: Readonly<Record<Name, number>>,
): MetricFamily {
  const samples = Object.entries(label).flatMap(([key, values]) =>
    values.map((value) => ({ labels: { [key]: value }, value: counts[value] })),
  );
  return { name: `tonearm_${name}`, help, type: "counter", samples };
}
