// Pools and circuit breakers of plugins, and a key's limit to one source: what one client's links do to the links of
// others.

import { encodeTrack, httpTrack } from "../../conformance/workbench/encoded-track.ts";
import { wav } from "../../media-files/containers.ts";
import { sleep } from "../../sleep.ts";
import { type Attack, summary } from "../harness/attack.ts";
import { beside } from "../harness/beside.ts";
import type { HostileCase, HostileLayer } from "../harness/hostile-case.ts";
import { FOREIGN_VARIABLES } from "../harness/node-context.ts";
import { manyTimes } from "./many-times.ts";
import { starts } from "./starts.ts";

const FEEDS = 60;
/** More than a plugin has requests at once. */
const SLOW_LINKS = 34;
/** More than a plugin's thread is asked at once. */
const MANY_LINKS = 520;
const CLIP = "https://getyarn.io/yarn-clip/0a1b2c3d-1111-2222-3333-444455556666";
const HALL = "https://stand-in.bandcamp.com/track/hall";
/** An artist's own domain. */
const OWN_DOMAIN = "https://music.stand-in.example";

/** A track of a plugin's source, as a client can write it. */
function writtenTrack(sourceName: string, identifier: string, uri = identifier): string {
  return encodeTrack(httpTrack(identifier, { sourceName, uri, details: [] }));
}

/** Plays so many links of Bandcamp whose pages never answer, each in another player. */
async function slowLinks(client: Attack, count: number): Promise<string> {
  const bot = await client.session();
  const statuses: string[] = [];
  // Not all at the same time: strange connections of one address are bounded, and the honest client has that address.
  const made = await manyTimes(client, count, async (index) => {
    const url = `https://${client.context.strangerHost(index)}/track/slow-${index}`;
    const encoded = writtenTrack("bandcamp", url);
    const guildId = String(691_000_000_000_000_000n + BigInt(index));
    statuses.push(await client.patch(bot, guildId, { track: { encoded } }));
  });
  return `${made} links: ${summary(statuses)}`;
}

function beforeEnd(attack: Attack): Promise<void> {
  return sleep(attack.seconds * 1000 - 500);
}

/** Questions to one plugin beside links, feeds and programs of another client that never answer. */
function pool(
  name: string,
  what: string,
  parts: {
    readonly ask: (number: number) => string;
    readonly expected: string;
    readonly strike: (greedy: Attack) => Promise<string>;
  },
): HostileCase {
  return {
    name,
    what,
    node: "shared",
    seconds: 5,
    arm: (attack) => {
      const [honest, greedy] = [attack.as("honest"), attack.as("greedy")];
      attack.context.answerStrangers(() => "hang");
      const strike = async () => {
        const [answer] = await Promise.all([parts.strike(greedy), beforeEnd(attack)]);
        return answer;
      };
      return () =>
        beside(attack, { honest: (number) => honest.load(parts.ask(number)), expected: parts.expected, strike });
    },
  };
}

async function loads(client: Attack, count: number, identifierOf: (index: number) => string): Promise<string> {
  const answers = Array.from({ length: count }, (_, index) =>
    client.load(identifierOf(index)).catch((error: Error) => error.message),
  );
  return summary(await Promise.all(answers));
}

/** The strangers of a link answer 429, once for each; an honest client's links of the same kind go on. */
function breaker(
  name: string,
  what: string,
  parts: {
    /** What is played by the attacker, some times. */
    readonly hostile: (attack: Attack) => string;
    readonly honest: (honest: Attack) => Promise<(number: number) => Promise<string>>;
    readonly expected: string;
  },
): HostileCase {
  return {
    name,
    what,
    node: "shared",
    seconds: 3,
    arm: async (attack) => {
      attack.context.answerStrangers(() => ({ status: 429, headers: { "retry-after": "1800" }, text: "later" }));
      const start = await starts(attack.as("greedy"), parts.hostile(attack));
      const honest = await parts.honest(attack.as("honest"));
      const strike = async () => {
        const outcomes = [await start(), await start()];
        await sleep(1500);
        return summary(outcomes);
      };
      return () => beside(attack, { honest, expected: parts.expected, strike });
    },
  };
}

