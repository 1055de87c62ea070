// A player that should be audible and sends nothing, in a whole node: its reader hangs, its track is reopened at the
// same position, and the node reports the cause in its log and on request.

import { afterEach, beforeEach, expect, it } from "vitest";
import { countedSong, numbersFrom } from "../../../lab/media-files/counted-song.ts";
import { TEST_PASSWORD } from "../../../lab/test-environment/test-environment.ts";
import type { PlayerDiagnosisJson } from "../../../src/control/protocol/player-diagnosis-json.ts";
import { createLogger, type LogFields } from "../../../src/log/log.ts";
import { UpstreamTestEnvironment } from "../../support/upstream-test-environment.ts";

const HANGING_AUDIO = new URL("../../support/worker-scripts/hanging-audio.mjs", import.meta.url);
const SONG = countedSong({ seconds: 3, packetBytes: 1000 });
const PASSWORD = { authorization: TEST_PASSWORD };

let upstream: UpstreamTestEnvironment;
let lines: { readonly message: string; readonly fields: LogFields }[];

beforeEach(async () => {
  lines = [];
  upstream = await UpstreamTestEnvironment.start({
    files: { "song.ogg": SONG },
    mediaEntry: HANGING_AUDIO,
    config: { METRICS_PROMETHEUS_ENABLED: "true", TONEARM_WORKERS_COUNT: "1" },
    logger: createLogger((_level, message, fields) => lines.push({ message, fields })),
  });
});
afterEach(() => upstream.close());

async function ask(path: string): Promise<string> {
  return (await fetch(`${upstream.env.url}${path}`, { headers: PASSWORD })).text();
}

async function diagnose(guildId: string): Promise<PlayerDiagnosisJson> {
  const [player] = JSON.parse(await ask(`/v4/tonearm/players/${guildId}`));
  return player;
}

/** The incident in which the track was reopened. */
function repaired({ incidents }: PlayerDiagnosisJson): PlayerDiagnosisJson["incidents"][number] | undefined {
  return incidents.find(({ repair }) => repair === "reopen");
}

it("a player whose reader hangs resumes at its position; the client gets no event, the operator a report", async () => {
  const guild = await upstream.enterGuild();
  await guild.play(await upstream.load("song.ogg"));
  expect(await guild.ended()).toBe("finished");
  await guild.untilSilent();
  expect(guild.numbers).toEqual(numbersFrom(0, 150));
  expect(guild.eventTypes).toEqual(["TrackStartEvent", "TrackEndEvent"]);

  // The report follows half a second later.
  const isOver = async () => repaired(await diagnose(guild.guildId))?.isOver;
  await expect.poll(isOver).toBe(true);
  const player = await diagnose(guild.guildId);
  expect(player.repairs).toMatchObject({ reopen: 1, rejoin: 0, last: { kind: "reopen", cause: "inputStarved" } });
  expect(repaired(player)?.cause).toBe("inputStarved");
  expect(repaired(player)?.length).toBeGreaterThan(4000);
  expect(player).toMatchObject({
    guildId: guild.guildId,
    track: null,
    audio: null,
    renderWorker: null,
    worker: { index: 0 },
    voice: { state: "live", gate: "send", dave: { version: 0, state: "plain" } },
  });
  expect(player.age).toBeLessThan(10_000);

  const metrics = await ask("/metrics");
  expect(metrics).toContain('tonearm_repairs_total{kind="reopen"} 1\n');
  expect(metrics).toMatch(/^tonearm_frames_lost_total\{cause="inputStarved"\} [1-9]\d+$/m);
  expect(metrics).toMatch(/^tonearm_incidents_total\{cause="inputStarved"\} [1-9]$/m);
  const received = lines.map(({ message }) => message);
  expect(received).toContain("player sends no audio although it should: reopening its track");
  expect(received).toContainEqual(expect.stringMatching(/^audio underrun that does not end/));
  expect(received).toContain("audio underrun ended");
}, 60_000);
