import { describe, expect, test } from "vitest";
import { chooseFormat } from "../../../plugins/youtube/formats.ts";
import { findMembers, label, list, member, number, string, wholeLabel } from "../../../plugins/youtube/read-json.ts";
import { readMix, readPlaylistPage, readSearch } from "../../../plugins/youtube/read-lists.ts";
import { checkPlayability, isPassing, PrivateVideoError, readVideo } from "../../../plugins/youtube/read-player.ts";
import { readEntries } from "../../../plugins/youtube/read-tracks.ts";

const RENDERER = { videoId: "song0000001", title: { simpleText: "Song" }, lengthText: { simpleText: "3:33" } };

function nested(depth: number, innermost: unknown): unknown {
  let tree = innermost;
  for (let count = 0; count < depth; count++) tree = { contents: [tree] };
  return tree;
}

describe("a walk", () => {
  const names = new Set(["wanted"]);

  test("a walk finds members as deep as in real pages, in the order of the text", () => {
    const tree = { a: nested(15, { wanted: 1 }), b: [{ wanted: 2 }, { c: { wanted: 3 } }], wanted: 4 };
    expect(findMembers(tree, names, { countMax: 10 }).map(({ value }) => value)).toEqual([1, 2, 3, 4]);
  });

  test("a walk goes no deeper than 64, and finds no more than requested", () => {
    expect(findMembers(nested(31, { wanted: 1 }), names, { countMax: 10 })).toHaveLength(1);
    expect(findMembers(nested(40, { wanted: 1 }), names, { countMax: 10 })).toEqual([]);
    expect(findMembers(nested(100_000, { wanted: 1 }), names, { countMax: 10 })).toEqual([]);
    const many = Array.from({ length: 5000 }, () => ({ wanted: 1 }));
    expect(findMembers(many, names, { countMax: 100 })).toHaveLength(100);
  });

  test("a walk ends in a page that is all members", () => {
    const wide = Array.from({ length: 500_000 }, () => ({ a: {} }));
    expect(findMembers([{ wanted: 1 }, wide], names, { countMax: 2 })).toHaveLength(1);
  });

  test("a walk leaves out the given members", () => {
    const except = new Set(["aside"]);
    expect(findMembers({ aside: { wanted: 1 }, b: { wanted: 2 } }, names, { countMax: 9, except })).toHaveLength(1);
  });
});

test("inherited members of an object are ignored", () => {
  expect(member({}, "constructor")).toBeUndefined();
  expect(member("text", "length")).toBeUndefined();
  expect(list({ a: { length: 3 } }, "a")).toEqual([]);
  expect(string({ a: "" }, "a")).toBeUndefined();
  expect([number({ a: "12" }, "a"), number({ a: "1e9" }, "a"), number({ a: Number.NaN }, "a")]).toEqual([
    12,
    undefined,
    undefined,
  ]);
});

test("texts are read in each of their forms", () => {
  const texts = ["x", { simpleText: "x" }, { content: "x" }, { runs: [{ text: "x" }, { text: "y" }] }];
  expect(texts.map((text) => label(text))).toEqual(["x", "x", "x", "x"]);
  expect(wholeLabel("+", texts[3])).toBe("x+y");
  expect([label({ runs: "x" }), label(5), label(null)]).toEqual([undefined, undefined, undefined]);
});

test.each([
  ["3:33", 213_000],
  ["1:02:03", 3_723_000],
  ["0.59", 59_000],
  ["LIVE", undefined],
  ["", undefined],
])("a length written as %j is %s ms", (text, lengthMs) => {
  const entry = { playlistPanelVideoRenderer: { ...RENDERER, lengthText: { simpleText: text } } };
  expect(readEntries(entry, "mix", 5).tracks[0]?.lengthMs).toBe(lengthMs);
});

test.each([
  ["no id", { videoId: undefined }],
  ["an invalid id", { videoId: "../../x" }],
  ["no title", { title: {} }],
  ["a text why it cannot be played", { unplayableText: { simpleText: "no" } }],
])("an entry with %s is left out", (_, change) => {
  const tree = [{ videoRenderer: { ...RENDERER, ...change } }, { videoRenderer: RENDERER }];
  expect(readEntries(tree, "search", 5)).toMatchObject({ count: 2, tracks: [{ identifier: "song0000001" }] });
});

