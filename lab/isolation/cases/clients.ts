// Clients with the password that send too much, too large or too deep: over REST, as sessions, as players.

import { encodeTrack, httpTrack } from "../../conformance/workbench/encoded-track.ts";
import { wav } from "../../media-files/containers.ts";
import { sleep } from "../../sleep.ts";
import type { Bot } from "../../test-environment/bot.ts";
import { type Attack, summary } from "../harness/attack.ts";
import type { HostileCase, HostileLayer } from "../harness/hostile-case.ts";

const BODY_BYTES_MAX = 4 * 2 ** 20 - 100;
const GUILD = "680000000000000001";
/** Concurrent requests. */
const WIDTH = 32;

/** The start, the piece as often as fits into a body of 4 MiB, the end. */
function filled(start: string, piece: string, end: string): string {
  const count = Math.floor((BODY_BYTES_MAX - start.length - end.length) / (piece.length + 1));
  return `${start}${`${piece},`.repeat(count - 1)}${piece}${end}`;
}

/** PATCH requests of an attacker's player with a raw body, several of them at once. */
function patches(
  name: string,
  what: string,
  body: () => string,
  { times = 3, query = "", ...options }: Partial<HostileCase> & { times?: number; query?: string } = {},
): HostileCase {
  return {
    name,
    what,
    ...options,
    arm: (attack) => {
      const text = body();
      return async () => {
        const bot = await attack.session();
        const answers = Array.from({ length: times }, () => attack.patch(bot, GUILD, text, query));
        return `PATCH: ${(await Promise.all(answers)).join(", ")}`;
      };
    },
  };
}

function posts(
  name: string,
  what: string,
  path: string,
  body: () => string,
  options: Partial<HostileCase> = {},
): HostileCase {
  return {
    name,
    what,
    ...options,
    arm: (attack) => {
      const text = body();
      return async () => {
        const answers = Array.from({ length: 3 }, () => attack.answerTo("POST", path, text));
        return `POST: ${(await Promise.all(answers)).join(", ")}`;
      };
    },
  };
}

/** Runs `count` requests, some at a time, until the time is over. */
async function manyTimes(attack: Attack, count: number, work: (index: number) => Promise<unknown>): Promise<number> {
  const endsAtMs = performance.now() + attack.seconds * 1000;
  let next = 0;
  const runNext = async (): Promise<void> => {
    while (next < count && performance.now() < endsAtMs) await work(next++);
  };
  await Promise.all(Array.from({ length: WIDTH }, runNext));
  return next;
}

function guild(index: number): string {
  return String(680_000_000_000_000_000n + BigInt(index));
}

/** The players of an ended session must end, however many there are: the last ones play. */
const crowdedSession: HostileCase = {
  name: "crowded-session-ends",
  what: "a session of 4,200 players ends while the last two of them play",
  seconds: 20,
  arm: (attack) => {
    const url = attack.serveFile(
      "a.wav",
      wav({ rateHz: 48_000, data: new Uint8Array(30_000_000).map((_, index) => (index * 31) & 0x3f) }),
    );
    return async () => {
      const bot = await attack.openSession();
      const made = await manyTimes(attack, 4200, (index) => attack.patch(bot, guild(index), { volume: 50 }));
      const guildIds = [await attack.join(bot), await attack.join(bot)];
      const encoded = encodeTrack(httpTrack(url, { details: ["wav"] }));
      for (const guildId of guildIds) await bot.update(guildId, { track: { encoded } });
      await sleep(1000);
      bot.close();
      await sleep(1500);
      const before = await Promise.all(guildIds.map((guildId) => attack.audioPackets(guildId)));
      await sleep(1000);
      const after = await Promise.all(guildIds.map((guildId) => attack.audioPackets(guildId)));
      if (after.some((count, index) => count > (before[index] ?? 0)))
        attack.problems.push("players play on after the end of their session");
      return `${made} players, the last ones have sent ${after.join(" and ")} packets`;
    };
  },
};

