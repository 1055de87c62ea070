import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { ROTATE_SCRIPT } from "../../../lab/sites/youtube/player-scripts.ts";
import { CIPHER_PASSWORD, ORIGIN_TOKEN, REFRESH_TOKEN } from "../../../lab/sites/youtube.ts";
import type { PluginLink, PluginLinkRequest } from "../../../src/bridge/plugin-messages.ts";
import { troubleWith } from "../../support/plugin-bench.ts";
import { startYoutubeBench, type YoutubeBench, type YoutubeBenchOptions } from "../../support/youtube-bench.ts";

// protocol-v4.md section 5.5: one from an old client.
const OLD_TRACK =
  "QAAApgMABFNvbmcABkFydGlzdAAAAAAAAzwgAAtkUXc0dzlXZ1hjUQABACtodHRwczovL3d3dy55b3V0dWJlLmNvbS93YXRjaD92PWRRdzR3OVdn" +
  "WGNRAQAwaHR0cHM6Ly9pLnl0aW1nLmNvbS92aS9kUXc0dzlXZ1hjUS9tcWRlZmF1bHQuanBnAQAMR0JBUkw5MzAwMTM1AAd5b3V0dWJlAAAAAAAA" +
  "Bdw=";

let open: YoutubeBench;

beforeEach(async () => {
  open = await startYoutubeBench();
  await open.scriptAnswered;
});

afterEach(() => open.close());

async function restart(options: NonNullable<YoutubeBenchOptions["options"]>): Promise<void> {
  await open.close();
  open = await startYoutubeBench({ options: (site) => ({ clientsOnly: "true", ...options(site) }) });
}

type Link = Extract<PluginLink, { readonly kind: "link" }>;

async function resolve(identifier: string, linkRequest: Partial<PluginLinkRequest> = {}): Promise<Link> {
  const [track] = await open.bench.loadTracks("youtube", identifier);
  const link = await open.bench.resolve("youtube", track?.encoded ?? "", linkRequest);
  if (link.kind !== "link") throw new Error("a reference to elsewhere");
  return link;
}

/** The status with which its first bytes are answered. */
async function statusOf({ url }: Link): Promise<number> {
  const response = await fetch(`${url}&range=0-99`);
  await response.arrayBuffer();
  return response.status;
}

const queryOf = ({ url }: Link) => new URL(url).searchParams;
const playersAsked = () => open.site.asked("player").map(({ clientName }) => clientName);