test.each([null, 5, "text", [], {}, { contents: null }, { contents: [] }, { contents: { a: [null, 5, {}] } }])(
  "%j is not a list, and no reader throws anything unexpected",
  (answer) => {
    const kinds = [readSearch, readMix, readPlaylistPage, (tree: unknown) => readVideo(tree, "song0000001")].map(
      (read) => {
        try {
          read(answer);
          return "nothing in it";
        } catch (error) {
          return error instanceof Error && "kind" in error ? error.kind : String(error);
        }
      },
    );
    expect(["changed", "nothing in it"]).toEqual(expect.arrayContaining(kinds));
  },
);

describe("the author of an entry that names no channel", () => {
  const metadata = (...rows: readonly (readonly string[])[]) => ({
    contentMetadataViewModel: {
      metadataRows: rows.map((row) => ({ metadataParts: row.map((content) => ({ text: { content } })) })),
    },
  });
  /** As in the tab of a channel, for which `rows` is one with the views and the age. */
  const lockup = (...rows: readonly (readonly string[])[]) => ({
    lockupViewModel: {
      contentId: "AAAAAAAAAA1",
      contentType: "LOCKUP_CONTENT_TYPE_VIDEO",
      contentImage: {
        thumbnailViewModel: {
          overlays: [{ thumbnailBottomOverlayViewModel: { badges: [{ thumbnailBadgeViewModel: { text: "3:20" } }] } }],
        },
      },
      metadata: { lockupMetadataViewModel: { title: { content: "A title" }, metadata: metadata(...rows) } },
    },
  });
  const courseEntry = {
    playlistVideoRenderer: {
      videoId: "AAAAAAAAAA1",
      title: { runs: [{ text: "Lesson 1" }] },
      index: { simpleText: "1" },
      lengthSeconds: "600",
      lengthText: { simpleText: "10:00" },
      isPlayable: true,
    },
  };
  const VIEWS = ["26k views", "2 years ago"];

  test.each([
    ["a header", { header: { playlistHeaderRenderer: { ownerText: { runs: [{ text: "Owner" }] } } } }],
    [
      "a sidebar",
      { sidebar: { items: [{ videoOwner: { videoOwnerRenderer: { title: { runs: [{ text: "by Owner" }] } } } }] } },
    ],
    ["a channel", { metadata: { channelMetadataRenderer: { title: "Owner" } } }],
    ["an old channel", { header: { c4TabbedHeaderRenderer: { title: "Owner" } } }],
    [
      "a newer header",
      { header: { pageHeaderRenderer: { a: [{ avatarStackViewModel: { text: { content: "by Owner" } } }] } } },
    ],
    [
      "YouTube Music",
      { header: { musicResponsiveHeaderRenderer: { straplineTextOne: { runs: [{ text: "Owner" }] } } } },
    ],
  ])("the author of an entry that names no channel is the owner of the list, as named by %s", (_, page) => {
    const contents = { list: [courseEntry, lockup(VIEWS)] };
    const { owner, tracks } = readPlaylistPage({ ...page, contents });
    expect([owner, ...tracks.map(({ author }) => author)]).toEqual(["Owner", "Owner", "Owner"]);
    const next = readPlaylistPage({ onResponseReceivedActions: [{ continuationItems: [courseEntry] }] }, owner);
    expect(next.tracks[0]).toMatchObject({ title: "Lesson 1", lengthMs: 600_000, author: "Owner" });
  });

  test.each([
    ["the views and the age in any language", [["2,6 Mio. Aufrufe", "vor 2 Jahren"]]],
    ["the age above a badge", [["12 hours ago"], []]],
    ["nothing", []],
  ])("a list without an owner gives no author to an entry with %s", (_, rows) => {
    expect(readPlaylistPage({ contents: [lockup(...rows)] }).tracks).toMatchObject([{ title: "A title" }]);
    expect(readPlaylistPage({ contents: [lockup(...rows)] }).tracks[0]?.author).toBeUndefined();
  });

  test("the author of an entry with a row of its own for the channel is that channel, not the owner", () => {
    const page = { metadata: { channelMetadataRenderer: { title: "Owner" } } };
    expect(readPlaylistPage({ ...page, contents: [lockup(["Channel"], VIEWS)] }).tracks[0]?.author).toBe("Channel");
  });

  test("an entry that cannot be played is left out, with or without an author", () => {
    const { isPlayable: _, ...entry } = courseEntry.playlistVideoRenderer;
    expect(readPlaylistPage({ contents: [{ playlistVideoRenderer: entry }] })).toMatchObject({ count: 1, tracks: [] });
  });
});

