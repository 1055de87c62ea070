// Changes of an attacker's own players that come in a storm: filters, fades, resumes, userData.

import { encodeTrack, httpTrack } from "../../conformance/workbench/encoded-track.ts";
import { repeat } from "../../media-files/bytes.ts";
import { mp3Frame } from "../../media-files/containers.ts";
import { sleep } from "../../sleep.ts";
import type { Bot } from "../../test-environment/bot.ts";
import { type Attack, summary } from "../harness/attack.ts";
import type { HostileCase, HostileLayer } from "../harness/hostile-case.ts";
import { manyTimes } from "./many-times.ts";

const CHANGES = 600;
const CHANGE_INTERVAL_MS = 4;
/** One on each audio worker, and more. */
const STORMING_PLAYERS = 4;
const PAUSED_PLAYERS = 400;
/** Some two minutes. */
const SONG_FRAMES = 4600;
/** Until the last change of a storm must show. */
const LAST_CHANGE_MS_MAX = 8000;
const BODY_BYTES = 4 * 2 ** 20 - 200;

function songOf(attack: Attack): string {
  return encodeTrack(httpTrack(attack.serveFile("a.mp3", repeat(mp3Frame(), SONG_FRAMES)), { details: ["mp3"] }));
}

function guild(index: number): string {
  return String(692_000_000_000_000_000n + BigInt(index));
}

/** Players that play, each in its guild. */
async function playing(attack: Attack, bot: Bot, count: number): Promise<readonly string[]> {
  const encoded = songOf(attack);
  const guildIds = await Promise.all(Array.from({ length: count }, () => attack.join(bot)));
  await Promise.all(guildIds.map((guildId) => bot.update(guildId, { track: { encoded } })));
  return guildIds;
}

/** 600 changes of each player at fixed moments, whatever the answers. The last one has the volume 77. */
function storm(name: string, what: string, change: (index: number) => object): HostileCase {
  return {
    name,
    what,
    seconds: 6,
    arm: async (attack) => {
      const bot = await attack.session();
      const guildIds = await playing(attack, bot, STORMING_PLAYERS);
      await sleep(500);
      return async () => {
        const answers: Promise<string>[] = [];
        const startedMs = performance.now();
        for (let index = 0; index < CHANGES; index++) {
          const guildId = guildIds[index % guildIds.length]!;
          answers.push(attack.patch(bot, guildId, change(index)));
          await sleep(Math.max(0, startedMs + (index + 1) * CHANGE_INTERVAL_MS - performance.now()));
        }
        const statuses = await Promise.all(answers);
        const last = attack.patch(bot, guildIds[0]!, { volume: 77 });
        await Promise.race([last, sleep(LAST_CHANGE_MS_MAX)]);
        const { volume } = await bot.player(guildIds[0]!);
        if (volume !== 77) attack.problems.push(`the last change of a storm does not show: volume ${volume}`);
        return `PATCH: ${summary(statuses)}`;
      };
    },
  };
}

const EFFECTS = [
  { reverb: { roomSize: 0.9 } },
  { chorus: { mix: 0.6 } },
  { flanger: { mix: 0.6 } },
  { reverb: { roomSize: 0.2 }, chorus: {}, flanger: {} },
];

/** Paused players with a song each that are resumed and paused again in turn: each has to decode again. */
const resumesInTurn: HostileCase = {
  name: "resumes-in-turn",
  what: "400 paused players with an MP3 are resumed in turn, and paused again",
  seconds: 12,
  arm: async (attack) => {
    const bot = await attack.session();
    const encoded = songOf(attack);
    await manyTimes(attack, PAUSED_PLAYERS, (index) =>
      attack.patch(bot, guild(index), { track: { encoded }, paused: true }),
    );
    return async () => {
      const answers: string[] = [];
      const made = await manyTimes({ seconds: 5 }, 2 * PAUSED_PLAYERS, async (index) => {
        const guildId = guild(index % PAUSED_PLAYERS);
        answers.push(await attack.patch(bot, guildId, { paused: false }));
        await attack.patch(bot, guildId, { paused: true });
      });
      return `${made} resumes: ${summary(answers)}`;
    };
  },
};

const userData: HostileCase = {
  name: "user-data-400",
  what: "userData of 4 MiB on 400 players",
  seconds: 20,
  arm: (attack) => {
    const anyTrack = encodeTrack(httpTrack("http://127.0.0.1:9/none.mp3", { details: ["mp3"] }));
    const body = `{"track":{"encoded":"${anyTrack}","userData":{"x":"${"u".repeat(BODY_BYTES - anyTrack.length)}"}}}`;
    return async () => {
      const bot = await attack.session();
      const answers: string[] = [];
      const made = await manyTimes(attack, PAUSED_PLAYERS, async (index) => {
        answers.push(await attack.patch(bot, guild(index), body));
      });
      return `${made} players: ${summary(answers)}`;
    };
  },
};

export const storms: HostileLayer = {
  layer: "storm",
  cases: [
    storm("filter-storm", "600 changes of own filters, 4 ms apart", (index) => ({
      filters: { pluginFilters: { tonearm: EFFECTS[index % EFFECTS.length] } },
    })),
    {
      name: "fade-storm",
      what: "200 tracks that replace each other with a crossfade of 30 s",
      seconds: 6,
      arm: async (attack) => {
        const bot = await attack.session();
        const guildIds = await playing(attack, bot, STORMING_PLAYERS);
        const encoded = songOf(attack);
        const filters = { pluginFilters: { tonearm: { crossfade: { duration: 30_000 }, reverb: {} } } };
        for (const guildId of guildIds) await bot.update(guildId, { filters });
        return async () => {
          const answers: string[] = [];
          await manyTimes(attack, 200, async (index) => {
            answers.push(await attack.patch(bot, guildIds[index % guildIds.length]!, { track: { encoded } }));
          });
          return `PATCH: ${summary(answers)}`;
        };
      },
    },
    resumesInTurn,
    userData,
  ],
};
