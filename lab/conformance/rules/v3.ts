// The older protocol under /v3, which a v4 node may or may not have (protocol-v4.md section 2.11).

import type { Bot } from "../../test-environment/bot.ts";
import { type Check, checksOf } from "../workbench/check.ts";
import { encodeTrack, httpTrack } from "../workbench/encoded-track.ts";
import { anInteger, aString, exactly, expectMatch, matching, oneOf, someText } from "../workbench/expectation.ts";
import { expectStatus } from "../workbench/shapes.ts";
import type { Workbench } from "../workbench/workbench.ts";

const ENCODED = encodeTrack(httpTrack("http://h/a.wav"));
const LOADED = "TRACK_LOADED";

function loadV3(bench: Workbench, identifier: string) {
  return bench.http.get(`/v3/loadtracks?identifier=${encodeURIComponent(identifier)}`);
}

function connect(bench: Workbench): Promise<Bot> {
  return bench.session({ path: "/v3/websocket" });
}

export const v3Checks: readonly Check[] = checksOf("v3", [
  [
    "answers say Lavalink-Api-Version: 3",
    "sheet 2.11",
    async ({ http }) => expectMatch((await http.get("/v3/info")).headers["lavalink-api-version"], "3", "header"),
    "v3",
  ],
  [
    "the password is required as in v4",
    "sheet 2.11",
    async ({ http }) => expectStatus(await http.get("/v3/info", { password: null }), 401),
    "v3",
  ],
  [
    "info has a build",
    "sheet 2.11",
    async ({ http }) => {
      const { json } = await http.get("/v3/info");
      expectMatch(Object.keys(json?.version ?? {}).sort(), [
        "build",
        "major",
        "minor",
        "patch",
        "preRelease",
        "semver",
      ]);
    },
    "v3",
  ],
  [
    "a found track is TRACK_LOADED with a list of one",
    "sheet 2.11",
    async (bench) => {
      const { json } = await loadV3(bench, bench.url("tone.wav"));
      const track = { encoded: someText, track: json?.tracks?.[0]?.encoded, info: { uri: bench.url("tone.wav") } };
      expectMatch(json, { loadType: LOADED, playlistInfo: exactly({}), tracks: [track] }, "load result");
    },
    "media",
    "v3",
  ],
  [
    "tracks have neither artwork nor ISRC, neither pluginInfo nor userData",
    "sheet 2.11",
    async (bench) => {
      const [track] = (await loadV3(bench, bench.url("tone.wav"))).json?.tracks ?? [];
      expectMatch(Object.keys(track ?? {}).sort(), ["encoded", "info", "track"], "members");
      const { artworkUrl, isrc } = track.info;
      expectMatch([artworkUrl, isrc], [undefined, undefined], "artwork and ISRC");
    },
    "media",
    "v3",
  ],
  [
    "an identifier without a result is NO_MATCHES with an empty list",
    "sheet 2.11",
    async (bench) =>
      expectMatch((await loadV3(bench, "")).json, { loadType: "NO_MATCHES", tracks: [], playlistInfo: {} }),
    "v3",
  ],
  [
    "what fails is LOAD_FAILED with its exception",
    "sheet 2.11",
    async (bench) => {
      const { json } = await loadV3(bench, "http://127.0.0.1:1/x.mp3");
      const severity = oneOf("COMMON", "SUSPICIOUS", "FAULT");
      expectMatch(json, {
        loadType: "LOAD_FAILED",
        tracks: [],
        exception: { message: oneOf(aString, null), severity },
      });
    },
    "v3",
  ],
  [
    "decodetrack has the information twice",
    "sheet 2.11",
    async ({ http }) => {
      const { json } = await http.get(`/v3/decodetrack?encodedTrack=${encodeURIComponent(ENCODED)}`);
      expectMatch(json, { encoded: ENCODED, title: "Conformance", info: { title: "Conformance" } }, "track");
    },
    "v3",
  ],
  [
    "unversioned twins of loadtracks and decodetrack",
    "sheet 2.11",
    async ({ http }) => {
      expectMatch((await http.get("/loadtracks?identifier=")).json?.loadType, "NO_MATCHES", "loadtracks");
      expectStatus(await http.get(`/decodetrack?track=${encodeURIComponent(ENCODED)}`), 200);
    },
    "v3",
  ],
  [
    "the route planner's status is 200 with nulls without a planner",
    "sheet 2.11",
    async ({ http }) => {
      const reply = await http.get("/v3/routeplanner/status");
      expectStatus(reply, 200);
      expectMatch(reply.json, { class: oneOf(null, someText) }, "status");
    },
    "v3",
  ],
  [
    "ready is the first message on /v3/websocket",
    "sheet 2.11",
    async (bench) => {
      const session = await connect(bench);
      expectMatch(session.messages[0], { op: "ready", resumed: false, sessionId: someText }, "ready");
    },
    "v3",
  ],
  [
    "sessions have a resuming key",
    "sheet 2.11",
    async (bench) => {
      const { sessionId } = await connect(bench);
      const body = { resumingKey: "kit", timeout: 30 };
      const { json } = await bench.http.request("PATCH", `/v3/sessions/${sessionId}`, { body });
      expectMatch(json, { resumingKey: "kit", timeout: 30 }, "settings");
    },
    "v3",
  ],
  [
    "players have no state; connected and ping stand in voice",
    "sheet 2.11",
    async (bench) => {
      const { sessionId } = await connect(bench);
      const { json } = await bench.http.request("PATCH", `/v3/sessions/${sessionId}/players/5`, { body: {} });
      expectMatch(
        json,
        { guildId: "5", track: null, volume: 100, voice: { connected: false, ping: anInteger } },
        "player",
      );
      expectMatch(json.state, undefined, "state");
    },
    "v3",
  ],
  [
    "the op play starts a track with the events of v3",
    "sheet 2.11",
    async (bench) => {
      const session = await connect(bench);
      const { encoded } = (await loadV3(bench, bench.url("tone.wav"))).json.tracks[0];
      session.send(JSON.stringify({ op: "play", guildId: "5", track: encoded }));
      const start = await session.untilEvent("TrackStartEvent");
      expectMatch(start, { guildId: "5", track: matching(/^[A-Za-z0-9+/]+=*$/), encodedTrack: start.track }, "event");
      session.send(JSON.stringify({ op: "stop", guildId: "5" }));
      expectMatch((await session.untilEvent("TrackEndEvent")).reason, "STOPPED", "reason");
    },
    "media",
    "v3",
  ],
]);
