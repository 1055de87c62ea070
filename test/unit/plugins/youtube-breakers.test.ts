import { readFileSync } from "node:fs";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { isBotCheck } from "../../../plugins/youtube/bot-check.ts";
import { troubleWith } from "../../support/plugin-bench.ts";
import { startYoutubeBench, type YoutubeBench, type YoutubeBenchOptions } from "../../support/youtube-bench.ts";

const BOT_CHECK = JSON.parse(
  readFileSync(new URL("../../fixtures/sites/youtube-bot-check.json", import.meta.url), "utf8"),
) as { readonly playabilityStatus: object };
const REMEDY =
  "YouTube takes this node's address for a bot's. What helps: a login (plugins.youtube.oauth), another address " +
  "(tonearm.routePlanner or plugins.youtube.proxy), or a PO token (plugins.youtube.pot).";
const MIX = "https://www.youtube.com/playlist?list=RDdQw4w9WgXcQ";

let open: YoutubeBench;

beforeEach(async () => {
  open = await startYoutubeBench();
  await open.scriptAnswered;
});

afterEach(() => open.close());

async function restart(options: NonNullable<YoutubeBenchOptions["options"]>): Promise<void> {
  await open.close();
  open = await startYoutubeBench({ options });
}

const load = (identifier: string) => open.bench.load("youtube", identifier);
const clientsAsked = (endpoint: string) => open.site.asked(endpoint).map(({ clientName }) => clientName);
/** Those that opened and did not close, by its log. */
const openBreakers = () => {
  const states = open.bench.lines.flatMap(({ message }) => {
    const [, state = "", name = ""] = /^circuit breaker (opened|closed) for youtube\/([\w ]+)/.exec(message) ?? [];
    return name === "" ? [] : [[name, state] as const];
  });
  return [...new Map(states)].filter(([, state]) => state === "opened").map(([name]) => name);
};
const NOT_FOUND = { error: { code: 404, message: "Requested entity was not found.", status: "NOT_FOUND" } };
const numberedVideo = (index: number) => `n${String(index).padStart(10, "0")}`;

async function loadInVain(identifier: string, times: number): Promise<void> {
  for (let count = 0; count < times; count++) await troubleWith(load(identifier));
}

describe("an address that YouTube takes for a bot's", () => {
  test("an address taken for a bot's still searches and loads playlists and mixes, with a request each", async () => {
    open.site.fail({ at: /player$/, outcome: { json: BOT_CHECK } });
    for (let index = 0; index < 5; index++) await troubleWith(load(numberedVideo(index)));
    expect(openBreakers()).toEqual(["VISIONOS player", "WEB player", "WEBEMBEDDED player"]);
    const { length: askedCount } = open.site.asked("player");
    await troubleWith(load("song0000001"));
    expect(open.site.asked("player")).toHaveLength(askedCount);
    expect(await load("ytsearch:song")).toMatchObject({ kind: "search" });
    expect(await load("ytmsearch:song")).toMatchObject({ kind: "search" });
    expect(await load("PLsongs")).toMatchObject({ kind: "playlist" });
    expect(await load(MIX)).toMatchObject({ kind: "playlist" });
    expect(["search", "browse", "next"].map(clientsAsked)).toEqual([["WEB", "WEB_REMIX"], ["WEB"], ["WEB"]]);
  });

  test("an address taken for a bot's is told what helps, once, also while the circuit breakers are open", async () => {
    const [track] = await open.bench.loadTracks("youtube", "song0000001");
    open.site.fail({ at: /player$/, outcome: { json: BOT_CHECK } });
    const { message } = await troubleWith(open.bench.resolve("youtube", track?.encoded ?? ""));
    const clients = ["TV_SAMSUNG", "VISIONOS", "WEB", "WEBEMBEDDED"].map(
      (name) => `Client [${name}] failed: This video requires login.`,
    );
    expect(message.split("\n\n").slice(1)).toEqual([...clients, REMEDY]);
    await loadInVain("song0000002", 5);
    const again = (await troubleWith(load("song0000002"))).message;
    expect(again).toContain("last error: This video requires login.");
    expect(again.split(REMEDY)).toHaveLength(2);
    expect(
      open.bench.lines.find(({ message }) => message.includes("opened for youtube/VISIONOS player")),
    ).toMatchObject({
      fields: { reason: `This video requires login. ${REMEDY}` },
    });
  });

  test("an address taken for a bot's by one client plays through the next", async () => {
    open.site.fail({
      at: /player$/,
      outcome: (request) =>
        request.body.includes("VISIONOS") ? { json: BOT_CHECK } : (open.site.answer(request) ?? { status: 404 }),
    });
    for (const id of ["song0000001", "song0000002", "song-_00003", "dQw4w9WgXcQ", "live0000001"]) {
      expect(await load(id)).toMatchObject({ kind: "track" });
    }
    expect(openBreakers()).toEqual(["VISIONOS player"]);
    await load("region00001");
    expect(clientsAsked("player").slice(-3)).toEqual(["VISIONOS", "WEB", "WEB"]);
  });
});