test("a playlist of YouTube Music has the name of its header, which lies among the contents", () => {
  const musicResponsiveHeaderRenderer = { title: { runs: [{ text: "List" }] } };
  expect(readPlaylistPage({ contents: [{ musicResponsiveHeaderRenderer }] }).name).toBe("List");
});

test.each([
  [
    "the frame of a video",
    "https://i.ytimg.com/vi/AAAAAAAAAA1/sddefault.jpg?sqp=-oaymwEWCJADEOEBIAQqCghqEJQEGHgg6AJIWg&rs=x",
    "https://i.ytimg.com/vi/AAAAAAAAAA1/sddefault.jpg?sqp=-oaymwEWCJADEOEBIAQqCghqEJQEGHgg6AJIWg&rs=x",
  ],
  [
    "a cover",
    "https://lh3.googleusercontent.com/aB-c=d_9=w120-h120-l90-rj",
    "https://lh3.googleusercontent.com/aB-c=d_9=w1000-h1000",
  ],
  ["a cover without a size", "https://lh3.googleusercontent.com/aB-c_9", "https://lh3.googleusercontent.com/aB-c_9"],
])("the artwork of YouTube Music that is %s is a picture that exists", (_, url, artworkUrl) => {
  const column = (...runs: object[]) => ({ musicResponsiveListItemFlexColumnRenderer: { text: { runs } } });
  const entry = {
    musicResponsiveListItemRenderer: {
      playlistItemData: { videoId: "AAAAAAAAAA1" },
      thumbnail: {
        musicThumbnailRenderer: { thumbnail: { thumbnails: [{ url: "https://small.invalid/" }, { url }] } },
      },
      flexColumns: [column({ text: "Song" }), column({ text: "Artist" }, { text: " • " }, { text: "3:33" })],
    },
  };
  expect(readEntries(entry, "search", 5).tracks[0]?.artworkUrl).toBe(artworkUrl);
});

test("the reason of a refusal is found where newer answers have it", () => {
  const interstitialViewModel = {
    title: { content: "Video unavailable" },
    description: { content: "Not in your country" },
  };
  const errorScreen = { playerInterstitialRenderer: { content: { interstitialViewModel } } };
  const check = (status: string) => () => checkPlayability({ playabilityStatus: { status, errorScreen } });
  expect(check("UNPLAYABLE")).toThrow("Not in your country");
  expect(check("ERROR")).toThrow("Video unavailable");
});

test.each([
  [{ title: "Private video" }, "This is a private video."],
  [{ title: "Video unavailable", description: "This video is private" }, "This is a private video."],
  [{ description: "Sign in to confirm your age" }, "This video requires age verification."],
  [
    { title: "Sign in", description: "This video may be inappropriate for some users" },
    "This video requires age verification.",
  ],
])("a refusal that demands a login is told apart by all of its texts: %j", (texts, message) => {
  const contents = Object.fromEntries(Object.entries(texts).map(([name, content]) => [name, { content }]));
  const errorScreen = { playerInterstitialRenderer: { content: { interstitialViewModel: contents } } };
  for (const reason of [undefined, "Please sign in"]) {
    const playabilityStatus = { status: "LOGIN_REQUIRED", reason, errorScreen };
    expect(() => checkPlayability({ playabilityStatus })).toThrow(message);
  }
});

