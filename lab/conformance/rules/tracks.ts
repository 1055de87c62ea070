// Loading identifiers, decoding tracks, and what an encoded track is made of.

import { type Check, checksOf } from "../workbench/check.ts";
import { ENDLESS_MS, encodeTrack, httpTrack, type TrackText } from "../workbench/encoded-track.ts";
import { exactly, expectMatch, matching, oneOf, someText } from "../workbench/expectation.ts";
import { EXCEPTION, expectErrorAmong, expectStatus, TRACK } from "../workbench/shapes.ts";
import type { Workbench } from "../workbench/workbench.ts";

/** Loads a file of the kit. */
async function expectLoad(bench: Workbench, path: string, expected: unknown): Promise<void> {
  const reply = await bench.load(bench.url(path));
  expectStatus(reply, 200);
  expectMatch(reply.json, expected, "load result");
}

const EMPTY = exactly({ loadType: "empty", data: oneOf(null, exactly({})) });
const ERROR = exactly({ loadType: "error", data: EXCEPTION });

const UNLOADABLE: readonly (readonly [name: string, path: string])[] = [
  ["a file of random bytes", "random.mp3"],
  ["an empty file", "empty.mp3"],
  ["a text", "text.txt"],
  ["a server's 500", "500"],
  ["a server's 403", "403"],
];

const loading = checksOf("loading", [
  ["an empty identifier is empty", "sheet 2.3", async (bench) => expectMatch((await bench.load("")).json, EMPTY)],
  [
    "an identifier that no source knows is empty",
    "sheet 2.3",
    async (bench) => expectMatch((await bench.load("nothing at all")).json, EMPTY),
  ],
  [
    "the prefix of a source that is not there is empty",
    "sheet 7.1",
    async (bench) => expectMatch((await bench.load("nosuchsearch:song")).json, EMPTY),
  ],
  ["a URL with 404 is empty", "sheet 2.3", (bench) => expectLoad(bench, "404", EMPTY), "media"],
  [
    "a file is a track with every member",
    "sheet 3.1",
    (bench) => expectLoad(bench, "tone.wav", exactly({ loadType: "track", data: exactly(TRACK) })),
    "media",
  ],
  [
    "a track of http says where it is, how long, and that it can be sought in",
    "sheet 3.1 and 7.2",
    async (bench) => {
      const uri = bench.url("tone.wav");
      const info = { identifier: uri, uri, sourceName: "http", length: 15_000, isStream: false, isSeekable: true };
      await expectLoad(bench, "tone.wav", { data: { info: { ...info, position: 0 } } });
    },
    "media",
  ],
  [
    "missing tags are reported as unknown",
    "sheet 7.3",
    (bench) => expectLoad(bench, "tone.wav", { data: { info: { title: "Unknown title", author: "Unknown artist" } } }),
    "media",
  ],
  [
    "pluginInfo names the container and userData is empty",
    "sheet 3.1",
    (bench) => expectLoad(bench, "tone.wav", { data: { pluginInfo: { probeInfo: "wav" }, userData: exactly({}) } }),
    "media",
  ],
  [
    "a query in the URL is preserved",
    "recording load-http-query",
    (bench) => expectLoad(bench, "tone.wav?a=1&b=2", { data: { info: { uri: bench.url("tone.wav?a=1&b=2") } } }),
    "media",
  ],
  [
    "a redirect is followed and the track names its target",
    "recording loadrange-redirect-tone.mp3",
    (bench) => expectLoad(bench, "redirect/tone.wav", { data: { info: { uri: bench.url("tone.wav") } } }),
    "media",
  ],
  [
    "a server without ranges is good enough",
    "recording loadrange-norange",
    (bench) => expectLoad(bench, "norange/tone.wav", { loadType: "track" }),
    "media",
  ],
  [
    "a server without content types is good enough",
    "recording loadrange-noct",
    (bench) => expectLoad(bench, "noct/tone.wav", { loadType: "track" }),
    "media",
  ],
  [
    "a playlist file gives its track, not a playlist",
    "sheet 7.3",
    (bench) => expectLoad(bench, "list.pls", { loadType: "track", data: { info: { uri: bench.url("tone.wav") } } }),
    "media",
  ],
  [
    "icy:// is http://",
    "sheet 7.2; recording load-http-icy",
    async (bench) => {
      const uri = bench.url("tone.wav");
      const { json } = await bench.load(uri.replace("http:", "icy:"));
      expectMatch(json, { loadType: "track", data: { info: { identifier: uri, uri } } });
    },
    "media",
  ],
  [
    "redirects without end end",
    "sheet 2.3",
    (bench) => expectLoad(bench, "loop", { loadType: oneOf("empty", "error") }),
    "media",
  ],
  [
    "a refused connection is an error",
    "recording load-http-refused",
    async (bench) => expectMatch((await bench.load("http://127.0.0.1:1/x.mp3")).json, ERROR),
  ],
  [
    "an error reports its cause",
    "sheet 3.5",
    async (bench) => {
      const { json } = await bench.load("http://127.0.0.1:1/x.mp3");
      expectMatch(json?.data, { message: someText, causeStackTrace: someText }, "exception");
    },
  ],
  [
    "a loaded track is encoded byte for byte as the format says",
    "sheet 5",
    async (bench) => {
      const { data } = (await bench.load(bench.url("tone.wav"))).json;
      const { title, author, identifier, isStream, uri, artworkUrl, isrc, sourceName } = data.info;
      const expected = encodeTrack({
        title,
        author,
        identifier,
        isStream,
        uri,
        artworkUrl,
        isrc,
        sourceName,
        lengthMs: BigInt(data.info.length),
        details: [data.pluginInfo.probeInfo],
        positionMs: 0n,
      });
      expectMatch(data.encoded, expected, "encoded");
    },
    "media",
  ],
]);