async function playersWith(attack: Attack, bot: Bot, count: number, body: unknown): Promise<string> {
  const statuses: string[] = [];
  const made = await manyTimes(attack, count, async (index) => {
    statuses.push(await attack.patch(bot, guild(index), body));
  });
  return `${made} players: ${summary(statuses)}`;
}

function crowds(
  name: string,
  what: string,
  count: number,
  body: (attack: Attack) => unknown,
  options: Partial<HostileCase> = {},
): HostileCase {
  return {
    name,
    what,
    ...options,
    arm: (attack) => {
      const prepared = body(attack);
      const text = typeof prepared === "string" ? prepared : JSON.stringify(prepared);
      return async () => playersWith(attack, await attack.session(), count, text);
    },
  };
}

const anyTrack = encodeTrack(httpTrack("http://127.0.0.1:9/none.mp3", { details: ["mp3"] }));

export const clients: HostileLayer = {
  layer: "client",
  cases: [
    patches(
      "equalizer-4-mib",
      "filters with an equalizer of a million empty bands",
      () => filled('{"filters":{"equalizer":[', "{}", "]}}"),
      { isQuick: true },
    ),
    patches("equalizer-trace", "the same with ?trace=true", () => filled('{"filters":{"equalizer":[', "{}", "]}}"), {
      query: "?trace=true",
    }),
    patches("filters-unknown", "4 MiB of unknown filters", () => {
      let index = 0;
      return filled('{"filters":{', '"f":1', "}}")
        .replaceAll('"f"', () => `"f${(index++).toString(36)}"`)
        .slice(0, BODY_BYTES_MAX);
    }),
    patches("digits", "a volume of 4 million digits", () => `{"volume":${"9".repeat(BODY_BYTES_MAX - 20)}}`),
    patches("digits-text", "the same as text", () => `{"volume":"${"9".repeat(BODY_BYTES_MAX - 20)}"}`),
    patches(
      "digits-fraction",
      "a position of 4 million digits",
      () => `{"position":0.${"3".repeat(BODY_BYTES_MAX - 20)}}`,
    ),
    patches(
      "infinite",
      "1e400 for everything that is a number",
      () => '{"volume":1e400,"position":1e400,"endTime":-1e400,"filters":{"volume":1e400,"timescale":{"speed":1e400}}}',
      { times: 1 },
    ),
    patches(
      "deep",
      "JSON nested a million deep",
      () => `{"track":{"userData":${"[".repeat(1_000_000)}${"]".repeat(1_000_000)}}}`,
    ),
    patches(
      "prototype",
      "__proto__ and constructor everywhere",
      () =>
        `{"__proto__":{"volume":1},"constructor":{"prototype":{"paused":true}},"filters":{"__proto__":{"volume":3}},"track":{"encoded":"${anyTrack}","userData":{"__proto__":{"x":1}}}}`,
    ),
    patches("same-key", "the same member a million times", () => filled("{", '"volume":1', "}")),
    patches(
      "identifier-4-mib",
      "an identifier of 4 MiB",
      () => `{"track":{"identifier":"http://127.0.0.1:9/${"a".repeat(BODY_BYTES_MAX - 60)}"}}`,
    ),
    patches("encoded-4-mib", "an encoded track of 4 MiB", () => `{"track":{"encoded":"${"QAAA".repeat(1_048_000)}"}}`),
    patches(
      "endpoint-4-mib",
      "a voice endpoint of 4 MiB",
      () => `{"voice":{"token":"t","sessionId":"s","channelId":"1","endpoint":"${"a.".repeat(2_000_000)}"}}`,
    ),
    posts("decode-tracks-ones", "decodetracks of two million ones", "/v4/decodetracks", () => filled("[", "1", "]"), {
      isQuick: true,
    }),
    posts("decode-tracks-trace", "the same with ?trace=true", "/v4/decodetracks?trace=true", () =>
      filled("[", "1", "]"),
    ),
    posts("decode-tracks-good", "decodetracks of 4 MiB of good tracks", "/v4/decodetracks", () =>
      filled("[", JSON.stringify(anyTrack), "]"),
    ),
    posts("decode-tracks-arrays", "decodetracks of two million empty arrays", "/v4/decodetracks", () =>
      filled("[", "[]", "]"),
    ),
    posts(
      "decode-tracks-text",
      "decodetracks of 4 MiB of one text",
      "/v4/decodetracks",
      () => `["${"A".repeat(BODY_BYTES_MAX - 10)}"]`,
    ),
    crowdedSession,
    crowds(
      "user-data",
      "userData of 4 MiB on 60 players",
      60,
      () => `{"track":{"encoded":"${anyTrack}","userData":{"x":"${"u".repeat(4_000_000)}"}},"paused":true}`,
      { seconds: 10 },
    ),
    crowds(
      "user-data-400",
      "userData of 4 MiB, one letter of two bytes, on 400 players",
      400,
      () => `{"track":{"encoded":"${anyTrack}","userData":{"x":"${"u".repeat(4_000_000)}€"}},"paused":true}`,
      { seconds: 20 },
    ),
    crowds(
      "user-data-deep",
      "userData nested 198 deep with a large number in the middle",
      50,
      () =>
        `{"track":{"encoded":"${anyTrack}","userData":${'{"a":'.repeat(198)}12345678901234567890${"}".repeat(198)}},"paused":true}`,
    ),
    crowds("empty-players", "3,000 players that do nothing", 3000, () => ({ paused: true })),
    crowds("reverb-players", "400 players with every expensive filter, and a song that cannot be reached", 400, () => ({
      track: { encoded: anyTrack },
      filters: { timescale: { speed: 1.7 }, pluginFilters: { tonearm: { reverb: {}, chorus: {}, loudness: {} } } },
    })),
    {
      name: "transcoding-crowd",
      what: "30 players that decode, resample, filter and encode",
      arm: (attack) => {
        const url = attack.serveFile(
          "a.wav",
          wav({ rateHz: 44_100, data: new Uint8Array(8_000_000).map((_, index) => (index * 31) & 0x3f) }),
        );
        return () =>
          attack.play(url, {
            players: 30,
            body: { filters: { timescale: { speed: 1.5, pitch: 0.8 }, equalizer: [{ band: 1, gain: 0.2 }] } },
          });
      },
    },
    {
      name: "load-flood",
      what: "loads without a result, 32 at a time",
      arm: (attack) => async () => {
        const path = "/v4/loadtracks?identifier=http%3A%2F%2F127.0.0.1%3A9%2Fx.mp3";
        return `${await manyTimes(attack, 100_000, () => attack.answerTo("GET", path))} loads`;
      },
    },
    {
      name: "filter-flood",
      what: "filters changed as fast as possible",
      arm: (attack) => async () => {
        const bot = await attack.session();
        const guildId = await attack.join(bot);
        const change = (index: number) =>
          attack.patch(bot, guildId, { filters: { timescale: { speed: 1 + (index % 10) / 10 } } });
        return `${await manyTimes(attack, 100_000, change)} changes`;
      },
    },
    {
      name: "replace-flood",
      what: "a track replaced by another as fast as possible",
      arm: (attack) => {
        const encoded = encodeTrack(
          httpTrack(attack.serveFile("a.wav", wav({ rateHz: 999, data: new Uint8Array(9999) })), { details: ["wav"] }),
        );
        return async () => {
          const bot = await attack.session();
          const guildId = await attack.join(bot);
          return `${await manyTimes(attack, 20_000, () => attack.patch(bot, guildId, { track: { encoded } }))} tracks`;
        };
      },
    },
  ],
};
