// The events of a client's tracks, their order and reasons.

import { type Check, checksOf } from "../workbench/check.ts";
import { encodeTrack, httpTrack } from "../workbench/encoded-track.ts";
import { exactly, expectMatch, matching, where } from "../workbench/expectation.ts";
import { EXCEPTION, PLAYER_STATE, TRACK } from "../workbench/shapes.ts";
import type { PlayerUnderTest, Workbench } from "../workbench/workbench.ts";

/** A player in voice whose track has ended by itself. */
async function ended(bench: Workbench, file: string, body: object = {}): Promise<PlayerUnderTest> {
  const player = await bench.connectedPlayer();
  await player.play(file, body);
  await player.untilEvent("TrackEndEvent");
  return player;
}

/** A player whose track cannot be opened. */
async function failed(bench: Workbench): Promise<PlayerUnderTest> {
  const player = await bench.connectedPlayer();
  await player.update({ track: { encoded: encodeTrack(httpTrack(bench.url("404"))) } });
  await player.untilEvent("TrackEndEvent");
  return player;
}

export const eventChecks: readonly Check[] = checksOf("events", [
  [
    "TrackStartEvent has its guild and the whole track",
    "sheet 4.6",
    async (bench) => {
      const player = await bench.busyPlayer();
      const event = await player.untilEvent("TrackStartEvent");
      const { guildId } = player;
      expectMatch(event, exactly({ op: "event", type: "TrackStartEvent", guildId, track: exactly(TRACK) }), "event");
    },
    "media",
  ],
  [
    "TrackStartEvent reports the start position",
    "sheet 4.6",
    async (bench) => {
      const player = await bench.busyPlayer("tone.wav", { position: 3000 });
      expectMatch((await player.untilEvent("TrackStartEvent")).track.info.position, 3000, "position");
    },
    "media",
  ],
  [
    "a start sends playerUpdates",
    "sheet 4.4",
    async (bench) => {
      const player = await bench.busyPlayer();
      const update = await player.untilUpdate(() => true, "a playerUpdate");
      expectMatch(
        update,
        exactly({ op: "playerUpdate", guildId: player.guildId, state: PLAYER_STATE }),
        "playerUpdate",
      );
    },
    "media",
  ],
  [
    "a track that ends by itself has finished",
    "sheet 4.6",
    async (bench) => {
      const player = await ended(bench, "short.wav");
      expectMatch(player.eventNames, ["TrackStart", "TrackEnd(finished)"], "events");
      expectMatch((await player.get()).json?.track, null, "track");
    },
    "media",
    "voice",
  ],
  [
    "TrackEndEvent has guild, track and reason, and the position reached",
    "sheet 4.6",
    async (bench) => {
      const player = await ended(bench, "short.wav");
      const event = await player.untilEvent("TrackEndEvent");
      const { guildId } = player;
      const shape = { op: "event", type: "TrackEndEvent", guildId, track: exactly(TRACK), reason: "finished" };
      expectMatch(event, exactly(shape), "event");
      const nearEnd = where("a position near 600", (value) => Number(value) >= 500 && Number(value) <= 700);
      expectMatch(event.track.info.position, nearEnd, "position");
    },
    "media",
    "voice",
  ],
  [
    "a track that is replaced ends before the new one starts",
    "sheet 4.6",
    async (bench) => {
      const player = await bench.busyPlayer();
      await player.play("other.wav");
      await player.session.ping();
      expectMatch(player.eventNames, ["TrackStart", "TrackEnd(replaced)", "TrackStart"], "events");
      const uris = player.messages.filter(({ op }) => op === "event").map(({ track }) => track.info.uri);
      expectMatch(
        uris,
        ["tone.wav", "tone.wav", "other.wav"].map((file) => bench.url(file)),
        "tracks",
      );
    },
    "media",
  ],
  [
    "a destroyed player's track has been stopped",
    "sheet 2.10",
    async (bench) => {
      const player = await bench.busyPlayer();
      await player.destroy();
      expectMatch((await player.untilEvent("TrackEndEvent")).reason, "stopped", "reason");
    },
    "media",
  ],
  [
    "a source that fails at once: start, exception, end with loadFailed",
    "sheet 4.6",
    async (bench) => {
      const player = await failed(bench);
      expectMatch(player.eventNames, ["TrackStart", "TrackException", "TrackEnd(loadFailed)"], "events");
    },
    "media",
    "voice",
  ],
  [
    "TrackExceptionEvent has message, severity and cause",
    "sheet 3.5 and 4.6",
    async (bench) => {
      const player = await failed(bench);
      const event = await player.untilEvent("TrackExceptionEvent");
      const { guildId } = player;
      const shape = { op: "event", type: "TrackExceptionEvent", guildId, track: exactly(TRACK), exception: EXCEPTION };
      expectMatch(event, exactly(shape), "event");
    },
    "media",
    "voice",
  ],
  [
    "a player plays another track after one that failed",
    "sheet 4.6",
    async (bench) => {
      const player = await failed(bench);
      await player.play("tone.wav");
      await player.untilUpdate(({ position }) => position > 0, "a position that moves");
    },
    "media",
    "voice",
  ],
  [
    "the end time ends a track as finished",
    "sheet 2.8",
    async (bench) => {
      const player = await ended(bench, "tone.wav", { endTime: 600 });
      expectMatch(player.eventNames, ["TrackStart", "TrackEnd(finished)"], "events");
    },
    "media",
    "voice",
  ],
  [
    "an end time can be set while a track plays",
    "sheet 2.8",
    async (bench) => {
      const player = await bench.connectedPlayer();
      await player.play("tone.wav");
      await player.update({ endTime: 1500 });
      expectMatch((await player.untilEvent("TrackEndEvent")).reason, "finished", "reason");
    },
    "media",
    "voice",
  ],
  [
    "a seek past the end time ends the track as finished",
    "sheet 2.8",
    async (bench) => {
      const player = await bench.connectedPlayer();
      await player.play("tone.wav", { endTime: 5000 });
      await player.untilUpdate(() => true, "a playerUpdate");
      await player.update({ position: 8000 });
      expectMatch((await player.untilEvent("TrackEndEvent")).reason, "finished", "reason");
    },
    "media",
    "voice",
  ],
  [
    "endTime null takes the end time away",
    "spec Limits",
    async (bench) => {
      const player = await bench.connectedPlayer();
      await player.play("tone.wav", { endTime: 4000, position: 200 });
      await player.update({ endTime: null });
      await player.untilUpdate(({ position }) => position > 4100, "a position behind the old end time");
      expectMatch(player.eventNames, ["TrackStart"], "events");
    },
    "media",
    "voice",
  ],
  [
    "an end time that has passed already is ignored",
    "sheet 2.8",
    async (bench) => {
      const player = await bench.connectedPlayer();
      await player.play("tone.wav", { position: 3000, endTime: 1000 });
      await player.untilUpdate(({ position }) => position > 3000, "a position behind the end time");
      expectMatch(player.eventNames, ["TrackStart"], "events");
    },
    "media",
    "voice",
  ],
  [
    "a seek beyond the end ends the track as finished",
    "sheet 2.9",
    async (bench) => {
      const player = await bench.connectedPlayer();
      await player.play("tone.wav");
      await player.update({ position: 999_999 });
      expectMatch((await player.untilEvent("TrackEndEvent")).reason, "finished", "reason");
    },
    "media",
    "voice",
  ],
  [
    "pause, volume and filters send no events",
    "sheet 4.6",
    async (bench) => {
      const player = await bench.busyPlayer();
      await player.update({ paused: true });
      await player.update({ paused: false, volume: 50, filters: { volume: 0.5 } });
      await player.session.ping();
      expectMatch(player.eventNames, ["TrackStart"], "events");
    },
    "media",
  ],
  [
    "events carry the current userData of their track",
    "sheet 4.6",
    async (bench) => {
      const player = await bench.player();
      await player.update({ track: { identifier: bench.url("tone.wav"), userData: { a: 1 } } });
      await player.update({ track: { userData: { b: 2 } } });
      await player.update({ track: { encoded: null } });
      expectMatch((await player.untilEvent("TrackStartEvent")).track.userData, exactly({ a: 1 }), "at the start");
      expectMatch((await player.untilEvent("TrackEndEvent")).track.userData, exactly({ b: 2 }), "at the end");
    },
    "media",
  ],
  [
    "a seek sends a playerUpdate with its target",
    "sheet 4.4",
    async (bench) => {
      const player = await bench.busyPlayer("tone.wav", { paused: true });
      await player.update({ position: 7000 });
      await player.untilUpdate(({ position }) => position === 7000, "a playerUpdate at 7000");
    },
    "media",
  ],
  [
    "playerUpdates are sent while a track plays and while it is paused",
    "sheet 4.4",
    async (bench) => {
      const player = await bench.busyPlayer("tone.wav", { paused: true });
      await player.session.ping();
      const count = player.updates.length;
      const more = () => player.updates.length > count;
      await player.session.until(more, "another playerUpdate", 15_000);
    },
    "media",
  ],
  [
    "guild ids are text in every message",
    "sheet 9.1",
    async (bench) => {
      const player = await bench.busyPlayer();
      await player.session.ping();
      for (const { guildId } of player.messages) expectMatch(guildId, matching(/^\d+$/), "guildId");
    },
    "media",
  ],
]);
