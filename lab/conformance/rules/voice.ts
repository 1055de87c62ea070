// Voice: joining, sending audio, moving, being disconnected, and the messages the client receives about it.

import { sleep } from "../../sleep.ts";
import { type Check, checksOf } from "../workbench/check.ts";
import { atLeast, exactly, expectMatch, oneOf, where } from "../workbench/expectation.ts";
import { expectError, expectStatus } from "../workbench/shapes.ts";
import type { PlayerUnderTest, Workbench } from "../workbench/workbench.ts";

/** A connected player whose music a listener receives. */
async function audiblePlayer(bench: Workbench): Promise<PlayerUnderTest> {
  const player = await bench.connectedPlayer();
  await player.play("tone.wav");
  await receiveMore(bench, player, 25);
  return player;
}

/** Resolves when the listener in the first channel has received `frameCount` more frames. */
async function receiveMore(bench: Workbench, { guildId }: PlayerUnderTest, frameCount: number): Promise<void> {
  const { listener } = bench.discord.channel(`${guildId}7`);
  const enough = listener.receivedAudio.length + frameCount;
  await bench.discord.until(() => listener.receivedAudio.length >= enough, `${enough} frames of audio`);
}

const REPORTED_CODES = [4004, 4006, 4011, 4014] as const;
const SILENT_CODES = [4001, 4015] as const;

const closes = [
  ...REPORTED_CODES.flatMap((code) =>
    checksOf("voice", [
      [
        `Discord's close ${code} is reported, and the player keeps its track`,
        `recording voice-close-${code}; sheet 4.6`,
        async (bench) => {
          const player = await audiblePlayer(bench);
          bench.discord.session(player.guildId).close(code, "test");
          const event = await player.untilEvent("WebSocketClosedEvent");
          const { guildId } = player;
          const shape = { op: "event", type: "WebSocketClosedEvent", guildId, code, reason: "test", byRemote: true };
          expectMatch(event, exactly(shape), "event");
          await player.untilUpdate(({ connected }) => !connected, "a playerUpdate without connection");
          const { json } = await player.get();
          expectMatch(json, { track: { info: { uri: bench.url("tone.wav") } }, state: { connected: false } }, "player");
        },
        "media",
        "voice",
      ],
    ]),
  ),
  ...SILENT_CODES.flatMap((code) =>
    checksOf("voice", [
      [
        `the node recovers from Discord's close ${code} without a message`,
        `recording voice-close-${code}; sheet 4.6`,
        async (bench) => {
          const player = await audiblePlayer(bench);
          bench.discord.session(player.guildId).close(code, "test");
          await receiveMore(bench, player, 50);
          expectMatch(player.eventNames, ["TrackStart"], "events");
        },
        "media",
        "voice",
      ],
    ]),
  ),
];