const unloadable = UNLOADABLE.flatMap(([name, path]) =>
  checksOf("loading", [
    [
      `${name} is an error with message, severity and cause`,
      "sheet 3.5",
      (bench) => expectLoad(bench, path, ERROR),
      "media",
    ],
  ]),
);

const HTTP_TRACK = httpTrack("http://h/a.wav");

const decoding = checksOf("decoding", [
  [
    "decodetrack gives a track with every member",
    "sheet 2.4",
    async (bench) => expectMatch((await bench.decode(encodeTrack(HTTP_TRACK))).json, exactly(TRACK)),
  ],
  [
    "encoded is returned as it was sent",
    "sheet 2.4",
    async (bench) => {
      const encoded = encodeTrack(HTTP_TRACK, 2);
      expectMatch((await bench.decode(encoded)).json?.encoded, encoded, "encoded");
    },
  ],
  [
    "userData is empty",
    "sheet 2.4",
    async (bench) => expectMatch((await bench.decode(encodeTrack(HTTP_TRACK))).json?.userData, exactly({}), "userData"),
  ],
  [
    "the stored position is reported",
    "sheet 2.4",
    async (bench) => {
      const { json } = await bench.decode(encodeTrack({ ...HTTP_TRACK, positionMs: 1500n }));
      expectMatch(json?.info?.position, 1500, "position");
    },
  ],
  [
    "the old parameter name works",
    "sheet 2.4",
    async ({ http }) => {
      const encoded = encodeURIComponent(encodeTrack(HTTP_TRACK));
      expectStatus(await http.get(`/v4/decodetrack?track=${encoded}`), 200);
    },
  ],
  [
    "encodedTrack wins over track",
    "sheet 2.4",
    async ({ http }) => {
      const encoded = encodeURIComponent(encodeTrack(HTTP_TRACK));
      expectStatus(await http.get(`/v4/decodetrack?track=bad&encodedTrack=${encoded}`), 200);
    },
  ],
  [
    "padding may be missing",
    "sheet 2.4",
    async (bench) => expectStatus(await bench.decode(encodeTrack(HTTP_TRACK).replace(/=+$/, "")), 200),
  ],
  [
    "decodetracks keeps the order",
    "sheet 2.4",
    async ({ http }) => {
      const body = ["first", "second", "third"].map((title) => encodeTrack({ ...HTTP_TRACK, title }));
      const { json } = await http.request("POST", "/v4/decodetracks", { body });
      const titles = ["first", "second", "third"].map((title) => ({ info: { title } }));
      expectMatch(json, titles, "tracks");
    },
  ],
  [
    "one bad track fails decodetracks as a whole",
    "sheet 2.4",
    async ({ http }) => {
      const body = [encodeTrack(HTTP_TRACK), "bad"];
      expectErrorAmong(await http.request("POST", "/v4/decodetracks", { body }), [400, 500]);
    },
  ],
]);

/** The fields of each version, as they must be reported. */
const VERSIONS: readonly (readonly [
  version: number,
  expectedInfo: Partial<Record<"uri" | "artworkUrl" | "isrc", string | null>>,
])[] = [
  [1, { artworkUrl: null, isrc: null }],
  [2, { uri: "http://h/a.wav", artworkUrl: null, isrc: null }],
  [3, { uri: "http://h/a.wav", artworkUrl: "http://h/a.png", isrc: "GBARL9300135" }],
  [4, { uri: "http://h/a.wav", artworkUrl: "http://h/a.png", isrc: "GBARL9300135" }],
];

const TEXTS: readonly (readonly [name: string, title: string])[] = [
  ["letters beyond ASCII", "Übergrößenträger 音楽"],
  ["the character U+0000", "a\0b"],
  ["characters beyond the BMP", "😀 𝄞"],
  ["an empty text", ""],
];

const PROBES = ["mp3", "mp4", "flac", "ogg", "matroska/webm", "adts", "mpegts-adts", "m3u|hls-outer"] as const;

