import { afterEach, describe, expect, test } from "vitest";
import { CLIENTS } from "../../../plugins/youtube/clients.ts";
import { startYoutubeBench, type YoutubeBench } from "../../support/youtube-bench.ts";

const CHROME =
  /^Mozilla\/5\.0 \(Windows NT 10\.0; Win64; x64\) AppleWebKit\/537\.36 .* Chrome\/\d+\.0\.0\.0 Safari\/537\.36$/;
const SAFARI_15 =
  "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/15.5 " +
  "Safari/605.1.15,gzip(gfe)";
const SAFARI_26 =
  "Mozilla/5.0 (Macintosh; Intel Mac OS X 15_7_3) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/26.0 " +
  "Safari/605.1.15";
const IPAD = /^Mozilla\/5\.0 \(iPad; CPU OS 16_7_10 like Mac OS X\)/;
const TIZEN =
  "Mozilla/5.0 (SMART-TV; Linux; Tizen 2.4.0) AppleWebKit/538.1 (KHTML, like Gecko) Version/2.4.0 TV Safari/538.1";
const COBALT = "Mozilla/5.0 (ChromiumStylePlatform) Cobalt/Version";

interface Expected {
  readonly host: string;
  /** Its name, number and version. */
  readonly client: readonly [name: string, number: number, version: string];
  readonly userAgent: string | RegExp;
  /** Of the context, besides name, version, language, country and visitor. */
  readonly context?: object;
  readonly params?: string;
  readonly embedUrl?: string;
  readonly hasTimestamp?: boolean;
}

const WEB_HOST = "www.youtube.com";
const APP_HOST = "youtubei.googleapis.com";
const APPLE = { deviceMake: "Apple" };

/** As of October 2026: yt-dlp 2026.10.26, and youtube-source 1.18.2 for `params`. */
const EXPECTED: Readonly<Record<string, Expected>> = {
  VISIONOS: {
    host: APP_HOST,
    client: ["VISIONOS", 101, "1.02"],
    userAgent: SAFARI_26,
    context: {
      ...APPLE,
      deviceModel: "RealityDevice17,1",
      osName: "visionOS",
      osVersion: "26.5.23O471",
      userAgent: SAFARI_26,
    },
  },
  TV_SAMSUNG: {
    host: WEB_HOST,
    client: ["TVHTML5", 7, "5.20260707"],
    userAgent: TIZEN,
    context: { deviceMake: "Samsung", deviceModel: "UKS9800", osName: "Tizen", osVersion: "2.4.0", userAgent: TIZEN },
    hasTimestamp: true,
  },
  WEB: {
    host: WEB_HOST,
    client: ["WEB", 1, "2.20260708.00.00"],
    userAgent: CHROME,
    params: "2AMB",
    hasTimestamp: true,
  },
  WEBEMBEDDED: {
    host: WEB_HOST,
    client: ["WEB_EMBEDDED_PLAYER", 56, "2.20260708.00.00"],
    userAgent: SAFARI_15,
    context: { userAgent: SAFARI_15 },
    embedUrl: "https://www.reddit.com/",
    hasTimestamp: true,
  },
  MWEB: {
    host: WEB_HOST,
    client: ["MWEB", 2, "2.20260708.05.00"],
    userAgent: IPAD,
    params: "2AMB",
    hasTimestamp: true,
  },
  ANDROID_VR: {
    host: APP_HOST,
    client: ["ANDROID_VR", 28, "1.65.10"],
    userAgent: /^com\.google\.android\.apps\.youtube\.vr\.oculus\/1\.65\.10 /,
    context: {
      deviceMake: "Oculus",
      deviceModel: "Quest 3",
      osName: "Android",
      osVersion: "12L",
      androidSdkVersion: 32,
    },
  },
  ANDROID: {
    host: APP_HOST,
    client: ["ANDROID", 3, "21.26.364"],
    userAgent: "com.google.android.youtube/21.26.364 (Linux; U; Android 11) gzip",
    context: { osName: "Android", osVersion: "11", androidSdkVersion: 30 },
  },
  ANDROID_MUSIC: {
    host: APP_HOST,
    client: ["ANDROID_MUSIC", 21, "7.27.52"],
    userAgent: "com.google.android.apps.youtube.music/7.27.52 (Linux; U; Android 11) gzip",
    context: { osName: "Android", osVersion: "11", androidSdkVersion: 30 },
    params: "CgIIAdgDAQ%3D%3D",
  },
  IOS: {
    host: APP_HOST,
    client: ["IOS", 5, "21.26.4"],
    userAgent: "com.google.ios.youtube/21.26.4 (iPhone16,2; U; CPU iOS 18_3_2 like Mac OS X;)",
    context: { ...APPLE, deviceModel: "iPhone16,2", osName: "iPhone", osVersion: "18.3.2.22D82" },
    params: "CgIIAdgDAQ%3D%3D",
  },
  TV: {
    host: WEB_HOST,
    client: ["TVHTML5", 7, "7.20260707.07.00"],
    userAgent: COBALT,
    params: "2AMB",
    hasTimestamp: true,
  },
  TV_DOWNGRADED: {
    host: WEB_HOST,
    client: ["TVHTML5", 7, "5.20260707"],
    userAgent: COBALT,
    context: { userAgent: COBALT },
    hasTimestamp: true,
  },
  TVHTML5_SIMPLY: {
    host: WEB_HOST,
    client: ["TVHTML5_SIMPLY", 75, "1.0"],
    userAgent: COBALT,
    context: { clientScreen: "EMBED" },
    params: "2AMB",
    embedUrl: "https://www.reddit.com/",
    hasTimestamp: true,
  },
  WEB_CREATOR: {
    host: WEB_HOST,
    client: ["WEB_CREATOR", 62, "1.20260708.06.00"],
    userAgent: CHROME,
    hasTimestamp: true,
  },
};