describe("a link", () => {
  test("a link is the best Opus of TV_SAMSUNG", async () => {
    await restart((site) => ({ ...site.options, clients: ["TV_SAMSUNG", "WEB"] }));
    const link = await resolve("song0000001");
    expect([queryOf(link).get("c"), queryOf(link).get("itag"), await statusOf(link)]).toEqual(["TVHTML5", "251", 200]);
    expect(open.site.asked("player").at(-1)?.request.headers["user-agent"]).toContain("Tizen 2.4.0");
  });

  test("a link of VISIONOS needs no script, and is used where there is none", async () => {
    await restart((site) => {
      site.fail({ at: /iframe_api$|embed\/$/, outcome: { text: "<!doctype html>" } });
      return site.options;
    });
    expect(queryOf(await resolve("song0000001")).get("c")).toBe("VISIONOS");
  });

  test("a link of VISIONOS is its best Opus", async () => {
    await restart((site) => ({ ...site.options, clients: ["VISIONOS"] }));
    const link = await resolve("song0000001");
    expect(queryOf(link).get("itag")).toBe("251");
    expect(link).toMatchObject({
      variant: "251/1753333181840409",
      rangeStep: { bytes: 10_485_760, by: "query" },
      headers: { "user-agent": expect.stringContaining("Safari") },
      expiresAtEpochMs: Number(queryOf(link).get("expire")) * 1000,
    });
    expect(await statusOf(link)).toBe(200);
    expect(open.site.site.requestsTo("www.youtube.com", "/iframe_api")).toEqual([]);
  });

  test("a link is found for a stored track of a client", async () => {
    const link = await open.bench.resolve("youtube", OLD_TRACK);
    expect(link).toMatchObject({ kind: "link", variant: "251/1753333181840409" });
  });

  test("a link is AAC if there is no Opus, and the plain file if there is nothing else", async () => {
    await restart((site) => ({ ...site.options, clients: ["IOS"] }));
    const link = await resolve("song0000001");
    expect(queryOf(link).get("itag")).toBe("140");
    open.site.fail({
      at: /player$/,
      outcome: ({ body, from }) => {
        const answer = JSON.stringify(
          open.site.player.answer({ body: JSON.parse(body), clientName: "IOS", authorization: "", from }),
        );
        return { text: answer.replaceAll("audio/mp4", "audio/novel") };
      },
    });
    const plain = await resolve("song0000002");
    expect(queryOf(plain).get("itag")).toBe("18");
    expect(plain.rangeStep).toBeUndefined();
  });

  test("a link of a live stream is its HLS playlist", async () => {
    await restart((site) => ({ ...site.options, clients: ["VISIONOS"] }));
    const link = await resolve("live0000001");
    expect(new URL(link.url).pathname).toContain("live.m3u8");
    expect([link.rangeStep, link.variant]).toEqual([undefined, undefined]);
    const playlist = await (await fetch(link.url)).text();
    expect(playlist).toContain("#EXTM3U");
  });

  test("a link of a live stream has its n solved, and a token if there is one, within its path", async () => {
    const pot = { token: ORIGIN_TOKEN, visitorData: "the-visitor" };
    await restart((site) => ({ ...site.options, clients: ["WEBEMBEDDED"], pot }));
    open.site.media.expectedToken = ORIGIN_TOKEN;
    const link = await resolve("live0000001");
    const response = await fetch(link.url);
    expect([response.status, await response.text()]).toEqual([200, expect.stringContaining("#EXTM3U")]);
    expect(link.expiresAtEpochMs).toBe(Number(/expire\/(\d+)/.exec(link.url)?.[1]) * 1000);
  });

  test("a link to other than YouTube's own servers is refused", async () => {
    await restart(() => ({ mediaHosts: ["googlevideo.com"] }));
    const { message } = await troubleWith(resolve("song0000001"));
    expect(message).toContain(
      "Client [VISIONOS] failed: YouTube gave a media link to a host that is not one of YouTube's",
    );
    expect(message).not.toContain("sig");
  });

  test.each([
    ["region00001", "The uploader has not made this video available in your country"],
    ["login000001", "This video requires login."],
    ["botcheck001", "This video requires login."],
    ["noreason001", "This video is unplayable."],
    ["upcoming001", "Premieres in 3 hours"],
    ["nostatus001", "No playability status block."],
  ])("a link of %s is unavailable: %s", async (id, reason) => {
    const { message } = await troubleWith(resolve(id));
    expect(message).toContain("(yts.version: 1.18.2) All clients failed to load the item.");
    expect(message).toContain(`Client [VISIONOS] failed: ${reason}`);
    expect(message).toContain("Client [WEB] failed: ");
  });

  test("a link of a video with an age gate is that of the embedded player", async () => {
    const link = await resolve("agegate0001");
    expect(queryOf(link).get("c")).toBe("WEB_EMBEDDED_PLAYER");
    expect(await statusOf(link)).toBe(200);
    const asked = open.site.asked("player").at(-1)?.body;
    expect(JSON.stringify(asked)).toContain('"encryptedHostFlags":"host-flags-of-the-day"');
    expect(asked?.context).toMatchObject({ thirdParty: { embedUrl: "https://www.reddit.com/" } });
  });

  test("a link of a video that demands a reload is requested with another visitor", async () => {
    expect(await statusOf(await resolve("reload00001"))).toBe(200);
    expect(open.site.asked("visitor_id").length).toBe(2);
  });

  test("the error of a client that offers SABR only names it", async () => {
    await restart((site) => ({ ...site.options, clients: ["WEB"] }));
    expect((await troubleWith(resolve("song0000001"))).message).toContain("is offered audio over SABR only");
  });
});

