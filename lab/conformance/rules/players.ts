// Players: what they look like, and the exact order in which one PATCH takes effect.

import { type Check, checksOf } from "../workbench/check.ts";
import { encodeTrack, httpTrack } from "../workbench/encoded-track.ts";
import { exactly, expectMatch, listOf } from "../workbench/expectation.ts";
import { expectError, expectStatus, IDLE_PLAYER, PLAYER_STATE, TRACK } from "../workbench/shapes.ts";

/** Loads nowhere, and is never asked for while a player has no voice. */
const SOME_TRACK = encodeTrack(httpTrack("http://127.0.0.1:1/a.wav"));

const players = checksOf("players", [
  [
    "an empty PATCH makes a player with all defaults",
    "sheet 2.5 and 3.2",
    async (bench) => expectMatch(await (await bench.player()).update({}), IDLE_PLAYER, "player"),
  ],
  [
    "GET gives what PATCH gave",
    "sheet 2.5",
    async (bench) => {
      const player = await bench.player();
      await player.update({ volume: 50, paused: true, filters: { volume: 0.5 } });
      const { json } = await player.get();
      expectMatch(json, { guildId: player.guildId, volume: 50, paused: true, filters: { volume: 0.5 } }, "player");
    },
  ],
  [
    "the list holds every player of the session",
    "sheet 2.5",
    async (bench) => {
      const first = await bench.player();
      const second = await bench.player(first.session);
      await first.update({});
      await second.update({});
      const { json } = await bench.http.get(`/v4/sessions/${first.session.sessionId}/players`);
      expectMatch(json, listOf(IDLE_PLAYER), "players");
      const ids = json.map(({ guildId }: { guildId: string }) => guildId).sort();
      expectMatch(ids, [first.guildId, second.guildId].sort(), "guild ids");
    },
  ],
  [
    "a guild id is text and keeps its 64 bits",
    "sheet 3.2",
    async (bench) => {
      const { sessionId } = await bench.session();
      const path = `/v4/sessions/${sessionId}/players/9223372036854775807`;
      expectMatch((await bench.http.request("PATCH", path, { body: {} })).json?.guildId, "9223372036854775807");
    },
  ],
  [
    "DELETE is 204 without a body and removes the player",
    "spec Players",
    async (bench) => {
      const player = await bench.player();
      await player.update({});
      const reply = await player.destroy();
      expectMatch([reply.status, reply.text], [204, ""], "status and body");
      expectError(await player.get(), 404, "Player not found");
    },
  ],
  [
    "DELETE of a player that never was is 204",
    "sheet 2.10",
    async (bench) => expectStatus(await (await bench.player()).destroy(), 204),
  ],
  [
    "a destroyed player is created again with defaults",
    "spec States",
    async (bench) => {
      const player = await bench.player();
      await player.update({ volume: 10, paused: true, filters: { volume: 2 } });
      await player.destroy();
      expectMatch(await player.update({}), IDLE_PLAYER, "player");
    },
  ],
  [
    "a playing player shows its track with every member",
    "sheet 3.2",
    async (bench) => expectMatch((await (await bench.busyPlayer()).get()).json?.track, exactly(TRACK), "track"),
    "media",
  ],
  [
    "state has exactly time, position, connected, ping",
    "sheet 3.2",
    async (bench) => expectMatch((await (await bench.player()).update({})).state, PLAYER_STATE, "state"),
  ],
  [
    "without voice it is not connected and has no ping",
    "sheet 3.2",
    async (bench) => {
      expectMatch(
        (await (await bench.player()).update({})).state,
        { connected: false, ping: -1, position: 0 },
        "state",
      );
    },
  ],
]);

