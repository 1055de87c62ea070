// `tonearm doctor`: one line for each requirement of the node, with advice where a check fails. Main thread.

import { availableParallelism } from "node:os";
import { loadConfig } from "../../config/load-config.ts";
import type { NodeConfig } from "../../config/node-config.ts";
import { NodeError } from "../../errors.ts";
import { SAMPLE_RATE_HZ } from "../../media/format/audio-format.ts";
import type { AudioStream } from "../../media/format/packet.ts";
import { VERSION } from "../../version.ts";
import { accessChecks } from "./access-checks.ts";
import {
  clockCheck,
  daveCheck,
  decoderCheck,
  encoderCheck,
  encryptionCheck,
  opusCheck,
  vorbisCheck,
} from "./audio-checks.ts";
import { type Check, type CheckResult, checkLine } from "./check.ts";
import { clusterCheck } from "./cluster-check.ts";
import { addressesCheck, dnsCheck, portCheck, udpCheck, udpRouteCheck } from "./network-checks.ts";
import { ytDlpCheck } from "./plugin-checks.ts";
import { stateCheck } from "./state-check.ts";

/** The process environment of the doctor. */
export interface DoctorContext {
  readonly cwd: string;
  /** The node of this configuration is running: its port is in use, which is no problem. */
  readonly isNodeRunning?: boolean;
  /** Standard output: one line a check. */
  write(text: string): void;
  /** See `clockCheck`; replaced in tests. */
  readonly measureLateness?: (() => Promise<readonly number[]>) | undefined;
}

/** Runs every check. Resolves with 0 when none failed, else 1. */
export async function runDoctor(args: readonly string[], context: DoctorContext): Promise<number> {
  context.write(`Tonearm ${VERSION}\n`);
  const { results, config } = checkConfig(args, context);
  const checks = [
    runtimeCheck,
    ...(config === undefined ? [] : configuredChecks(config, context)),
    ...machineChecks(context),
  ];
  for (const result of results) context.write(`${checkLine("configuration", result)}\n`);
  let failures = results.filter(({ status }) => status === "fail").length;
  for (const check of checks) {
    const result = await runCheck(check);
    if (result.status === "fail") failures++;
    context.write(`${checkLine(check.name, result)}\n`);
  }
  context.write(
    failures === 0 ? "The node can run.\n" : `${failures} of these must be fixed before the node can run.\n`,
  );
  return failures === 0 ? 0 : 1;
}

/** Runs one check; a rejection becomes a failed result. */
async function runCheck(check: Check): Promise<CheckResult> {
  try {
    return await check.run();
  } catch (error) {
    const reason = error instanceof Error ? error.message.split("\n", 1)[0] : String(error);
    return {
      status: "fail",
      found: `${reason}`,
      advice: "install it again, without --omit=optional; if that does not help, please report it",
    };
  }
}

function checkConfig(
  args: readonly string[],
  context: DoctorContext,
): { results: readonly CheckResult[]; config: NodeConfig | undefined } {
  try {
    const { config, fileName, warnings } = loadConfig({ args, cwd: context.cwd });
    const from = fileName === undefined ? "no file, so the defaults" : fileName;
    const summary: CheckResult = { status: "ok", found: `${from} and the environment are valid` };
    return { results: [summary, ...warnings.map((found): CheckResult => ({ status: "warn", found }))], config };
  } catch (error) {
    if (!(error instanceof NodeError)) throw error;
    return { results: [{ status: "fail", found: error.message, advice: "see config.example.yml" }], config: undefined };
  }
}

const runtimeCheck: Check = {
  name: "Node.js",
  run: async () => ({
    status: "ok",
    found: `${process.versions.node} on ${process.platform} ${process.arch}, ${availableParallelism()} cores`,
  }),
};

function configuredChecks(config: NodeConfig, { cwd, isNodeRunning }: DoctorContext): Check[] {
  const { server, routePlanner, state, cluster } = config;
  return [
    ...(isNodeRunning === true ? [] : [portCheck(server)]),
    ...accessChecks(server),
    // In a cluster nothing is stored on this machine.
    cluster === undefined ? stateCheck(state, { cwd }) : clusterCheck(cluster),
    ...(routePlanner.ipBlocks.length === 0 ? [] : [addressesCheck(routePlanner)]),
    ...ytDlpCheck(config),
  ];
}

function machineChecks({ measureLateness }: DoctorContext): Check[] {
  return [
    dnsCheck(),
    udpCheck,
    udpRouteCheck(),
    opusCheck,
    encoderCheck,
    ...Object.entries(SAMPLE_STREAMS).map(([name, stream]) => decoderCheck(name, stream)),
    vorbisCheck,
    encryptionCheck,
    daveCheck,
    clockCheck(measureLateness),
  ];
}

const STEREO = { sampleRateHz: SAMPLE_RATE_HZ, channelCount: 2, description: undefined, pcm: undefined } as const;

/** The minimal stream description that makes each decoder load. */
const SAMPLE_STREAMS: Readonly<Record<string, AudioStream>> = {
  MP3: { ...STEREO, codec: "mp3" },
  FLAC: { ...STEREO, codec: "flac" },
  // AudioSpecificConfig: AAC-LC, 48 kHz, two channels.
  AAC: { ...STEREO, codec: "aac", description: Uint8Array.of(0x11, 0x90) },
};