describe("a refused link", () => {
  test("a link refused because our address is barred is renewed by the same client, however often", async () => {
    const { variant, url } = await resolve("song0000001");
    const client = new URL(url).searchParams.get("c");
    for (let count = 0; count < 4; count++) {
      const link = await resolve("song0000001", { reason: "refused", status: 429, variant });
      expect(queryOf(link).get("c")).toBe(client);
    }
    expect(queryOf(await resolve("song0000002")).get("c")).toBe(client);
  });

  test("a refused link is renewed by the same client, then by another, and continues with the same format", async () => {
    await restart((site) => ({ ...site.options, clients: ["VISIONOS", "WEBEMBEDDED"] }));
    const first = await resolve("song0000001");
    open.site.expireLinks();
    expect(await statusOf(first)).toBe(403);
    const variant = first.variant;
    const second = await resolve("song0000001", { reason: "refused", status: 403, variant });
    expect([queryOf(second).get("c"), second.variant]).toEqual(["VISIONOS", variant]);
    expect(await statusOf(second)).toBe(200);
    const third = await resolve("song0000001", { reason: "refused", status: 403, variant });
    expect([queryOf(third).get("c"), third.variant]).toEqual(["WEB_EMBEDDED_PLAYER", variant]);
    expect(await statusOf(third)).toBe(200);
  });

  test("a refused link keeps its itag if the bytes have changed in the meantime", async () => {
    open.site.player.lastModified = "1";
    const link = await resolve("song0000001", { reason: "refused", variant: "250/1753333181840409" });
    expect([queryOf(link).get("itag"), link.variant]).toEqual(["250", "250/1"]);
  });

  test("a client whose links are refused repeatedly is tried last for other videos, too", async () => {
    await restart((site) => ({ ...site.options, clients: ["VISIONOS", "WEB"] }));
    await open.scriptAnswered;
    open.site.player.offers.set("WEB", "open");
    for (const id of ["song0000001", "song0000002", "song-_00003"]) {
      await resolve(id);
      await resolve(id, { reason: "refused", status: 403 });
    }
    expect(queryOf(await resolve("dQw4w9WgXcQ")).get("c")).toBe("WEB");
  });

  test("a video whose links are refused repeatedly does not change which client is tried for others", async () => {
    await restart((site) => ({ ...site.options, clients: ["VISIONOS", "WEB"] }));
    await open.scriptAnswered;
    open.site.player.offers.set("WEB", "open");
    for (let count = 0; count < 4; count++) {
      await resolve("song0000001", { reason: "expiring" });
      await resolve("song0000001", { reason: "refused", status: 403 });
    }
    expect(queryOf(await resolve("dQw4w9WgXcQ")).get("c")).toBe("VISIONOS");
  });

  test("a refused link of youtube-source's default clients is soon one of a client that plays", async () => {
    await restart((site) => ({
      ...site.options,
      clients: ["MUSIC", "ANDROID_VR", "WEB", "WEBEMBEDDED"],
      clientsOnly: "false",
    }));
    await open.scriptAnswered;
    for (const name of ["WEB", "WEB_EMBEDDED_PLAYER", "ANDROID_VR"]) open.site.player.offers.set(name, "open");
    const clients = [queryOf(await resolve("song0000001")).get("c")];
    while (clients.length <= 3) {
      const link = await resolve("song0000001", { reason: "refused", status: 403 });
      clients.push(queryOf(link).get("c"));
    }
    expect(clients).toEqual(["WEB", "TVHTML5", "TVHTML5", "VISIONOS"]);
    await resolve("song0000002");
    await resolve("song0000002", { reason: "refused", status: 403 });
    expect(queryOf(await resolve("song-_00003")).get("c")).toBe("TVHTML5");
  });

  test("a refused link is not renewed by a dead client, nor by one given up, while others are left", async () => {
    await restart((site) => ({ ...site.options, clients: ["ANDROID_VR", "VISIONOS", "IOS"] }));
    const clients = [queryOf(await resolve("song0000001")).get("c")];
    while (clients.length <= 5) {
      clients.push(queryOf(await resolve("song0000001", { reason: "refused", status: 403 })).get("c"));
    }
    expect(clients).toEqual(["VISIONOS", "VISIONOS", "IOS", "VISIONOS", "VISIONOS", "VISIONOS"]);
  });

  test("a refused link's client stays given up for its video when another player starts that", async () => {
    await restart((site) => ({ ...site.options, clients: ["VISIONOS", "IOS", "ANDROID"] }));
    const requests: readonly Partial<PluginLinkRequest>[] = [
      {},
      { reason: "refused", status: 403 },
      { reason: "refused", status: 403 },
      // The data of another player: its start is not answered from the cache.
      { userData: { player: 2 } },
      { reason: "refused", status: 403 },
    ];
    const clients: unknown[] = [];
    for (const request of requests) clients.push(queryOf(await resolve("song0000001", request)).get("c"));
    expect(clients).toEqual(["VISIONOS", "VISIONOS", "IOS", "IOS", "ANDROID"]);
  });

  test("a refused link is not answered from the cache", async () => {
    const urls = new Set([(await resolve("song0000001")).url, (await resolve("song0000001")).url]);
    expect(urls.size).toBe(1);
    urls.add((await resolve("song0000001", { reason: "expiring" })).url);
    expect(urls.size).toBe(2);
  });
});

