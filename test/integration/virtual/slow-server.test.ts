// A server that sends less than the track needs, for as long as it plays: the operator learns of it while it lasts, and
// of its end, also when the player is destroyed.

import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { flacFile } from "../../../lab/media-files/flac-writer.ts";
import { plainPlan } from "../../../lab/media-server/answer-plan.ts";
import { seededRandom } from "../../../lab/seeded-random.ts";
import { WORKER_REPORT_INTERVAL_MS } from "../../../src/bridge/worker-report.ts";
import { pause } from "../../../src/lib/pause.ts";
import { createLogger, type LogFields } from "../../../src/log/log.ts";
import { UpstreamTestEnvironment } from "../../support/upstream-test-environment.ts";
import { narrating, type VirtualTestEnvironment } from "../../support/virtual-test-environment.ts";

/** With two channels of 16 bits, 192 kB a second of audio. */
const RATE_HZ = 48_000;
const SENT_BYTES_PER_SECOND = 40_000;
/** 128 blocks of 1024 samples, the most that the writer makes. */
const SAMPLES = 128 * 1024;

let lines: { readonly message: string; readonly fields: LogFields }[] = [];
const logger = createLogger((level, message, fields) => {
  if (level === "warn" && message.startsWith("audio ")) lines.push({ message, fields });
});

let upstream: UpstreamTestEnvironment;
let virtual: VirtualTestEnvironment;
const narrated = narrating(() => virtual);

beforeAll(async () => {
  const config = { METRICS_PROMETHEUS_ENABLED: "true" };
  ({ upstream, virtual } = await UpstreamTestEnvironment.startVirtual({ logger, config }));
});
beforeEach(() => {
  lines = [];
});
afterAll(() => virtual.close());

async function startSlowTrack(path: string) {
  const random = seededRandom(5);
  const noise = Float32Array.from({ length: SAMPLES }, () => random() - 0.5);
  const file = flacFile({ rateHz: RATE_HZ, bitsPerSample: 16, channels: [noise, noise] });
  upstream.answer(path, () => plainPlan(file, "audio/flac"));
  const encoded = await upstream.load(path);
  upstream.answer(path, () => ({
    ...plainPlan(file, "audio/flac"),
    fault: { kind: "slow", bytesPerSecond: SENT_BYTES_PER_SECOND },
  }));
  const guild = await upstream.enterGuild();
  await guild.play(encoded);
  return guild;
}

async function incidents(): Promise<number> {
  await pause(virtual.clock, 2 * WORKER_REPORT_INTERVAL_MS);
  const { body } = await upstream.bot.request<string>("GET", "/metrics");
  return Number(/^tonearm_incidents_total\{cause="network"\} (\d+)$/m.exec(body)?.[1]);
}

const ENDS: Readonly<Record<string, (guildId: string) => Promise<unknown>>> = {
  destroyed: (guildId) => upstream.bot.destroy(guildId),
  stopped: (guildId) => upstream.bot.update(guildId, { track: { encoded: null } }),
};

test.each(Object.keys(ENDS))(
  "an underrun by a slow server is logged and counted while it lasts, and logged when the player is %s",
  narrated(async (end) => {
    const before = await incidents();
    // The player starts behind a read-ahead that the server fills slowly, too.
    const guild = await startSlowTrack(`${end}.flac`);
    await guild.receives(1);
    await pause(virtual.clock, 7000);
    const host = new URL(upstream.env.media.url).host;
    expect(lines).toEqual([
      {
        message: expect.stringContaining(`the server ${host} delivers too slowly: `),
        fields: expect.objectContaining({ guildId: guild.guildId, cause: "network", host }),
      },
    ]);
    const { receivedKBps, neededKBps } = lines[0]?.fields ?? {};
    expect(Number(receivedKBps)).toBeGreaterThan(30);
    expect(Number(receivedKBps)).toBeLessThan(50);
    expect(Number(neededKBps)).toBeGreaterThan(170);
    expect(Number(neededKBps)).toBeLessThan(215);
    expect(await incidents()).toBe(before + 1);
    await ENDS[end]?.(guild.guildId);
    expect(await incidents()).toBe(before + 1);
    expect(lines.slice(1)).toMatchObject([
      { message: "audio underrun ended", fields: { guildId: guild.guildId, host } },
    ]);
    expect(Number(lines[1]?.fields.framesLost)).toBeGreaterThan(150);
  }),
);
