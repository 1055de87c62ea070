// Audio players as an audio worker makes them, on a clock that stands still, with a voice and songs of the test's.

import type { PlayCommand } from "../../src/bridge/commands.ts";
import { FRAME_MS } from "../../src/media/format/audio-format.ts";
import { AudioPlayer, type PlayerContext } from "../../src/media/player/audio-player.ts";
import { createRepairBuckets } from "../../src/media/player/silence-watch.ts";
import { TickLoop } from "../../src/media/scheduler/tick-loop.ts";
import type { Voice } from "../../src/media/voice/voice.ts";
import { createErrorBoundary } from "./error-boundaries.ts";
import type { FakeClock } from "./fake-clock.ts";
import { createTrackBudget } from "./track-budgets.ts";

export const STUCK_MS = 10_000;

interface AudioPlayerTraits extends Pick<PlayerContext, "clock" | "open" | "send"> {
  readonly voice: Voice;
  /** Default: songs are Opus that is passed through, and requesting another codec is an error. */
  readonly codecs?: PlayerContext["codecs"];
  /** Default: unlimited. */
  readonly createBudget?: PlayerContext["createBudget"];
  /** Default 0: a frame is made when the one before is sent. */
  readonly lookAheadFrames?: number;
}

const NO_CODECS: PlayerContext["codecs"] = {
  createDecoder: () => Promise.reject(new Error("nothing is decoded here")),
  acquireEncoder: () => Promise.reject(new Error("nothing is encoded here")),
  releaseEncoder: () => undefined,
};

/** Player 1, which is not connected yet. */
export function createAudioPlayer(traits: AudioPlayerTraits): AudioPlayer {
  const { clock, open, send, voice, codecs = NO_CODECS, lookAheadFrames = 0 } = traits;
  const context: PlayerContext = {
    clock,
    loop: new TickLoop(clock, createErrorBoundary().boundary, {
      lookAheadFrames,
      burstFrames: lookAheadFrames > 1 ? 3 : 1,
    }),
    open,
    codecs,
    createBudget: traits.createBudget ?? ((taskId) => createTrackBudget({ clock, taskId })),
    trackStuckThresholdMs: STUCK_MS,
    repairs: createRepairBuckets(clock),
    send,
  };
  return new AudioPlayer(1, context, async () => voice);
}

/** Connects the player; before that it has no listener. */
export async function connectPlayer(player: AudioPlayer): Promise<void> {
  await player.connectVoice(1, { token: "t", endpoint: "voice.example", sessionId: "s", channelId: "1" });
}

/** Track 1 of player 1 from its beginning, unless `changes` says otherwise. */
export function playCommand(changes: Partial<PlayCommand> = {}): PlayCommand {
  const input = { kind: "local", path: "/song", container: undefined } as const;
  const whole = { trackId: 1, startMs: 0, endMs: undefined, lengthMs: undefined, isPaused: false };
  return { type: "play", playerId: 1, owner: ["address test"], input, ...whole, ...changes };
}

/** The time of `count` frames, with the reads between them that a real worker would do. */
export async function tickFrames(clock: FakeClock, count: number): Promise<void> {
  for (let index = 0; index < count; index++) {
    clock.advance(FRAME_MS);
    await readAhead();
  }
}

/** Completes due reads, without time passing. */
export async function readAhead(iterations = 10): Promise<void> {
  for (let iteration = 0; iteration < iterations; iteration++) await new Promise((next) => setImmediate(next));
}