describe("a locked link", () => {
  test("a locked link is unlocked by the player script, which is fetched once", async () => {
    await restart((site) => ({ ...site.options, clients: ["MWEB"] }));
    for (const id of ["song0000001", "song0000002", "song-_00003"]) expect(await statusOf(await resolve(id))).toBe(200);
    expect(
      open.site.site.requestsTo("www.youtube.com").filter(({ path }) => path.startsWith("/s/player/")),
    ).toHaveLength(1);
    expect(JSON.stringify(open.site.asked("player").at(-1)?.body)).toContain('"signatureTimestamp":20777');
  });

  test("a locked link goes before those of dead clients, though it has to wait for the script", async () => {
    await restart((site) => ({ ...site.options, clients: ["ANDROID_VR", "MWEB"] }));
    expect(queryOf(await resolve("song0000001")).get("c")).toBe("MWEB");
  });

  test("a locked link is unlocked by a script of another layout as well", async () => {
    await restart((site) => {
      site.script = ROTATE_SCRIPT;
      return { ...site.options, clients: ["MWEB"] };
    });
    expect(await statusOf(await resolve("song0000001"))).toBe(200);
  });

  test("a locked link uses the script of /embed/ if /iframe_api names none", async () => {
    await restart((site) => {
      site.fail({ at: /iframe_api$/, outcome: { text: "var nothing;" } });
      return { ...site.options, clients: ["MWEB"] };
    });
    expect(await statusOf(await resolve("song0000001"))).toBe(200);
  });

  test("a locked link without an available script is left to clients that need none", async () => {
    await restart((site) => {
      site.fail({ at: /iframe_api$|embed\/$/, outcome: { text: "<!doctype html>" } });
      return { ...site.options, clients: ["MWEB", "VISIONOS"] };
    });
    expect(queryOf(await resolve("song0000001")).get("c")).toBe("VISIONOS");
  });

  test("a locked link is unlocked by the operator's server, if one is set", async () => {
    const remoteCipher = { password: CIPHER_PASSWORD };
    await restart((site) => ({
      ...site.options,
      clients: ["MWEB"],
      remoteCipher: { ...remoteCipher, url: site.cipherUrl },
    }));
    expect(await statusOf(await resolve("song0000001"))).toBe(200);
    const asked = open.site.site.requestsTo("cipher.stand-in");
    expect(asked.map(({ path }) => path)).toEqual(["/get_sts", "/resolve_url"]);
    expect(asked[1]?.headers["user-agent"]).toBe("yt-source");
    expect(open.site.site.requestsTo("www.youtube.com").some(({ path }) => path.startsWith("/s/player/"))).toBe(false);
  });

  test("a locked link stays locked if the operator's server does not answer, and its password is not shown", async () => {
    await restart((site) => ({
      ...site.options,
      clients: ["MWEB"],
      remoteCipher: { url: site.cipherUrl, password: "wrong-password" },
    }));
    const { message } = await troubleWith(resolve("song0000001"));
    expect(message).toContain("answered HTTP 401");
    expect(message).not.toContain("wrong-password");
  });
});