describe("the chosen format", () => {
  const opus = {
    itag: 251,
    mimeType: 'audio/webm; codecs="opus"',
    bitrate: 100,
    contentLength: "5",
    url: "https://x/",
  };
  const choose = (...adaptiveFormats: object[]) => {
    return chooseFormat({ streamingData: { adaptiveFormats } }, { opensLocks: false, variant: undefined }).itag;
  };

  test.each([
    ["is not locked where nothing opens locks", { signatureCipher: "s=1&url=https://x/", url: undefined }],
    ["is not one of another language", { audioTrack: { audioIsDefault: false } }],
    ["is not encrypted", { drmFamilies: ["WIDEVINE"] }],
    ["is not sent in pieces of unknown size", { type: "FORMAT_STREAM_TYPE_OTF" }],
    ["has a length", { contentLength: undefined }],
    ["is not quietened", { isDrc: true }],
    ["has two channels", { audioChannels: 6 }],
    ["has audio", { mimeType: 'video/webm; codecs="vp9"' }],
  ])("the chosen format %s", (_, change) => {
    const worse = { ...opus, bitrate: 999, ...change };
    expect(choose(worse, { ...opus, itag: 250 })).toBe(250);
    expect(choose({ ...opus, itag: 250 }, worse)).toBe(250);
  });

  test("the chosen format is Opus before Vorbis before AAC, and then the one with more bits", () => {
    const aac = { ...opus, itag: 140, mimeType: 'audio/mp4; codecs="mp4a.40.2"', bitrate: 999 };
    const vorbis = { ...opus, itag: 171, mimeType: 'audio/webm; codecs="vorbis"', bitrate: 500 };
    expect(choose(aac, vorbis, { ...opus, itag: 249, bitrate: 50 }, opus)).toBe(251);
    expect(choose(aac, vorbis)).toBe(171);
  });

  test("the chosen format is that of the original track behind any number of dubs", () => {
    const dub = { ...opus, itag: 249, audioTrack: { audioIsDefault: false } };
    const video = { ...opus, itag: 247, mimeType: 'video/webm; codecs="vp9"' };
    const others = Array.from({ length: 2000 }, (_, index) => (index % 2 === 0 ? dub : video));
    expect(choose({ ...opus, itag: 250, bitrate: 50 }, ...others, opus)).toBe(251);
  });

  test("a missing format is reported with those that there are", () => {
    const video = { ...opus, mimeType: 'video/mp4; codecs="avc1.4d401e"' };
    expect(() => choose(video)).toThrow(
      'No supported audio streams available, available types: video/mp4; codecs="avc1.4d401e"',
    );
  });
});

describe("the texts of a refusal", () => {
  const PLACES: readonly (readonly [string, (text: string) => object])[] = [
    ["reason", (text) => ({ reason: text })],
    ["reason in runs", (text) => ({ reason: { runs: [{ text: text.slice(0, 6) }, { text: text.slice(6) }] } })],
    ["subreason", (text) => ({ reason: "Sorry", subreason: { simpleText: text } })],
    ["messages", (text) => ({ reason: "Sorry", messages: ["Sorry", text] })],
    ...["reason", "subreason"].map((name) => {
      const errorScreen = (text: string) => ({ playerErrorMessageRenderer: { [name]: { simpleText: text } } });
      return [`${name} on screen`, (text: string) => ({ reason: "Sorry", errorScreen: errorScreen(text) })] as const;
    }),
    ...["title", "description"].map((name) => {
      const interstitial = (text: string) => ({ content: { interstitialViewModel: { [name]: { content: text } } } });
      return [
        `${name} on screen`,
        (text: string) => ({
          reason: "Sorry",
          errorScreen: { playerInterstitialRenderer: interstitial(text) },
          subreason: { runs: [{ text: "Learn more" }] },
        }),
      ] as const;
    }),
  ];
  const troubleOf = (status: string, block: object): unknown => {
    try {
      // With details, as a block without would be a bot check.
      checkPlayability({ videoDetails: {}, playabilityStatus: { status, ...block } });
    } catch (error) {
      return error;
    }
    return undefined;
  };

  test.each(PLACES)("the texts of a refusal are read in each of their places: %s", (_, blockWith) => {
    const LIMIT = "This content isn't available, try again later.";
    for (const status of ["ERROR", "CONTENT_CHECK_REQUIRED", "UNPLAYABLE"]) {
      expect(troubleOf(status, blockWith(LIMIT))).toMatchObject({ kind: "busy", message: LIMIT });
    }
    for (const status of ["ERROR", "UNPLAYABLE", "LOGIN_REQUIRED"]) {
      expect(troubleOf(status, blockWith("This video is private"))).toBeInstanceOf(PrivateVideoError);
      expect(troubleOf(status, blockWith("Sign in to confirm your age"))).toMatchObject({
        message: "This video requires age verification.",
      });
    }
    const playabilityStatus = { status: "UNPLAYABLE", ...blockWith("The page needs to be reloaded.") };
    expect(isPassing({ playabilityStatus })).toBe(true);
  });

  test("a mere link to a help page is not shown in place of the reason", () => {
    const subreason = { runs: [{ text: "Learn more" }] };
    const errorScreen = { playerErrorMessageRenderer: { subreason } };
    const reason = "Not in your country";
    expect(troubleOf("UNPLAYABLE", { reason, errorScreen, subreason })).toMatchObject({ message: reason });
  });

  test("an age gate is one in any language", () => {
    const block = { reason: "Melde dich an", desktopLegacyAgeGateReason: 1 };
    expect(troubleOf("LOGIN_REQUIRED", block)).toMatchObject({ message: "This video requires age verification." });
  });
});