const withStatus = (block: object, more: object = {}) => ({
  ...more,
  playabilityStatus: { status: "LOGIN_REQUIRED", ...block },
});
const DETAILS = { videoDetails: { videoId: "song0000001", title: "Song" } };
const HELP = "https://support.google.com/youtube/answer/3037019#check-that-youre-signed-into-youtube";

describe("a bot check", () => {
  test.each([
    ["the recorded answer", BOT_CHECK],
    ["another apostrophe", withStatus({ reason: "Sign in to confirm you're not a bot" }, DETAILS)],
    ["another language", withStatus({ reason: "Melde dich an, damit wir wissen, dass du kein Bot bist" })],
    [
      "another language with the link to its help page",
      withStatus(
        {
          reason: "Inicia sesión",
          errorScreen: { playerErrorMessageRenderer: { subreason: { runs: [{ url: HELP }] } } },
        },
        DETAILS,
      ),
    ],
    ["a captcha", withStatus({ errorScreen: { playerCaptchaViewModel: {} } }, DETAILS)],
    [
      "the texts of the interstitial",
      withStatus({
        errorScreen: {
          playerInterstitialRenderer: {
            content: { interstitialViewModel: { title: { content: "Sign in to confirm you’re not a bot" } } },
          },
        },
      }),
    ],
  ])("a bot check is recognised: %s", (_, answer) => {
    expect(isBotCheck(answer)).toBe(true);
  });

  test.each([
    ["a private video", withStatus({ reason: "This video is private. Sign in if you may see it." })],
    ["a private video in its messages", withStatus({ messages: ["Dieses Video ist privat."], errorScreen: {} })],
    ["an age gate", withStatus({ reason: "Sign in to confirm your age", desktopLegacyAgeGateReason: 1 }, DETAILS)],
    ["a members' video", withStatus({ reason: "Join this channel" }, DETAILS)],
    ["no reason", withStatus({})],
    ["another status", { playabilityStatus: { status: "ERROR", reason: "This video is unavailable" } }],
    ["nothing", undefined],
  ])("a bot check is not taken for one: %s", (_, answer) => {
    expect(isBotCheck(answer)).toBe(false);
  });
});

