import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { troubleWith } from "../../support/plugin-bench.ts";
import { startYoutubeBench, type YoutubeBench, type YoutubeBenchOptions } from "../../support/youtube-bench.ts";

let open: YoutubeBench;

beforeEach(async () => {
  open = await startYoutubeBench();
});

afterEach(() => open.close());

/** Replaces the plugin with the default options. */
async function restart(options: YoutubeBenchOptions["options"], more: YoutubeBenchOptions = {}): Promise<void> {
  await open.close();
  open = await startYoutubeBench({ ...more, ...(options !== undefined && { options }) });
}

const load = (identifier: string) => open.bench.load("youtube", identifier);
const idsOf = async (identifier: string) => {
  return (await open.bench.loadTracks("youtube", identifier)).map(({ info }) => info.identifier);
};
const clientsAsked = (endpoint: string) => open.site.asked(endpoint).map(({ clientName }) => clientName);

describe("a video", () => {
  test("a video is a track with exactly YouTube's data", async () => {
    const [track] = await open.bench.loadTracks("youtube", "https://www.youtube.com/watch?v=dQw4w9WgXcQ&t=43s");
    expect(track?.info).toEqual({
      identifier: "dQw4w9WgXcQ",
      title: "Song",
      author: "Artist - Topic",
      length: 213_000,
      position: 0,
      isStream: false,
      isSeekable: true,
      isrc: null,
      sourceName: "youtube",
      uri: "https://www.youtube.com/watch?v=dQw4w9WgXcQ",
      artworkUrl: "https://i.ytimg.com/vi/dQw4w9WgXcQ/maxresdefault.jpg",
    });
  });

  test("a live video is an endless stream", async () => {
    const [track] = await open.bench.loadTracks("youtube", "live0000001");
    expect(track?.info).toMatchObject({ isStream: true, isSeekable: false, title: "Radio" });
    expect(String(track?.info.length)).toBe("9223372036854775807");
  });

  test("a video is known by its title also if it cannot be played", async () => {
    expect(await load("region00001")).toMatchObject({ kind: "track", track: { title: "Elsewhere" } });
    expect(await load("botcheck001")).toMatchObject({ kind: "track", track: { title: "Guarded" } });
  });

  test("a private video ends the search at the first client", async () => {
    const { message } = await troubleWith(load("private0001"));
    expect(message).toBe("This is a private video.");
    expect(clientsAsked("player")).toEqual(["VISIONOS"]);
  });

  test("a removed video is reported with each client's message", async () => {
    const { message } = await troubleWith(load("removed0001"));
    const said = "This video has been removed by the uploader";
    const clients = ["VISIONOS", "WEB", "WEBEMBEDDED"].map((name) => `Client [${name}] failed: ${said}`);
    expect(message).toBe(["(yts.version: 1.18.2) All clients failed to load the item.", ...clients].join("\n\n"));
  });

  test("a video other than the requested one is refused", async () => {
    const { message } = await troubleWith(load("othervideo1"));
    expect(message).toContain("Client [VISIONOS] failed: The video returned is not what was requested.");
  });

  test("a video is requested from the next client if the first is refused", async () => {
    open.site.fail({ at: /player$/, outcome: { status: 403, text: "no" }, times: 1 });
    expect(await load("song0000001")).toMatchObject({ kind: "track" });
    expect(clientsAsked("player")).toEqual(["VISIONOS", "WEB"]);
  });

  test.each([
    ["404", { status: 404, json: {} }, "Invalid status code for player api response: 404"],
    ["a page instead of JSON", { text: "<!doctype html>" }, "the player api response of YouTube is not JSON"],
    ["JSON without the needed members", { json: [] }, "No playability status block."],
    ["a redirect in a circle", { status: 302, headers: { location: "?again" } }, "goes through more than 5 redirects"],
    ["a page of 50 MB", { bytes: new Uint8Array(50 * 2 ** 20).fill(0x20) }, "sent more than 8388608 bytes"],
  ])("a video answered by %s is reported as such", async (_, outcome, text) => {
    open.site.fail({ at: /youtubei\/v1\/player$/, outcome });
    expect((await troubleWith(load("song0000001"))).message).toContain(text);
  });

  test("a video request opens the circuit breaker for as long as YouTube requests", async () => {
    open.site.fail({ at: /player$/, outcome: { status: 429, headers: { "retry-after": "60" } } });
    const first = await troubleWith(load("song0000001"));
    expect(first.message).toContain("Invalid status code for player api response: 429");
    const askedCount = open.site.asked("player").length;
    expect((await troubleWith(load("song0000002"))).message).toContain("VISIONOS player is open until ");
    expect(open.site.asked("player").length).toBe(askedCount);
  });
});