/** Another song each time: links are cached. */
function ownDomainSong({ context }: Attack, number: number): string {
  const slug = `garden-${number}`;
  context.sites.each.bandcamp.add({ kind: "track", title: slug, slug, tracks: [{ title: slug, slug, seconds: 26 }] });
  return writtenTrack("bandcamp", `${OWN_DOMAIN}/track/${slug}`);
}

/** A link of Bandcamp's own that a stranger's page behind it makes fail. */
function redirected(attack: Attack): string {
  const { context } = attack;
  const location = `https://${context.strangerHost(1)}/track/evil`;
  attack.onClose(
    context.sites.each.bandcamp.site.fail({
      at: /^single\.bandcamp\.com\/track\/evil/,
      outcome: { status: 302, headers: { location } },
    }),
  );
  return writtenTrack("bandcamp", "https://single.bandcamp.com/track/evil");
}

const getyarnLink: HostileCase = {
  name: "key-getyarn-link",
  what: "a key limited to getyarn.io plays another address as the film of a clip",
  node: "shared",
  arm: async (attack) => {
    const limited = attack.as("getyarn-only");
    const song = wav({ rateHz: 8000, data: new Uint8Array(64_000).map((_, index) => (index * 31) & 0x3f) });
    let fetches = 0;
    const url = await attack.serveRaw(
      (socket) => {
        fetches += 1;
        socket.write(`HTTP/1.1 200 OK\r\nContent-Type: audio/wav\r\nContent-Length: ${song.length}\r\n\r\n`);
        socket.end(song);
      },
      "a.wav",
      "127.0.0.2",
    );
    const hostile = await starts(limited, writtenTrack("getyarn.io", url, CLIP));
    const film = await starts(limited, await (await limited.session()).loadEncoded(CLIP));
    const strike = async () => {
      const outcomes = [await hostile(), await hostile()];
      if (fetches > 0) attack.problems.push(`the address was fetched ${fetches} times`);
      return summary(outcomes);
    };
    return () => beside(attack, { honest: film, expected: "plays", strike });
  },
};

/** The programs that plugins run see the node's language, and nothing of what belongs to other programs. */
const programEnvironment: HostileCase = {
  name: "program-environment",
  what: "a link makes yt-dlp print the names of its variables",
  node: "shared",
  arm: (attack) => async () => {
    const { ytdlp } = attack.context.sites.each;
    const answer = await attack.load("ytdl:https://videos.example/environment");
    const names = ytdlp.calls.at(-1)?.env ?? [];
    const foreign = FOREIGN_VARIABLES.filter((name) => names.includes(name));
    if (foreign.length > 0) attack.problems.push(`yt-dlp gets ${foreign.join(", ")}`);
    if (!names.includes("LANG") || !names.includes("PATH")) attack.problems.push("yt-dlp gets no LANG or no PATH");
    return `${answer}; ${names.length} variables`;
  },
};

export const sharedPlugins: HostileLayer = {
  layer: "plugin",
  cases: [
    pool("pool-slow-feeds", "60 podcast feeds that never answer", {
      ask: (number) => `podcast:https://feeds.example/show.rss?n=${number}`,
      expected: "load: playlist",
      strike: (greedy) =>
        loads(greedy, FEEDS, (index) => `podcast:https://${greedy.context.strangerHost(index)}/${index}.rss`),
    }),
    pool("pool-bandcamp-links", "34 songs of Bandcamp whose pages never answer are played", {
      ask: (number) => `${HALL}?from=${number}`,
      expected: "load: track",
      strike: (greedy) => slowLinks(greedy, SLOW_LINKS),
    }),
    pool("pool-512-links", "the same with 520 songs", {
      ask: (number) => `${HALL}?from=links-${number}`,
      expected: "load: track",
      strike: (greedy) => slowLinks(greedy, MANY_LINKS),
    }),
    breaker("breaker-retry-after-domain", "a stranger's domain answers a song of Bandcamp with 429 for half an hour", {
      hostile: ({ context }) => writtenTrack("bandcamp", `https://${context.strangerHost(0)}/track/evil`),
      honest: (honest) => starts(honest, (number) => ownDomainSong(honest, number)),
      expected: "plays",
    }),
    breaker("breaker-retry-after-redirect", "the same behind a redirect of Bandcamp's own", {
      hostile: redirected,
      honest: async (honest) => (number) => honest.load(`${HALL}?from=redirect-${number}`),
      expected: "load: track",
    }),
    getyarnLink,
    programEnvironment,
  ],
};
