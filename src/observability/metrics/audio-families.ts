// Audio quality of all players for Prometheus: frames, incidents and repairs by cause, lateness, and voice counters. No
// label names a guild: that would be too many series; GET /v4/tonearm/players/{guildId} reports on one. Every series is
// there from the start, with 0. Main thread.

import { LOSS_CAUSES, REPAIR_KINDS } from "../../bridge/audio-report.ts";
import { LATENESS_BOUNDS_MS } from "../../bridge/events.ts";
import { VOICE_COUNTERS, VOICE_COUNTS } from "../../bridge/voice-counts.ts";
import { type AudioTotals, VOICE_CLOSE_CODES } from "../../control/workers/audio-totals.ts";
import type { MetricFamily, Sample } from "./prometheus-text.ts";

export function audioFamilies(totals: AudioTotals): MetricFamily[] {
  return [
    counter("frames_sent_total", "Audio frames sent, 20 ms each.", totals.framesSent),
    labelled("frames_lost_total", "Frames that were due and not sent.", { cause: LOSS_CAUSES }, totals.lostFrames),
    labelled("incidents_total", "Periods in which audio was missing.", { cause: LOSS_CAUSES }, totals.incidents),
    labelled("repairs_total", "Silent players that were repaired.", { kind: REPAIR_KINDS }, totals.repairs),
    lateness(totals),
    counter("input_reopened_total", "Lost connections to inputs' servers opened again.", totals.inputReopened),
    counter("workers_lost_total", "Audio threads that crashed or hung.", totals.workersLost),
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
  return VOICE_COUNTS.map((name) => counter(VOICE_COUNTERS[name].metric, VOICE_COUNTERS[name].help, voice[name]));
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
