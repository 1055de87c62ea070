// Workloads in which many things change at once while others play: starts, seeks, voice server moves.

import { quantile } from "../../report/statistics.ts";
import { sleep } from "../../sleep.ts";
import type { Crowd } from "../crowd.ts";
import { monotonicMs } from "../world.ts";
import type { Figures } from "./figures.ts";
import { fillingWindow, paced, type Workload, type WorkloadScene } from "./workload.ts";

const SONG = "song.webm";
/** Players that play next to the starting ones: what they lose is caused by the starts. */
const BYSTANDERS = 20;
const SECOND_MS = 1000;
/** Time between two starts that must not affect each other. */
const SINGLE_START_MS = 200;
/** Every player seeks this often. */
const SEEK_SECONDS = 2;
/** All targets are within the song, with enough left after them for the longest window. */
const SEEK_FROM_MS = 1000;
const SEEK_SPAN_MS = 20_000;
/** Until a new voice connection has completed its handshake. */
const VOICE_SETTLE_MS = 1000;

/** A track for players that are already in voice, one after the other. */
export const firstPacket: Workload = {
  name: "first-packet",
  detail: "PATCH track to the first audio, already in voice, one at a time",
  players: 20,
  isSteady: false,
  async prepare({ crowd, players, seconds }) {
    const guildIds = crowd.newGuilds(players);
    const tracks = new Map<string, object>();
    await crowd.inGroups(guildIds, async (guildId) => {
      tracks.set(guildId, { encoded: await crowd.load(`${SONG}?${guildId}`) });
      await crowd.update(guildId, { voice: await crowd.issueVoice(guildId) });
    });
    await sleep(VOICE_SETTLE_MS);
    return () =>
      fillingWindow(seconds, () =>
        measureFirstAudio(crowd, guildIds, players * SINGLE_START_MS, async (guildId, begin) => {
          begin();
          await crowd.update(guildId, { track: tracks.get(guildId) });
        }),
      );
  },
};

/** Voice and track in one PATCH per player, all within a second, next to players that already play. */
export const starts: Workload = {
  name: "starts",
  detail: `all start within one second, voice and track in one PATCH, next to ${BYSTANDERS} that play`,
  players: 200,
  isSteady: false,
  prepare: (scene) => prepareStarts(scene, BYSTANDERS),
};

/** The same on a node that has played nothing yet, as after its restart. */
export const coldStarts: Workload = {
  name: "cold-starts",
  detail: "all start within one second, voice and track in one PATCH, on a node that has played nothing yet",
  players: 200,
  isFresh: true,
  isSteady: false,
  prepare: (scene) => prepareStarts(scene, 0),
};

async function prepareStarts({ crowd, players, seconds }: WorkloadScene, bystanders: number) {
  if (bystanders > 0) await crowd.play(SONG, bystanders);
  const guildIds = crowd.newGuilds(players);
  const updates = new Map<string, object>();
  await crowd.inGroups(guildIds, async (guildId) => {
    // A different track in each, as equal ones that start together are read once.
    const track = { encoded: await crowd.load(`${SONG}?${guildId}`) };
    updates.set(guildId, { voice: await crowd.issueVoice(guildId), track });
  });
  return () =>
    fillingWindow(seconds, () =>
      measureFirstAudio(crowd, guildIds, SECOND_MS, async (guildId, begin) => {
        begin();
        await crowd.update(guildId, updates.get(guildId) ?? {});
      }),
    );
}

/** A new voice server for all players, as after an outage: the old connections are closed within one second. */
export const reconnects: Workload = {
  name: "reconnects",
  detail: "the voice servers of all players move within one second",
  players: 50,
  isSteady: false,
  async prepare({ crowd, players, seconds }) {
    const guildIds = await crowd.play(SONG, players);
    return () =>
      fillingWindow(seconds, () =>
        measureFirstAudio(crowd, guildIds, SECOND_MS, async (guildId, begin) => {
          begin();
          await crowd.update(guildId, { voice: await crowd.world.moveVoice(guildId) });
        }),
      );
  },
};

/** All players seek again and again. */
export const seeks: Workload = {
  name: "seeks",
  detail: `every player seeks every ${SEEK_SECONDS} s`,
  players: 50,
  isSteady: false,
  async prepare({ crowd, players, seconds }) {
    const guildIds = await crowd.play(SONG, players);
    const count = Math.max(1, Math.round((players * seconds) / SEEK_SECONDS));
    return () =>
      fillingWindow(seconds, async () => {
        const answersMs: number[] = [];
        await paced(count, seconds * 1000, async (index) => {
          const startedMs = performance.now();
          const position = SEEK_FROM_MS + ((index * 7919) % SEEK_SPAN_MS);
          await crowd.update(guildIds[index % guildIds.length] ?? "", { position });
          answersMs.push(performance.now() - startedMs);
        });
        return { answerMsP50: quantile(answersMs, 0.5), answerMsP99: quantile(answersMs, 0.99) };
      });
  },
};

/** How long each player took from `begin()` to its first audio, with all requests sent within `spanMs`. */
async function measureFirstAudio(
  crowd: Crowd,
  guildIds: readonly string[],
  spanMs: number,
  start: (guildId: string, begin: () => void) => Promise<void>,
): Promise<Figures> {
  const begunAtMs: number[] = [];
  await paced(guildIds.length, spanMs, (index) =>
    start(guildIds[index] ?? "", () => {
      begunAtMs[index] = monotonicMs();
    }),
  );
  const audibleAtMs = await untilNobodyIsNew(crowd, guildIds);
  const tookMs = audibleAtMs.flatMap((atMs, index) => (atMs === undefined ? [] : [atMs - (begunAtMs[index] ?? atMs)]));
  const all = { neverAudible: guildIds.length - tookMs.length };
  if (tookMs.length === 0) return all;
  return {
    ...all,
    firstAudioMsP50: quantile(tookMs, 0.5),
    firstAudioMsP99: quantile(tookMs, 0.99),
    firstAudioMsMax: quantile(tookMs, 1),
  };
}

/** Players that send no audio within some seconds are given up. */
async function untilNobodyIsNew(crowd: Crowd, guildIds: readonly string[]) {
  const deadlineMs = performance.now() + 5 * SECOND_MS;
  let audibleAtMs = await crowd.audibleAtMs(guildIds);
  while (audibleAtMs.includes(undefined) && performance.now() < deadlineMs) {
    await sleep(SINGLE_START_MS);
    audibleAtMs = await crowd.audibleAtMs(guildIds);
  }
  return audibleAtMs;
}