describe("circuit breakers", () => {
  test.each(["private0001", "removed0001", "unknown0001"])(
    "a breaker stays closed for videos that are unavailable themselves: %s",
    async (id) => {
      await loadInVain(id, 8);
      expect(openBreakers()).toEqual([]);
    },
  );

  test.each(["agegate0001", "region00001", "login000001", "upcoming001"])(
    "a breaker stays closed for videos that cannot be played here: %s",
    async (id) => {
      const [track] = await open.bench.loadTracks("youtube", id);
      await restart((site) => ({ ...site.options, clients: ["VISIONOS"] }));
      for (let count = 0; count < 8; count++) {
        await troubleWith(open.bench.resolve("youtube", track?.encoded ?? ""));
      }
      expect(openBreakers()).toEqual([]);
      expect(open.site.asked("player")).toHaveLength(8);
    },
  );

  test("a breaker stays closed for playlists without tracks", async () => {
    await loadInVain("PLempty", 8);
    await loadInVain("PLnowhere", 8);
    expect(openBreakers()).toEqual([]);
  });

  test.each([
    ["search", "ytsearch:song", ["VISIONOS search"]],
    ["browse", "PLsongs", ["VISIONOS browse"]],
    ["next", MIX, ["VISIONOS next"]],
  ])("a breaker of %s does not stop the other endpoints", async (endpoint, identifier, opened) => {
    await restart((site) => ({ ...site.options, clients: ["VISIONOS"] }));
    open.site.fail({ at: new RegExp(`${endpoint}$`), outcome: { status: 404, json: {} } });
    await loadInVain(identifier, 8);
    expect(openBreakers()).toEqual(opened);
    for (const other of ["ytsearch:song", "PLsongs", MIX, "song0000001"]) {
      if (other !== identifier) expect(await load(other)).toBeDefined();
    }
  });

  test.each([
    ["browse", "PLmade-up"],
    ["next", MIX],
  ])("a breaker of %s stays closed for lists that do not exist", async (endpoint, identifier) => {
    open.site.fail({ at: new RegExp(`${endpoint}$`), outcome: { status: 404, json: NOT_FOUND } });
    await loadInVain(identifier, 8);
    expect(openBreakers()).toEqual([]);
  });

  test.each([
    ["player", "song0000001", { status: 404, json: NOT_FOUND }],
    ["search", "ytsearch:song", { status: 404, json: NOT_FOUND }],
    ["player", "song0000001", { status: 401, json: {} }],
    ["browse", "PLsongs", { status: 401, json: {} }],
  ])("a breaker of %s opens for a client that is refused, for %s: %o", async (endpoint, identifier, outcome) => {
    await restart((site) => ({ ...site.options, clients: ["VISIONOS"] }));
    open.site.fail({ at: new RegExp(`${endpoint}$`), outcome });
    await loadInVain(identifier, 8);
    expect(openBreakers()).toEqual([`VISIONOS ${endpoint}`]);
  });

  test("a breaker of refused videos stops neither searches nor playlists nor mixes", async () => {
    open.site.fail({ at: /player$/, outcome: { status: 403, text: "no" } });
    await loadInVain("song0000001", 8);
    expect(openBreakers()).toEqual(["VISIONOS player", "WEB player", "WEBEMBEDDED player"]);
    for (const other of ["ytsearch:song", "PLsongs", MIX]) expect(await load(other)).toBeDefined();
  });

  test("a breaker takes what a request needs from elsewhere for no answer of the client", async () => {
    await restart((site) => ({ clients: ["MWEB"], clientsOnly: "true", remoteCipher: { url: site.cipherUrl } }));
    const [track] = await open.bench.loadTracks("youtube", "song0000001");
    open.site.fail({ at: /get_sts$/, outcome: { status: 500, json: {} } });
    open.site.fail({ at: /player$/, outcome: { status: 403, text: "no" } });
    await loadInVain("song0000002", 4);
    await troubleWith(open.bench.resolve("youtube", track?.encoded ?? ""));
    expect(openBreakers()).toEqual([]);
    await loadInVain("song0000002", 1);
    expect(openBreakers()).toEqual(["MWEB player"]);
  });

  test("breakers of as many clients as there may be are within the bound of a plugin", async () => {
    const names = Array.from({ length: 30 }, (_, index) => `NEW_${index}`);
    const identity = { clientName: "N", clientNumber: "9", clientVersion: "1" };
    await restart(() => ({
      clients: names,
      clientIdentities: Object.fromEntries(names.map((name) => [name, identity])),
    }));
    open.site.fail({ at: /(player|search|browse|next)$/, outcome: { status: 404, json: {} } });
    for (const identifier of ["song0000001", "ytsearch:song", "PLsongs", MIX]) {
      const { message } = await troubleWith(load(identifier));
      expect(message).toContain("Client [NEW_13] failed: Invalid status code");
    }
  });
});