const order = checksOf("PATCH order", [
  [
    "a refused update changes nothing and creates no player",
    "sheet 2.7 step 2",
    async (bench) => {
      const player = await bench.player();
      expectStatus(await player.patch({ volume: 50, endTime: 0 }), 400);
      expectError(await player.get(), 404, "Player not found");
    },
  ],
  [
    "a refused update leaves an existing player unchanged",
    "sheet 2.7 step 2",
    async (bench) => {
      const player = await bench.player();
      await player.update({ volume: 30, filters: { volume: 0.5 } });
      await player.patch({ volume: 50, filters: {}, paused: true, track: { encoded: "x", identifier: "x" } });
      expectMatch((await player.get()).json, { volume: 30, paused: false, filters: { volume: 0.5 } }, "player");
    },
  ],
  [
    "a field that is not sent stays",
    "sheet 2",
    async (bench) => {
      const player = await bench.player();
      await player.update({ volume: 50, paused: true });
      expectMatch(await player.update({ filters: { volume: 0.5 } }), { volume: 50, paused: true }, "player");
    },
  ],
  [
    "position is where a new track starts",
    "sheet 2.7 step 10.5",
    async (bench) => {
      const player = await bench.player();
      const json = await player.update({ track: { encoded: SOME_TRACK }, position: 4000, paused: true });
      expectMatch(json.state.position, 4000, "state.position");
    },
  ],
  [
    "a negative position is the start",
    "sheet 2.9",
    async (bench) => {
      const player = await bench.player();
      const json = await player.update({ track: { encoded: SOME_TRACK }, position: -5, paused: true });
      expectMatch(json.state.position, 0, "state.position");
    },
  ],
  [
    "a new track ends the pause",
    "sheet 2.7 step 10.2",
    async (bench) => {
      const player = await bench.player();
      await player.update({ paused: true });
      expectMatch((await player.play("tone.wav")).paused, false, "paused");
    },
    "media",
  ],
  [
    "a new track can start paused",
    "sheet 2.7 step 10.2",
    async (bench) =>
      expectMatch((await (await bench.player()).play("tone.wav", { paused: true })).paused, true, "paused"),
    "media",
  ],
  [
    "volume and filters outlive the track",
    "sheet 2.7",
    async (bench) => {
      const player = await bench.busyPlayer("tone.wav", { volume: 70, filters: { volume: 0.5 } });
      expectMatch(await player.play("other.wav"), { volume: 70, filters: { volume: 0.5 } }, "player");
    },
    "media",
  ],
  [
    "encoded null stops: TrackEnd stopped and no track",
    "sheet 2.7 step 10.4",
    async (bench) => {
      const player = await bench.busyPlayer();
      expectMatch((await player.update({ track: { encoded: null } })).track, null, "track");
      expectMatch((await player.untilEvent("TrackEndEvent")).reason, "stopped", "reason");
    },
    "media",
  ],
  [
    "encodedTrack null stops as well",
    "spec Player",
    async (bench) =>
      expectMatch((await (await bench.busyPlayer()).update({ encodedTrack: null })).track, null, "track"),
    "media",
  ],
  [
    "the deprecated encodedTrack plays",
    "spec Player",
    async (bench) => {
      const json = await (await bench.player()).update({ encodedTrack: SOME_TRACK, paused: true });
      expectMatch(json.track?.encoded, SOME_TRACK, "track.encoded");
    },
  ],
  [
    "the deprecated identifier plays",
    "spec Player",
    async (bench) => {
      const json = await (await bench.player()).update({ identifier: bench.url("tone.wav"), paused: true });
      expectMatch(json.track?.info?.uri, bench.url("tone.wav"), "track.info.uri");
    },
    "media",
  ],
  [
    "an empty track object changes no track",
    "sheet 2.7 step 5",
    async (bench) => {
      const player = await bench.busyPlayer();
      expectMatch((await player.update({ track: {} })).track?.info?.uri, bench.url("tone.wav"), "track.info.uri");
    },
    "media",
  ],
  [
    "userData goes to the new track",
    "sheet 2.7 step 10.5",
    async (bench) => {
      const player = await bench.player();
      const json = await player.update({ track: { encoded: SOME_TRACK, userData: { a: 1 } }, paused: true });
      expectMatch(json.track?.userData, exactly({ a: 1 }), "userData");
    },
  ],
  [
    "userData without a track replaces that of the playing track as a whole",
    "sheet 2.6",
    async (bench) => {
      const player = await bench.player();
      await player.update({ track: { identifier: bench.url("tone.wav"), userData: { a: 1 } } });
      expectMatch(
        (await player.update({ track: { userData: { b: 2 } } })).track?.userData,
        exactly({ b: 2 }),
        "userData",
      );
    },
    "media",
  ],
  [
    "userData without a track is ignored",
    "sheet 2.7 step 5",
    async (bench) => expectMatch((await (await bench.player()).update({ track: { userData: { a: 1 } } })).track, null),
  ],
  [
    "noReplace keeps the current track",
    "sheet 2.7 step 10.1",
    async (bench) => {
      const player = await bench.busyPlayer();
      const json = await player.update({ track: { identifier: bench.url("other.wav") } }, "?noReplace=true");
      expectMatch(json.track?.info?.uri, bench.url("tone.wav"), "track.info.uri");
      expectMatch(player.eventNames, ["TrackStart"], "events");
    },
    "media",
  ],
  [
    "noReplace keeps a paused track too",
    "sheet 2.7 step 10.1",
    async (bench) => {
      const player = await bench.busyPlayer("tone.wav", { paused: true });
      const json = await player.update({ track: { encoded: SOME_TRACK } }, "?noReplace=true");
      expectMatch(json, { paused: true, track: { info: { uri: bench.url("tone.wav") } } }, "player");
    },
    "media",
  ],
  [
    "noReplace protects from encoded null",
    "sheet 2.7 step 10.1",
    async (bench) => {
      const player = await bench.busyPlayer();
      const json = await player.update({ track: { encoded: null } }, "?noReplace=true");
      expectMatch(json.track?.info?.uri, bench.url("tone.wav"), "track.info.uri");
    },
    "media",
  ],
  [
    "noReplace ignores pause, position and userData of its request, but applies volume and filters",
    "sheet 2.7 step 10.1",
    async (bench) => {
      const player = await bench.busyPlayer("tone.wav", { paused: false });
      const body = {
        track: { encoded: SOME_TRACK, userData: { a: 1 } },
        paused: true,
        position: 9000,
        volume: 20,
        filters: { volume: 0.5 },
      };
      const json = await player.update(body, "?noReplace=true");
      expectMatch(
        json,
        { paused: false, volume: 20, filters: { volume: 0.5 }, track: { userData: exactly({}) } },
        "player",
      );
    },
    "media",
  ],
  [
    "noReplace plays when nothing plays",
    "spec States",
    async (bench) => {
      const player = await bench.player();
      const json = await player.update({ track: { encoded: SOME_TRACK }, paused: true }, "?noReplace=true");
      expectMatch(json.track?.encoded, SOME_TRACK, "track.encoded");
    },
  ],
  [
    "noReplace does not keep changes without a track from taking effect",
    "sheet 2.7 step 10.1",
    async (bench) => {
      const player = await bench.busyPlayer();
      expectMatch((await player.update({ paused: true }, "?noReplace=true")).paused, true, "paused");
    },
    "media",
  ],
  [
    "a seek is answered with its target",
    "sheet 3.2",
    async (bench) => {
      const player = await bench.busyPlayer("tone.wav", { paused: true });
      expectMatch((await player.update({ position: 5000 })).state.position, 5000, "state.position");
    },
    "media",
  ],
  [
    "updates of one player take effect in the order they were sent",
    "sheet 2.7",
    async (bench) => {
      const player = await bench.busyPlayer();
      await player.update({ volume: 1 });
      const volumes = Array.from({ length: 20 }, (_, index) => index + 2);
      for (const volume of volumes) expectMatch((await player.update({ volume })).volume, volume, "volume");
    },
    "media",
  ],
]);

export const playerChecks: readonly Check[] = [...players, ...order];