test("a server for locked links that is down stops no client, and those without one are asked first", async () => {
  await restart((site) => ({ ...site.options, clients: ["MWEB", "VISIONOS"], remoteCipher: { url: site.cipherUrl } }));
  open.site.fail({ at: /get_sts$/, outcome: { status: 500, json: {} } });
  for (let count = 0; count < 8; count++) {
    open.site.player.offers.set("VISIONOS", "nothing");
    await troubleWith(resolve("song0000001", { reason: "expiring" }));
  }
  open.site.player.offers.set("VISIONOS", "open");
  const opened = open.bench.lines.flatMap(
    ({ message }) => /breaker opened for youtube\/([\w ]+)/.exec(message)?.[1] ?? [],
  );
  expect(opened).toEqual(["remote cipher"]);
  expect(queryOf(await resolve("song-_00003")).get("c")).toBe("VISIONOS");
  // For what the video is, and for no link.
  expect(playersAsked().slice(-2)).toEqual(["MWEB", "VISIONOS"]);
});

describe("tokens", () => {
  test("tokens of a provider are sent with the request and the link of WEB, and requested once per video", async () => {
    await restart((site) => ({ ...site.options, clients: ["WEB"], pot: { providerUrl: site.providerUrl } }));
    open.site.player.offers.set("WEB", "locked");
    open.site.media.expectedToken = ORIGIN_TOKEN;
    expect(await statusOf(await resolve("song0000001"))).toBe(200);
    expect(await statusOf(await resolve("song0000001", { reason: "expiring" }))).toBe(200);
    const asked = open.site.site.requestsTo("provider.stand-in", "/get_pot");
    expect(asked.map(({ body }) => body)).toEqual(['{"content_binding":"song0000001"}']);
    expect(open.site.asked("player").at(-1)?.body.serviceIntegrityDimensions).toEqual({ poToken: ORIGIN_TOKEN });
  });

  test("tokens of a failing provider are left out", async () => {
    await restart((site) => ({ ...site.options, clients: ["WEB"], pot: { providerUrl: site.providerUrl } }));
    open.site.player.offers.set("WEB", "locked");
    open.site.fail({ at: /get_pot$/, outcome: { status: 500, json: { error: "no browser" } } });
    expect(queryOf(await resolve("song0000001")).has("pot")).toBe(false);
  });

  test("configured tokens are sent with their visitor", async () => {
    const pot = { token: ORIGIN_TOKEN, visitorData: "the-visitor" };
    await restart((site) => ({ ...site.options, clients: ["WEB"], pot }));
    open.site.player.offers.set("WEB", "locked");
    expect(queryOf(await resolve("song0000001")).get("pot")).toBe(ORIGIN_TOKEN);
    expect(open.site.asked("player").at(-1)?.request.headers["x-goog-visitor-id"]).toBe("the-visitor");
  });

  test("tokens of a login are renewed with the application of youtube.com/tv, and sent by TV only", async () => {
    const oauth = { enabled: "true", refreshToken: REFRESH_TOKEN };
    await restart((site) => ({ ...site.options, clients: ["WEB", "TV"], oauth }));
    expect(await statusOf(await resolve("song0000001"))).toBe(200);
    expect(await statusOf(await resolve("song0000002"))).toBe(200);
    const logins = open.site
      .asked("player")
      .map(({ clientName, request }) => [clientName, request.headers.authorization]);
    expect(new Set(logins.map((pair) => pair.join(" ")))).toEqual(new Set(["WEB ", "TVHTML5 Bearer access-token-1"]));
    expect(open.site.site.requestsTo("www.youtube.com", "/o/oauth2/token")).toHaveLength(1);
  });

  test("tokens of a login are renewed once they are refused", async () => {
    const oauth = { enabled: "true", refreshToken: REFRESH_TOKEN };
    await restart((site) => ({ ...site.options, clients: ["WEB", "TV"], oauth }));
    await resolve("song0000001");
    open.site.player.accessToken = "another";
    expect(await statusOf(await resolve("song0000002"))).toBe(200);
    expect(open.site.asked("player").at(-1)?.request.headers.authorization).toBe("Bearer access-token-2");
  });

  test("tokens of a refused login are reported without being shown", async () => {
    const oauth = { enabled: "true", refreshToken: "1//not-a-good-one" };
    await restart((site) => ({ ...site.options, clients: ["WEB", "TV"], oauth }));
    const { message } = await troubleWith(resolve("song0000001"));
    expect(message).toContain("YouTube did not accept the refresh token of oauth (invalid_grant); log in again");
    expect(message).not.toContain("not-a-good-one");
  });

  test("tokens of a login are sent by TV_SAMSUNG, which plays without one that is refused", async () => {
    const login = (refreshToken: string) => ({ clients: ["TV_SAMSUNG"], oauth: { enabled: "true", refreshToken } });
    const [track] = await open.bench.loadTracks("youtube", "song0000001");
    const sent: unknown[] = [];
    for (const refreshToken of [REFRESH_TOKEN, "1//not-a-good-one"]) {
      await restart((site) => ({ ...site.options, ...login(refreshToken) }));
      await open.bench.resolve("youtube", track?.encoded ?? "");
      sent.push(open.site.asked("player").at(-1)?.request.headers.authorization);
    }
    expect(sent).toEqual(["Bearer access-token-1", undefined]);
  });

  test("tokens of a login that YouTube refuses are left out for an hour where they are not needed", async () => {
    const oauth = { enabled: "true", refreshToken: REFRESH_TOKEN };
    await restart((site) => ({ ...site.options, clients: ["TV_SAMSUNG", "MWEB"], oauth }));
    const loads = await Promise.all(["song0000001", "song0000002"].map((id) => open.bench.loadTracks("youtube", id)));
    const askedCount = playersAsked().length;
    open.site.fail({
      at: /player$/,
      outcome: (request) =>
        request.headers.authorization === undefined
          ? (open.site.answer(request) ?? { status: 404 })
          : { status: 401, json: { error: {} } },
    });
    for (const [track] of loads) await open.bench.resolve("youtube", track?.encoded ?? "");
    const asked = open.site.asked("player").slice(askedCount);
    expect(asked.map(({ clientName, request }) => [clientName, request.headers.authorization])).toEqual([
      ["TVHTML5", "Bearer access-token-1"],
      ["TVHTML5", "Bearer access-token-2"],
      ["TVHTML5", undefined],
      ["TVHTML5", undefined],
    ]);
  });

  test("tokens of a track take precedence over those", async () => {
    await restart((site) => ({ ...site.options, clients: ["WEB", "TV"] }));
    open.site.player.accessToken = "of-the-track";
    const link = await resolve("song0000001", { userData: { "oauth-token": "of-the-track" } });
    expect(await statusOf(link)).toBe(200);
    expect((await troubleWith(resolve("song0000002"))).message).toContain("plays only with a login (oauth)");
  });
});

test("playback that is switched off for a client is left to the others", async () => {
  await restart((site) => ({
    ...site.options,
    clients: ["VISIONOS", "IOS"],
    clientOptions: { VISIONOS: { playback: "false" } },
  }));
  expect(queryOf(await resolve("song0000001")).get("c")).toBe("IOS");
  expect(playersAsked()).toEqual(["VISIONOS", "IOS"]);
});
