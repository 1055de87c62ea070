// Sessions: their settings, their lifetime, and how a client resumes after a lost connection.

import { sleep } from "../../sleep.ts";
import type { Bot } from "../../test-environment/bot.ts";
import { type Check, checksOf } from "../workbench/check.ts";
import { exactly, expectMatch, where } from "../workbench/expectation.ts";
import type { Json, Reply } from "../workbench/node-client.ts";
import { expectError, expectStatus, PLAYER_STATE } from "../workbench/shapes.ts";
import type { Workbench } from "../workbench/workbench.ts";

const POLL_MS = 25;
const POLL_COUNT = 200;

function configure(bench: Workbench, session: Bot, body: unknown): Promise<Reply> {
  return bench.http.request("PATCH", `/v4/sessions/${session.sessionId}`, { body });
}

/** Makes a client with a resumable session lose its connection. */
async function park(bench: Workbench, session: Bot): Promise<void> {
  await configure(bench, session, { resuming: true, timeout: 30 });
  session.terminate();
  await untilGone(bench, session);
}

/** A resumable session whose client has disconnected. */
async function parked(bench: Workbench): Promise<Bot> {
  const session = await bench.session();
  await park(bench, session);
  return session;
}

/** Polls until the node has noticed that a client has disconnected: REST no longer knows its session. */
async function untilGone(bench: Workbench, { sessionId }: Bot): Promise<void> {
  for (let attempt = 0; attempt < POLL_COUNT; attempt++) {
    if ((await bench.http.get(`/v4/sessions/${sessionId}/players`)).status === 404) return;
    await sleep(POLL_MS);
  }
  throw new Error("the node does not notice that a client has disconnected");
}

const settings = checksOf("sessions", [
  [
    "settings begin as not resuming, 60 seconds",
    "spec Session; sheet 2.2",
    async (bench) => {
      const reply = await configure(bench, await bench.session(), {});
      expectStatus(reply, 200);
      expectMatch(reply.json, exactly({ resuming: false, timeout: 60 }), "settings");
    },
  ],
  [
    "both settings are stored and echoed",
    "spec Session",
    async (bench) => {
      const reply = await configure(bench, await bench.session(), { resuming: true, timeout: 5 });
      expectMatch(reply.json, exactly({ resuming: true, timeout: 5 }), "settings");
    },
  ],
  [
    "a setting that is not sent stays",
    "sheet 2",
    async (bench) => {
      const session = await bench.session();
      await configure(bench, session, { timeout: 7 });
      expectMatch(
        (await configure(bench, session, { resuming: true })).json,
        { resuming: true, timeout: 7 },
        "settings",
      );
    },
  ],
  [
    "timeout null is 400",
    "sheet 2",
    async (bench) => expectError(await configure(bench, await bench.session(), { timeout: null }), 400),
  ],
  [
    "resuming as a number is 400",
    "sheet 1.5",
    async (bench) => expectError(await configure(bench, await bench.session(), { resuming: 1 }), 400),
  ],
  [
    "settings as text are accepted",
    "sheet 1.5",
    async (bench) => {
      const reply = await configure(bench, await bench.session(), { resuming: "true", timeout: "9" });
      expectMatch(reply.json, { resuming: true, timeout: 9 }, "settings");
    },
  ],
  [
    "a session has no players at first",
    "sheet 2.5",
    async (bench) => {
      const { sessionId } = await bench.session();
      expectMatch((await bench.http.get(`/v4/sessions/${sessionId}/players`)).json, [], "players");
    },
  ],
  [
    "sessions of one user do not see each other's players",
    "spec Player",
    async (bench) => {
      const player = await bench.player();
      await player.update({});
      const other = await bench.session();
      const path = `/v4/sessions/${other.sessionId}/players/${player.guildId}`;
      expectError(await bench.http.get(path), 404, "Player not found");
    },
  ],
  [
    "a session that does not resume ends with its connection",
    "spec States",
    async (bench) => {
      const session = await bench.session();
      session.terminate();
      await untilGone(bench, session);
      const next = await bench.session({ sessionId: session.sessionId });
      expectMatch(next.messages[0], { op: "ready", resumed: false }, "ready");
    },
  ],
]);