const calls = checksOf("voice", [
  [
    "voice data join: the answer is connected, or a playerUpdate says so soon",
    "sheet 2.7 step 4",
    async (bench) => {
      const player = await bench.player();
      const voice = player.issueVoice();
      const json = await player.update({ voice });
      expectMatch(json.voice, exactly({ ...voice }), "voice");
      await player.untilUpdate(({ connected }) => connected, "a playerUpdate that is connected");
      expectMatch((await player.get()).json?.state, { connected: true, ping: atLeast(0) }, "state");
    },
    "voice",
  ],
  [
    "music is received, and the position follows it",
    "sheet 3.2",
    async (bench) => {
      const player = await audiblePlayer(bench);
      await receiveMore(bench, player, 25);
      expectMatch(
        (await player.get()).json?.state?.position,
        where("from 500 to 14000", between(500, 14_000)),
        "position",
      );
    },
    "media",
    "voice",
  ],
  [
    "a track and voice data in one PATCH play",
    "recording play-and-voice-one-patch-then-ws-drop",
    async (bench) => {
      const player = await bench.player();
      await player.play("tone.wav", { voice: player.issueVoice(), position: 5000, volume: 50 });
      await receiveMore(bench, player, 25);
      expectMatch((await player.get()).json?.state?.position, where("beyond 5000", between(5001, 15_000)), "position");
    },
    "media",
    "voice",
  ],
  [
    "the same voice data again change nothing",
    "sheet 2.7 step 4",
    async (bench) => {
      const player = await bench.player();
      const voice = await player.connect();
      await player.update({ voice });
      await player.session.ping();
      expectMatch(player.eventNames, [], "events");
      expectMatch(bench.discord.session(player.guildId).identifyCount, 1, "identifies");
    },
    "voice",
  ],
  [
    "a move reports the end of the old connection, then the new one",
    "recording voice-channel-move; sheet 4.6",
    async (bench) => {
      const player = await bench.connectedPlayer();
      const before = player.messages.length;
      await player.update({ voice: player.issueVoice(8) });
      await player.untilEvent("WebSocketClosedEvent");
      const isBack = () =>
        player.messages.slice(before).some(({ op, state }) => op === "playerUpdate" && state.connected);
      await player.session.until(isBack, "a playerUpdate that is connected");
      const received = player.messages
        .slice(before)
        .map((one) => (one.op === "event" ? one.type : one.state.connected));
      expectMatch(received.slice(0, 3), ["WebSocketClosedEvent", false, true], "messages");
      const { code, reason, byRemote } = await player.untilEvent("WebSocketClosedEvent");
      expectMatch({ code, reason, byRemote }, { code: 1000, reason: "", byRemote: false }, "event");
    },
    "voice",
  ],
  [
    "DELETE: the track ends, then the connection, then a last playerUpdate",
    "recording destroy-while-playing; sheet 2.10",
    async (bench) => {
      const player = await audiblePlayer(bench);
      const before = player.messages.length;
      await player.destroy();
      await player.untilUpdate(({ connected }) => !connected, "a playerUpdate without connection");
      const received = player.messages.slice(before).filter(({ op, state }) => op === "event" || !state.connected);
      const events = [{ reason: "stopped" }, { code: 1000, reason: "", byRemote: false }];
      expectMatch(received, [...events, { state: { connected: false, ping: -1 } }], "messages");
    },
    "media",
    "voice",
  ],
  [
    "a paused player is silent and its position stands",
    "recording play-seek-pause",
    async (bench) => {
      const player = await audiblePlayer(bench);
      await player.update({ paused: true });
      const session = bench.discord.session(player.guildId);
      await bench.discord.until(() => session.speaking === 0, "the end of speaking");
      const { position } = (await player.get()).json.state;
      await sleep(200);
      expectMatch((await player.get()).json?.state?.position, position, "position");
      await player.update({ paused: false });
      await receiveMore(bench, player, 10);
    },
    "media",
    "voice",
  ],
  [
    "a seek moves the position",
    "recording play-http-seek-range",
    async (bench) => {
      const player = await audiblePlayer(bench);
      await player.update({ position: 10_000 });
      // Half a second of audio may still be from before the seek.
      let position: unknown;
      for (let tries = 0; tries < 10 && !(Number(position) > 10_000); tries++) {
        await receiveMore(bench, player, 25);
        position = (await player.get()).json?.state?.position;
      }
      expectMatch(position, where("beyond 10000", between(10_001, 15_000)), "position");
    },
    "media",
    "voice",
  ],
  [
    "music resumes after a lost connection, without a message to the client",
    "recording voice-tcp-drop",
    async (bench) => {
      const player = await audiblePlayer(bench);
      bench.discord.session(player.guildId).terminate();
      await receiveMore(bench, player, 50);
      expectMatch(player.eventNames, ["TrackStart"], "events");
    },
    "media",
    "voice",
  ],
  [
    "a voice server that does not know the session is reported to the client",
    "recording voice-identify-4006",
    async (bench) => {
      const player = await bench.player();
      const voice = player.issueVoice();
      bench.discord.session(player.guildId).faults.add("ready", { kind: "close", code: 4006, reason: "test" }, 9);
      const reply = await player.patch({ voice });
      if (reply.status === 500) expectError(reply, 500, "Failed to connect to voice server");
      else {
        expectStatus(reply, 200);
        expectMatch((await player.untilEvent("WebSocketClosedEvent")).code, 4006, "code");
      }
    },
    "voice",
  ],
  [
    "an unreachable voice server is answered in time",
    "design 7; recording player-voice-refused",
    async (bench) => {
      const player = await bench.player();
      const voice = { token: "t", endpoint: "127.0.0.1:1", sessionId: "s", channelId: "1" };
      const reply = await player.patch({ voice });
      expectMatch(reply.status, oneOf(200, 500), "status");
      if (reply.status === 200) expectMatch(reply.json?.state?.connected, false, "connected");
      else expectError(reply, 500, "Failed to connect to voice server");
    },
  ],
  [
    "nothing was sent that Discord refuses",
    "discord-voice",
    async (bench) => {
      const player = await audiblePlayer(bench);
      await player.destroy();
      const broken = bench.discord.violations.filter(({ guildId }) => guildId === player.guildId);
      expectMatch(broken, [], "violations");
    },
    "media",
    "voice",
  ],
]);

function between(minimum: number, maximum: number): (value: unknown) => boolean {
  return (value) => typeof value === "number" && value >= minimum && value <= maximum;
}

export const voiceChecks: readonly Check[] = [...calls, ...closes];