describe("a search", () => {
  test("a search finds videos in YouTube's order, without live streams, advertisements and side content", async () => {
    expect(await idsOf("ytsearch: some song ")).toEqual(["song0000001", "song0000002", "song-_00003", "dQw4w9WgXcQ"]);
    const [asked] = open.site.asked("search");
    expect(asked?.body).toMatchObject({ query: "some song", params: "EgIQAfABAQ==" });
  });

  test.each(["WEB", "MWEB", "ANDROID", "ANDROID_VR", "IOS", "VISIONOS", "TVHTML5_SIMPLY"])(
    "a search by %s finds the same",
    async (client) => {
      await restart(() => ({ clients: [client] }));
      const tracks = await open.bench.loadTracks("youtube", "ytsearch:song");
      expect(tracks.map(({ info }) => [info.identifier, info.author, info.length])).toEqual([
        ["song0000001", "Artist - Topic", 213_000],
        ["song0000002", "Artist - Topic", 3_725_000],
        ["song-_00003", "Artist - Topic", 59_000],
        ["dQw4w9WgXcQ", "Artist - Topic", 213_000],
      ]);
    },
  );

  test("a search for music uses YouTube Music only, and has large pictures", async () => {
    const [track] = await open.bench.loadTracks("youtube", "ytmsearch:song");
    expect(track?.info).toMatchObject({ identifier: "song0000001", length: 213_000, author: "Artist - Topic" });
    expect(track?.info.artworkUrl).toBe("https://lh3.googleusercontent.com/x=w1000-h1000");
    expect(clientsAsked("search")).toEqual(["WEB_REMIX"]);
  });

  test("a search without results ends there", async () => {
    expect(await load("ytsearch:nothing")).toEqual({ kind: "empty" });
    expect(clientsAsked("search")).toEqual(["WEB"]);
  });

  test("a search with an unrecognised answer is tried with the next client", async () => {
    expect(await load("ytsearch:new shape")).toEqual({ kind: "empty" });
    expect(clientsAsked("search")).toEqual(["WEB", "VISIONOS"]);
  });

  test("a search without words is empty without a request", async () => {
    expect(await load("ytsearch:  ")).toEqual({ kind: "empty" });
    expect(open.site.site.requests).toEqual([]);
  });

  test("a search that fails everywhere lists each failure", async () => {
    open.site.fail({ at: /search$/, outcome: { status: 400, json: {} } });
    const { message } = await troubleWith(load("ytsearch:song"));
    expect(message).toContain("Client [WEB] failed: Invalid status code for search response: 400");
  });

  test("a search with a client that must not search fails there", async () => {
    await restart(() => ({ clients: ["WEB"], clientsOnly: "true", clientOptions: { WEB: { searching: "false" } } }));
    const { message } = await troubleWith(load("ytsearch:song"));
    expect(message).toContain("Client [WEB] failed: Searching is disabled for this client");
    expect(open.site.site.requests).toEqual([]);
  });
});

describe("a playlist", () => {
  test.each([
    ["VISIONOS", false],
    ["WEB", false],
    ["WEB", true],
    ["MWEB", false],
    ["IOS", false],
  ])("a playlist by %s (as lockups: %s) has its tracks without removed or invalid ones", async (client, lockups) => {
    await restart(() => ({ clients: [client] }));
    open.site.hasLockups = lockups;
    const answer = await load("https://www.youtube.com/playlist?list=PLsongs");
    expect(answer).toMatchObject({ kind: "playlist", name: "Playlist PLsongs", selectedTrack: -1 });
    expect(await idsOf("PLsongs")).toEqual(["song0000001", "song0000002", "song-_00003"]);
  });

  test("a playlist selects the linked video", async () => {
    const answer = await load("https://www.youtube.com/watch?v=song0000002&list=PLsongs");
    expect(answer).toMatchObject({ kind: "playlist", selectedTrack: 1 });
    expect(await load("https://www.youtube.com/watch?v=dQw4w9WgXcQ&list=PLsongs")).toMatchObject({ selectedTrack: -1 });
  });

  test("a playlist of 5,000 entries ends at six pages, unless more are allowed", async () => {
    expect(await idsOf("PLmany")).toHaveLength(600);
    expect(open.site.asked("browse")).toHaveLength(6);
    await restart(() => ({ playlistPages: "100" }));
    const ids = await idsOf("PLmany");
    expect([ids.length, new Set(ids).size, ids.at(-1)]).toEqual([5000, 5000, "n0000004999"]);
  });

  test("a playlist of lockups continues to the next page, too", async () => {
    await restart(() => ({ clients: ["WEB"], playlistPages: "3" }));
    open.site.hasLockups = true;
    expect(await idsOf("PLmany")).toHaveLength(300);
  });

  test("a playlist whose pages go in circles ends at the repeated page", async () => {
    await restart(() => ({ playlistPages: "100" }));
    expect(await idsOf("PLcircle")).toHaveLength(200);
  });

  test("a playlist continues with the visitor of its first page", async () => {
    await idsOf("PLmany");
    const visitors = open.site.asked("browse").map(({ body }) => body.context?.client?.visitorData);
    expect(new Set(visitors).size).toBe(1);
  });

  test("a playlist keeps its entries when a further page fails", async () => {
    await idsOf("ytsearch:song");
    open.site.fail({
      at: /browse$/,
      outcome: ({ body }) => (body.includes("~300") ? { status: 503 } : open.site.browse(body)),
    });
    expect(await idsOf("PLmany")).toHaveLength(300);
  });

  test("a missing playlist is reported in YouTube's words", async () => {
    const { message } = await troubleWith(load("PLnowhere"));
    expect(message).toContain("Client [WEB] failed: The playlist does not exist.");
  });

  test("a playlist without tracks is reported", async () => {
    expect((await troubleWith(load("PLempty"))).message).toContain("Could not find tracks from playlist.");
  });
});