const resuming = checksOf("resuming", [
  [
    "REST does not know a session whose client has disconnected",
    "sheet 1.4",
    async (bench) => {
      const { sessionId } = await parked(bench);
      expectError(await bench.http.get(`/v4/sessions/${sessionId}/players`), 404, "Session not found");
    },
  ],
  [
    "Session-Id brings the session back: header and ready say so",
    "sheet 4.7",
    async (bench) => {
      const { sessionId } = await parked(bench);
      const back = await bench.session({ sessionId });
      expectMatch(back.handshakeHeaders["session-resumed"], "true", "Session-Resumed");
      expectMatch(back.messages[0], exactly({ op: "ready", resumed: true, sessionId }), "first message");
    },
  ],
  [
    "settings survive",
    "sheet 2.2",
    async (bench) => {
      const { sessionId } = await parked(bench);
      const back = await bench.session({ sessionId });
      expectMatch((await configure(bench, back, {})).json, { resuming: true, timeout: 30 }, "settings");
    },
  ],
  [
    "players survive with all their state",
    "spec States",
    async (bench) => {
      const player = await bench.player();
      await player.update({ volume: 42, paused: true, filters: { volume: 0.5 } });
      await park(bench, player.session);
      await bench.session({ sessionId: player.session.sessionId });
      expectMatch((await player.get()).json, { volume: 42, paused: true, filters: { volume: 0.5 } }, "player");
    },
  ],
  [
    "one playerUpdate for each player follows",
    "sheet 4.7",
    async (bench) => {
      const guildIds = ["11", "12"];
      const session = await bench.session();
      for (const guildId of guildIds) await session.update(guildId, {});
      await park(bench, session);
      const back = await bench.session({ sessionId: session.sessionId });
      for (const guildId of guildIds) {
        const isIt = (one: Json) => one.op === "playerUpdate" && one.guildId === guildId;
        expectMatch(await back.until(isIt, "a playerUpdate"), { state: PLAYER_STATE }, "playerUpdate");
      }
    },
  ],
  [
    "events from before come first and in order, after ready",
    "sheet 4.7",
    async (bench) => {
      const player = await bench.connectedPlayer();
      await player.play("tone.wav", { endTime: 1200 });
      await player.untilEvent("TrackStartEvent");
      await park(bench, player.session);
      const voice = bench.discord.session(player.guildId);
      const isOver = () => voice.audioFrameCount > 0 && voice.speaking === 0;
      await bench.discord.until(isOver, "the end of the track");
      await bench.http.get("/v4/stats"); // by now the node has sent everything about the end
      const back = await bench.session({ sessionId: player.session.sessionId });
      await back.untilEvent("TrackEndEvent");
      const names = back.messages.filter(({ op }) => op !== "stats").map(({ op, type }) => type ?? op);
      expectMatch(names.slice(0, 2), ["ready", "TrackEndEvent"], "messages");
    },
    "media",
    "voice",
  ],
  [
    "an unknown Session-Id makes a new session",
    "sheet 4.7",
    async (bench) => {
      const session = await bench.session({ sessionId: "nosuchsession123" });
      expectMatch(session.handshakeHeaders["session-resumed"], "false", "Session-Resumed");
      expectMatch(session.messages[0], { op: "ready", resumed: false }, "ready");
      expectMatch(
        session.sessionId,
        where("a new id", (id) => id !== "nosuchsession123"),
        "sessionId",
      );
    },
  ],
  [
    "the id of a session whose client is connected creates a new session and leaves the old one unchanged",
    "sheet 4.7",
    async (bench) => {
      const old = await bench.session();
      await configure(bench, old, { resuming: true });
      const other = await bench.session({ sessionId: old.sessionId });
      expectMatch(
        other.sessionId,
        where("a new id", (id) => id !== old.sessionId),
        "sessionId",
      );
      await old.ping();
      expectStatus(await configure(bench, old, {}), 200);
    },
  ],
  [
    "timeout 0 ends the session at once",
    "spec States",
    async (bench) => {
      const session = await bench.session();
      await configure(bench, session, { resuming: true, timeout: 0 });
      session.terminate();
      await untilGone(bench, session);
      const next = await bench.session({ sessionId: session.sessionId });
      expectMatch(next.messages[0], { op: "ready", resumed: false }, "ready");
    },
  ],
  [
    "the session ends when its timeout has passed",
    "spec States",
    async (bench) => {
      const session = await bench.session();
      await configure(bench, session, { resuming: true, timeout: 1 });
      session.terminate();
      await untilGone(bench, session);
      await sleep(2000);
      const next = await bench.session({ sessionId: session.sessionId });
      expectMatch(next.messages[0], { op: "ready", resumed: false }, "ready");
    },
  ],
  [
    "a session can be resumed again and again",
    "sheet 4.7",
    async (bench) => {
      const { sessionId } = await parked(bench);
      for (let round = 0; round < 3; round++) {
        const back = await bench.session({ sessionId });
        expectMatch(back.messages[0], { op: "ready", resumed: true, sessionId }, "ready");
        back.terminate();
        await untilGone(bench, back);
      }
    },
  ],
  [
    "a connection that is closed properly can be resumed too",
    "sheet 4.7",
    async (bench) => {
      const session = await bench.session();
      await configure(bench, session, { resuming: true, timeout: 30 });
      session.close();
      await untilGone(bench, session);
      const back = await bench.session({ sessionId: session.sessionId });
      expectMatch(back.messages[0], { op: "ready", resumed: true }, "ready");
    },
  ],
]);

export const sessionChecks: readonly Check[] = [...settings, ...resuming];