async function expectDecoded(bench: Workbench, track: TrackText, expectedInfo: object, version = 3): Promise<void> {
  const reply = await bench.decode(encodeTrack(track, version));
  expectStatus(reply, 200);
  expectMatch(reply.json?.info, expectedInfo, "info");
}

const encodedTracks = [
  ...VERSIONS.flatMap(([version, expectedInfo]) =>
    checksOf("encoded tracks", [
      [
        `version ${version} is read`,
        "sheet 5.2",
        async (bench) => {
          const track = { ...HTTP_TRACK, artworkUrl: "http://h/a.png", isrc: "GBARL9300135" };
          const common = { title: "Conformance", author: "Kit", length: 30_000, identifier: "http://h/a.wav" };
          await expectDecoded(bench, track, { ...common, isStream: false, isSeekable: true, ...expectedInfo }, version);
        },
      ],
    ]),
  ),
  ...TEXTS.flatMap(([name, title]) =>
    checksOf("encoded tracks", [
      [`${name} in modified UTF-8`, "sheet 5.3", (bench) => expectDecoded(bench, { ...HTTP_TRACK, title }, { title })],
    ]),
  ),
  ...PROBES.flatMap((probeInfo) =>
    checksOf("encoded tracks", [
      [
        `container ${probeInfo} of http tracks`,
        "sheet 5.4",
        async (bench) => {
          const { json } = await bench.decode(encodeTrack({ ...HTTP_TRACK, details: [probeInfo] }));
          expectMatch(json?.pluginInfo, { probeInfo }, "pluginInfo");
        },
      ],
    ]),
  ),
  ...checksOf("encoded tracks", [
    [
      "endless length keeps every digit",
      "sheet 3.1",
      async (bench) => {
        const reply = await bench.decode(encodeTrack({ ...HTTP_TRACK, lengthMs: ENDLESS_MS, isStream: true }));
        expectMatch(reply.text, matching(/"length": ?9223372036854775807[,}]/), "body");
        expectMatch(reply.json?.info, { isStream: true, isSeekable: false }, "info");
      },
    ],
    [
      "bytes after the body are ignored",
      "sheet 5.1",
      async (bench) => {
        const encoded = Buffer.concat([Buffer.from(encodeTrack(HTTP_TRACK), "base64"), Buffer.from("more")]);
        expectStatus(await bench.decode(encoded.toString("base64")), 200);
      },
    ],
    [
      "the second flag bit is ignored",
      "sheet 5.1",
      async (bench) => {
        const encoded = Buffer.from(encodeTrack(HTTP_TRACK), "base64");
        encoded[0] = 0xc0;
        expectStatus(await bench.decode(encoded.toString("base64")), 200);
      },
    ],
    [
      "four-byte UTF-8 is refused",
      "sheet 5.5",
      async (bench) =>
        expectErrorAmong(
          await bench.decode("QAAALAMABPCfmIAAAAAAAAAAAAABAAF4AAAAAAAKc291bmRjbG91ZAAAAAAAAAAA"),
          [400, 500],
        ),
    ],
    [
      "an unknown container is refused",
      "sheet 1.4; recording decode-v3-unknown-probe",
      async (bench) => {
        expectErrorAmong(await bench.decode(encodeTrack({ ...HTTP_TRACK, details: ["zzz"] })), [400, 500]);
      },
    ],
    [
      "a player gives an older track back as version 3",
      "sheet 5.5",
      async (bench) => {
        const player = await bench.player();
        const json = await player.update({ track: { encoded: encodeTrack(HTTP_TRACK, 2) }, paused: true });
        expectMatch(json.track.encoded, encodeTrack(HTTP_TRACK), "track.encoded");
      },
    ],
    [
      "a player's track is encoded with its position",
      "sheet 3.1",
      async (bench) => {
        const player = await bench.player();
        const json = await player.update({ track: { encoded: encodeTrack(HTTP_TRACK) }, position: 5000, paused: true });
        expectMatch(json.track, {
          encoded: encodeTrack({ ...HTTP_TRACK, positionMs: 5000n }),
          info: { position: 5000 },
        });
      },
    ],
    [
      "a track with a position begins there",
      "sheet 5.2",
      async (bench) => {
        const player = await bench.player();
        const encoded = encodeTrack({ ...HTTP_TRACK, positionMs: 5000n });
        expectMatch((await player.update({ track: { encoded }, paused: true })).state.position, 5000, "state.position");
      },
    ],
    [
      "a player returns an endless track unchanged",
      "sheet 3.1",
      async (bench) => {
        const player = await bench.player();
        const encoded = encodeTrack({ ...HTTP_TRACK, lengthMs: ENDLESS_MS, isStream: true });
        const reply = await player.patch({ track: { encoded }, paused: true });
        expectMatch(reply.text, matching(/"length": ?9223372036854775807[,}]/), "body");
      },
    ],
  ]),
];

export const trackChecks: readonly Check[] = [...loading, ...unloadable, ...decoding, ...encodedTracks];
