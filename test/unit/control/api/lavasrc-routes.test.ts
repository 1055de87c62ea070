import { afterEach, expect, test } from "vitest";
import { APPLEMUSIC_MANIFEST } from "../../../../plugins/applemusic/manifest.ts";
import { SPOTIFY_MANIFEST } from "../../../../plugins/spotify/manifest.ts";
import { YTDLP_MANIFEST } from "../../../../plugins/ytdlp/manifest.ts";
import { NodeError } from "../../../../src/errors.ts";
import type { JsonObject } from "../../../../src/lib/json.ts";
import { createLogger } from "../../../../src/log/log.ts";
import { type Answer, ApiServer } from "../../../support/api-server.ts";

const REQUEST_LOGGING = {
  isClientShown: true,
  areHeadersShown: true,
  isQueryShown: true,
  isPayloadShown: true,
  payloadLengthMax: 1000,
  isLoggedBefore: true,
};

const { searchLimit, playlistLoadLimit, mixPlaylistLoadLimit, ...options } = YTDLP_MANIFEST.config;
const LIMITS_MAX = {
  searchLimit: searchLimit.max,
  playlistLoadLimit: playlistLoadLimit.max,
  mixPlaylistLoadLimit: mixPlaylistLoadLimit.max,
};

let server: ApiServer;
let changed: [plugin: string, changes: JsonObject][] = [];
let lines: string[] = [];
afterEach(() => server.close());

async function start(fails?: { readonly plugin: string; readonly error: NodeError }): Promise<void> {
  changed = [];
  lines = [];
  server = await ApiServer.start({
    logger: createLogger((_level, message, fields) => void lines.push(`${message} ${JSON.stringify(fields)}`)),
    requestLogging: REQUEST_LOGGING,
    sources: {
      change: async (plugin, changes) => {
        if (fails?.plugin === plugin) throw fails.error;
        changed.push([plugin, changes]);
        return undefined; // as of one that is off
      },
    },
  });
}

function patch(body: object): Promise<Answer> {
  return server.request("PATCH", "/v4/lavasrc/config", { body });
}

const EMPTY = { status: 200, body: "" };

test("all that LavaSrc names is changed in the plugins that have it", async () => {
  await start();
  const spotify = {
    clientId: "id",
    clientSecret: "secret",
    spDc: "cookie",
    preferPartnerApi: true,
    preferV1SearchApi: "false",
    customTokenEndpoint: "https://tokens.example",
  };
  const ytdlp = {
    searchLimit: 5,
    playlistLoadLimit: 6,
    mixPlaylistLoadLimit: 7,
  };
  expect(await patch({ spotify, appleMusic: { mediaAPIToken: "token" }, ytdlp })).toMatchObject(EMPTY);
  expect(changed).toEqual([
    ["spotify", { ...spotify, preferV1SearchApi: false }],
    ["ytdlp", ytdlp],
    ["applemusic", { mediaAPIToken: "token" }],
  ]);
  const schemas = {
    ytdlp: YTDLP_MANIFEST.config,
    spotify: SPOTIFY_MANIFEST.config,
    applemusic: APPLEMUSIC_MANIFEST.config,
  };
  for (const [plugin, changes] of changed) {
    const known = Object.keys(schemas[plugin as keyof typeof schemas]);
    expect(known).toEqual(expect.arrayContaining(Object.keys(changes)));
  }
});

test.each<[string, object, typeof changed]>([
  ["nothing", {}, []],
  ["null", { spotify: null, appleMusic: { mediaAPIToken: null }, ytdlp: { path: null } }, []],
  ["the README's spelling", { applemusic: { mediaAPIToken: "t" } }, [["applemusic", { mediaAPIToken: "t" }]]],
  ["services without effect", { deezer: { arl: 5 }, yandexMusic: { accessToken: "x" }, qobuz: 1, tidal: [] }, []],
  ["unknown members", { x: 1, spotify: { y: 2, spDc: "" } }, [["spotify", { spDc: "" }]]],
  [
    "limits below one",
    { ytdlp: { searchLimit: 0, playlistLoadLimit: -1, mixPlaylistLoadLimit: 1 } },
    [["ytdlp", { mixPlaylistLoadLimit: 1 }]],
  ],
  [
    "limits that are too large for ytdlp",
    { ytdlp: { searchLimit: 5000, playlistLoadLimit: 50_000, mixPlaylistLoadLimit: 5000 } },
    [["ytdlp", LIMITS_MAX]],
  ],
  ["only a client id", { spotify: { clientId: "i", clientSecret: null, spDc: "c" } }, [["spotify", { spDc: "c" }]]],
  ["only a secret", { spotify: { clientSecret: "s" } }, []],
])("a body with %s changes what it gives", async (_what, body, expected) => {
  await start();
  expect(await patch(body)).toMatchObject(EMPTY);
  expect(changed).toEqual(expected);
});

test("half of the credentials are ignored with a line in the log; secrets are never logged", async () => {
  await start();
  await patch({ spotify: { clientId: "hunter2", clientSecret: "hunter2" } });
  expect(lines.join()).not.toContain("only together");
  await patch({ spotify: { clientSecret: "hunter2" } });
  expect(lines.join()).toContain("only together");
  expect(lines.join()).not.toContain("hunter2");
});

test.each<object>([
  { spotify: "x" },
  { spotify: { clientId: 5, clientSecret: "x" } },
  { spotify: { preferPartnerApi: "yes" } },
  { appleMusic: [] },
  { ytdlp: { searchLimit: 1.5 } },
  { ytdlp: { customLoadArgs: "--flat-playlist" } },
  [],
])("%j is answered with 400, and nothing is changed", async (body) => {
  await start();
  expect(await patch(body)).toMatchObject({ status: 400 });
  expect(changed).toEqual([]);
});

test("what only the configuration can set is left out with a warning, and the rest is changed", async () => {
  await start();
  const values = { path: "/bin/sh", customLoadArgs: ["a"], customPlaybackArgs: [], timeoutMs: 1 };
  const fixed = Object.entries(options).flatMap(([name, option]) => ("isFixed" in option ? [name] : []));
  expect(fixed).toEqual(["path", "customLoadArgs", "customPlaybackArgs"]);
  expect(await patch({ spotify: { spDc: "x" }, ytdlp: { ...values, searchLimit: 7 } })).toMatchObject(EMPTY);
  expect(changed).toEqual([
    ["spotify", { spDc: "x" }],
    ["ytdlp", { searchLimit: 7 }],
  ]);
  for (const name of fixed)
    expect(lines.join()).toContain(`ytdlp.${name} can only be set in the configuration: ignored`);
});

test("what Spotify refuses is the answer, and nothing else is changed", async () => {
  const message = "plugins.spotify.customTokenEndpoint: expected an http address";
  await start({ plugin: "spotify", error: new NodeError("plugin-options-wrong", message) });
  const answer = await patch({ spotify: { customTokenEndpoint: "x" }, ytdlp: { searchLimit: 5 } });
  expect(answer).toMatchObject({ status: 400, json: { message: expect.stringContaining(message) } });
  expect(changed).toEqual([]);
});