let open: YoutubeBench | undefined;

afterEach(() => open?.close());

async function start(options: object): Promise<YoutubeBench> {
  open = await startYoutubeBench({ options: (site) => ({ ...site.options, ...options }) });
  return open;
}

/** Plays a video with one client and the login that some need. */
async function play(options: object): Promise<YoutubeBench> {
  const started = await start({ clientsOnly: "true", ...options });
  const { bench, site } = started;
  site.player.accessToken = "a-login";
  site.player.offers.set("WEB", "locked");
  const track = { identifier: "song0000001", userData: { "oauth-token": "a-login" } };
  const [loaded] = await searchTracks(started, track.identifier);
  await bench.resolve("youtube", loaded, { userData: track.userData });
  return started;
}

/** The encoded track, whatever the clients of the bench can load. */
async function searchTracks({ site }: YoutubeBench, id: string): Promise<[string]> {
  const other = await startYoutubeBench({ options: () => ({ ...site.options, clients: ["VISIONOS"] }) });
  const [track] = await other.bench.loadTracks("youtube", id);
  await other.close();
  return [track?.encoded ?? ""];
}

describe("the request of a client", () => {
  test("each client that plays has a row", () => {
    const players = CLIENTS.filter(({ abilities }) => abilities.playback).map(({ name }) => name);
    expect(Object.keys(EXPECTED).toSorted()).toEqual(players.toSorted());
  });

  test.each(Object.entries(EXPECTED))("%s asks as it should", async (name, expected) => {
    const { site } = await play({ clients: [name] });
    const { request, body } = site.asked("player").at(-1)!; // it has played
    const [clientName, number, version] = expected.client;
    expect([request.host, request.headers["user-agent"]]).toEqual([
      expected.host,
      typeof expected.userAgent === "string" ? expected.userAgent : expect.stringMatching(expected.userAgent),
    ]);
    expect(request.headers).toMatchObject({
      "x-youtube-client-name": String(number),
      "x-youtube-client-version": version,
      "x-goog-visitor-id": expect.stringMatching(/^visitor-/),
      origin: "https://www.youtube.com",
    });
    expect(body.context).toEqual({
      client: {
        clientName,
        clientVersion: version,
        hl: "en",
        gl: "US",
        visitorData: request.headers["x-goog-visitor-id"],
        ...expected.context,
      },
      user: { lockedSafetyMode: false },
      request: { useSsl: true },
      ...(expected.embedUrl !== undefined && { thirdParty: { embedUrl: expected.embedUrl } }),
    });
    expect([body.videoId, body.params, body.contentCheckOk, body.racyCheckOk]).toEqual([
      "song0000001",
      expected.params,
      true,
      true,
    ]);
    expect(body.playbackContext).toEqual({
      contentPlaybackContext: {
        html5Preference: "HTML5_PREF_WANTS",
        ...(expected.hasTimestamp && { signatureTimestamp: 20777 }),
        ...(expected.embedUrl !== undefined && { encryptedHostFlags: "host-flags-of-the-day" }),
      },
    });
  });

  test("MUSIC searches at YouTube Music", async () => {
    const { bench, site } = await start({ clients: ["MUSIC"] });
    await bench.loadTracks("youtube", "ytmsearch:song");
    const [asked] = site.asked("search");
    expect(asked?.request.host).toBe("music.youtube.com");
    expect(asked?.request.headers).toMatchObject({
      "x-youtube-client-name": "67",
      "x-youtube-client-version": "1.20260707.12.00",
      origin: "https://music.youtube.com",
      referer: "https://music.youtube.com/",
    });
  });

  test("the embedded player's page is opened by a browser that comes from another site", async () => {
    const { site } = await play({ clients: ["WEBEMBEDDED"] });
    const [page] = site.site.requestsTo(WEB_HOST, "/embed/song0000001");
    expect(page?.headers).toMatchObject({ "user-agent": SAFARI_15, referer: "https://www.reddit.com/" });
  });

  test("the embedded player's page and browser can be changed", async () => {
    const identity = { userAgent: "Mozilla/5.0 Next", embedUrl: "https://example.org/page", clientVersion: "3.0" };
    const { site } = await play({ clients: ["WEBEMBEDDED"], clientIdentities: { WEBEMBEDDED: identity } });
    const [page] = site.site.requestsTo(WEB_HOST, "/embed/song0000001");
    expect(page?.headers).toMatchObject({ "user-agent": "Mozilla/5.0 Next", referer: "https://example.org/page" });
    expect(site.asked("player").at(-1)?.body.context).toMatchObject({
      client: { clientVersion: "3.0", userAgent: "Mozilla/5.0 Next" },
      thirdParty: { embedUrl: "https://example.org/page" },
    });
  });

  test("a client under a new name asks with what it is given", async () => {
    const identity = {
      clientName: "NEXT",
      clientNumber: "300",
      clientVersion: "3.1",
      userAgent: "Next/3.1",
      host: APP_HOST,
      needsPlayerScript: "false",
      takesLogin: "true",
      context: ["deviceMake=Next"],
    };
    const { site } = await play({ clients: ["NEXT_ONE"], clientIdentities: { NEXT_ONE: identity } });
    const { request, body } = site.asked("player").at(-1)!; // it has played
    expect(request).toMatchObject({
      host: APP_HOST,
      headers: {
        "user-agent": "Next/3.1",
        "x-youtube-client-name": "300",
        "x-youtube-client-version": "3.1",
        authorization: "Bearer a-login",
      },
    });
    expect(body.context?.client).toMatchObject({ clientName: "NEXT", deviceMake: "Next" });
    expect(body).not.toHaveProperty("params");
  });

  test("the login goes to the clients that take it, and to no others", async () => {
    for (const { name, takesLogin } of CLIENTS.filter(({ abilities }) => abilities.playback)) {
      const started = await play({ clients: [name] });
      const sent = started.site.asked("player").at(-1)?.request.headers.authorization;
      expect([name, sent]).toEqual([name, takesLogin ? "Bearer a-login" : undefined]);
      await started.close();
    }
    open = undefined;
    expect(CLIENTS.filter(({ takesLogin }) => takesLogin).map(({ name }) => name)).toEqual([
      "TV_SAMSUNG",
      "TV",
      "TV_DOWNGRADED",
      "WEB_CREATOR",
    ]);
  });
});