describe("a mix", () => {
  test.each(["VISIONOS", "WEB", "MWEB", "ANDROID_MUSIC"])(
    "a mix by %s has the tracks of one answer",
    async (client) => {
      await restart(() => ({ clients: [client] }));
      const answer = await load("https://music.youtube.com/watch?v=song0000001&list=RDAMVMsong0000001");
      expect(answer).toMatchObject({ kind: "playlist", name: "Mix - RDAMVMsong0000001", selectedTrack: 0 });
      expect(answer?.kind === "playlist" && answer.tracks).toHaveLength(25);
    },
  );

  test("a mix without a name is called one", async () => {
    expect(await load("https://www.youtube.com/playlist?list=RDnameless")).toMatchObject({ name: "YouTube mix" });
  });

  test("a mix request contains a video only if its name contains one", async () => {
    await load("https://www.youtube.com/playlist?list=RDMMdQw4w9WgXcQ");
    await load("https://www.youtube.com/playlist?list=RDdQw4w9WgXcQ");
    expect(open.site.asked("next").map(({ body }) => body.videoId)).toEqual([undefined, "dQw4w9WgXcQ"]);
  });
});

describe("the options", () => {
  test("the options can disable searches and bare words", async () => {
    const off = { allowSearch: "false", allowDirectVideoIds: "false", allowDirectPlaylistIds: "false" };
    await restart(() => off);
    for (const identifier of ["ytsearch:x", "ytmsearch:x", "dQw4w9WgXcQ", "PLsongs"]) {
      expect(await load(identifier)).toBeUndefined();
    }
    expect(await load("https://youtu.be/dQw4w9WgXcQ")).toMatchObject({ kind: "track" });
  });

  test("the options set the clients and their order, and unknown ones are left out", async () => {
    await restart(() => ({ clients: ["TVHTML5EMBEDDED", "IOS", "WEB"] }));
    await idsOf("ytsearch:song");
    expect(clientsAsked("search")).toEqual(["IOS"]);
  });

  test("the options replace a client's parameters", async () => {
    const identity = { clientVersion: "9.9", userAgent: "Vision/9", context: ["deviceModel=Next=1", "osName=nextOS"] };
    await restart(() => ({ clientIdentities: { VISIONOS: identity }, language: "de", region: "AT" }));
    await load("song0000001");
    const [asked] = open.site.asked("player");
    expect(asked?.body.context?.client).toMatchObject({
      clientName: "VISIONOS",
      clientVersion: "9.9",
      userAgent: "Vision/9",
      hl: "de",
      gl: "AT",
      deviceModel: "Next=1",
      osName: "nextOS",
      deviceMake: "Apple",
    });
    expect(asked?.request.headers).toMatchObject({ "user-agent": "Vision/9", "x-youtube-client-version": "9.9" });
  });

  test("options that leave no client for a request are reported", async () => {
    await restart(() => ({ clients: ["WEB"] }));
    expect((await troubleWith(load("ytmsearch:x"))).message).toContain("None of the configured clients");
  });
});

describe("an address that redirects", () => {
  const VIDEOS = "https://www.youtube.com/watch_videos?video_ids=song0000002,song0000001";

  test("a redirecting address is followed one step", async () => {
    open.site.fail({ at: /watch_videos$/, outcome: { status: 303, headers: { location: "/watch?v=song0000002" } } });
    expect(await load(VIDEOS)).toMatchObject({ kind: "track", track: { identifier: "song0000002" } });
  });

  test.each([
    ["itself", VIDEOS],
    ["another site", "https://example.org/watch?v=song0000002"],
    ["nowhere", "javascript:alert(1)"],
  ])("a redirecting address to %s is an empty result", async (_, location) => {
    open.site.fail({ at: /watch_videos$/, outcome: { status: 303, headers: { location } } });
    expect(await load(VIDEOS)).toEqual({ kind: "empty" });
  });

  test("a redirecting address to a generated list is that list", async () => {
    expect((await troubleWith(load(VIDEOS))).message).toContain("The playlist does not exist.");
    expect(open.site.asked("browse")[0]?.body.browseId).toBe("VLTLGGtemporary");
  });
});

describe("a visitor", () => {
  test("a visitor id is requested once and sent with every request", async () => {
    await load("song0000001");
    await load("song0000002");
    expect(open.site.asked("visitor_id")).toHaveLength(1);
    const visitors = open.site.asked("player").map(({ request }) => request.headers["x-goog-visitor-id"]);
    expect(visitors.every((visitor) => visitor?.startsWith("visitor-"))).toBe(true);
  });

  test("a visitor id that is unavailable is left out", async () => {
    open.site.fail({ at: /visitor_id$/, outcome: { status: 500 } });
    expect(await load("song0000001")).toMatchObject({ kind: "track" });
  });
});
