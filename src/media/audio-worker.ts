// One audio worker: executes the main thread's commands, owns its players, and reports its state twice a second.
// Everything it needs is passed to the constructor; main.ts connects it to the real world. Audio thread.

import type { MessagePort } from "node:worker_threads";
import type { PlainCommand, PlainEvent, WorkerRequest } from "../bridge/channel.ts";
import type { PlayerId } from "../bridge/commands.ts";
import type { WorkerReplies } from "../bridge/replies.ts";
import { type PlayerReport, packWorkerReport, WORKER_REPORT_INTERVAL_MS } from "../bridge/worker-report.ts";
import { NodeError } from "../errors.ts";
import type { Clock, Timer } from "../lib/clock.ts";
import type { Logger } from "../log/log.ts";
import { FRAME_MS } from "./format/audio-format.ts";
import type { AudioCommand } from "./handoff/relay-messages.ts";
import { RelayPort } from "./handoff/relay-port.ts";
import { RelayedVoice } from "./handoff/relayed-voice.ts";
import type { PacerLink } from "./pacer/pacer-link.ts";
import { FrameShares } from "./pipeline/shared-frames.ts";
import { AudioPlayer, type PlayerContext } from "./player/audio-player.ts";
import { createRepairBuckets } from "./player/silence-watch.ts";
import type { ErrorBoundary } from "./scheduler/error-boundary.ts";
import { TickLoop } from "./scheduler/tick-loop.ts";
import type { Voice } from "./voice/voice.ts";

/** How far ahead frames are made. A worker that is blocked for less than 80 ms causes no audible gap. */
const LOOK_AHEAD_FRAMES = 5;
/** And how many of a player in one go: waking, and finding its data in no cache, costs more than most frames do. */
const BURST_FRAMES = 3;
/**
 * The frames of a remote player are sent by its owner worker, so the render worker cannot know how many it could
 * revoke.
 */
const REMOTE_LOOK_AHEAD_FRAMES = 1;

/** Commands for a player that exists. */
type PlayerCommand = Exclude<
  PlainCommand,
  { readonly type: "createPlayer" | "renderRemotePlayer" | "setComplexity" | "setFilterModules" | "setPacer" | "close" }
>;

interface AudioWorkerOptions {
  readonly clock: Clock;
  /** Reports faults to the worker's `onFault`. */
  readonly boundary: ErrorBoundary;
  readonly logger: Logger;
  readonly open: PlayerContext["open"];
  readonly codecs: PlayerContext["codecs"];
  readonly filterModules?: PlayerContext["filterModules"];
  readonly createBudget: PlayerContext["createBudget"];
  readonly createVoice: (player: AudioPlayer, ids: { guildId: string; userId: string }) => Promise<Voice>;
  readonly trackStuckThresholdMs: number;
  /** Share of the time since the last call in which the thread was busy, 0 to 1. */
  readonly takeThreadLoad: () => number;
  readonly pacer: PacerLink;
  /** A pacer is available, possibly as the replacement of a lost one. */
  readonly setPacer: (given: Extract<PlainCommand, { readonly type: "setPacer" }>) => void;
  readonly setComplexity: (complexity: number) => void;
  /** Sends an event to the main thread. */
  readonly send: (event: PlainEvent) => void;
  /** Answers a request with the result of the work. */
  readonly answer: (request: WorkerRequest, work: Promise<WorkerReplies[WorkerRequest["type"]]>) => void;
  /** Called once everything is closed. */
  readonly onClosed: () => void;
}

export class AudioWorker {
  readonly #options: AudioWorkerOptions;
  readonly #loop: TickLoop;
  readonly #remoteLoop: TickLoop;
  readonly #players = new Map<PlayerId, AudioPlayer>();
  readonly #context: PlayerContext;
  #reportTimer: Timer | undefined;
  /** Last reports of players that have been destroyed. */
  #reportsOfGone: PlayerReport[] = [];

  constructor(options: AudioWorkerOptions) {
    this.#options = options;
    const yieldToPacer = (nowMs: number) => options.pacer.yieldToPacer(nowMs);
    this.#loop = new TickLoop(options.clock, options.boundary, {
      lookAheadFrames: LOOK_AHEAD_FRAMES,
      burstFrames: BURST_FRAMES,
      yieldToPacer,
    });
    this.#remoteLoop = new TickLoop(options.clock, options.boundary, {
      lookAheadFrames: REMOTE_LOOK_AHEAD_FRAMES,
      yieldToPacer,
    });
    const { clock, open, codecs, filterModules, createBudget, trackStuckThresholdMs, send } = options;
    const repairs = createRepairBuckets(clock);
    const tracks = { clock, open, codecs, shares: new FrameShares(), filterModules, createBudget };
    this.#context = { ...tracks, loop: this.#loop, trackStuckThresholdMs, repairs, send };
    if (filterModules !== undefined) filterModules.onChanged = (name) => this.#refreshFilter(name);
    this.#armReport();
  }

  /** True when the thread can be blocked for half of the look-ahead without an audible gap. */
  get areFramesAhead(): boolean {
    return this.#loop.isAhead && this.#remoteLoop.isAhead;
  }

  /** To be called between pieces of work, however many there are: frames come first. */
  catchUp(): void {
    this.#loop.catchUp();
    this.#remoteLoop.catchUp();
  }

  /**
   * Executes one command. A command for a player that no longer exists is dropped: nobody is left to receive its
   * answer.
   */
  execute(command: PlainCommand): void {
    switch (command.type) {
      case "createPlayer":
        this.#options.boundary.run(command.playerId, "command", () => this.#createPlayer(command));
        return;
      case "renderRemotePlayer":
        this.#options.boundary.run(command.playerId, "command", () => this.#renderRemotePlayer(command));
        return;
      case "setComplexity":
        this.#options.setComplexity(command.complexity);
        return;
      case "setFilterModules":
        this.#options.filterModules?.set(command.modules);
        return;
      case "setPacer":
        this.#options.setPacer(command);
        this.#loop.setTurn(command.turn * BURST_FRAMES * FRAME_MS - (this.#options.pacer.end?.offsetMs ?? 0));
        return;
      case "close":
        this.close();
        return;
      default:
        this.#options.boundary.run(command.playerId, "command", () => this.#executeForPlayer(command));
    }
  }

  /** A player's code has thrown: that player ends what it was doing, all others continue. Never throws. */
  onFault(playerId: PlayerId, error: unknown): void {
    const { logger } = this.#options;
    logger.error("player failed: its track or voice connection is ended", { playerId, error });
    const player = this.#players.get(playerId);
    try {
      player?.onFault(error);
    } catch (further) {
      logger.error("failed player could not be ended: unexpected error", { playerId, error: further });
    }
  }

  close(): void {
    this.#reportTimer?.cancel();
    const { boundary } = this.#options;
    for (const player of this.#players.values()) boundary.run(player.playerId, "command", () => player.close());
    this.#players.clear();
    this.#loop.close();
    this.#remoteLoop.close();
    this.#options.pacer.close();
    this.#options.onClosed();
  }

  #createPlayer(command: Extract<PlainCommand, { readonly type: "createPlayer" }>): void {
    if (this.#players.has(command.playerId)) return;
    const { guildId, userId } = command;
    const createVoice = (owner: AudioPlayer) => this.#options.createVoice(owner, { guildId, userId });
    const player = new AudioPlayer(command.playerId, this.#context, createVoice);
    player.setVolume(command.volume);
    player.setFilters(command.filters);
    this.#players.set(command.playerId, player);
  }

  #renderRemotePlayer({ playerId, port }: Extract<PlainCommand, { readonly type: "renderRemotePlayer" }>): void {
    const { clock } = this.#options;
    const voice = new RelayedVoice(this.#relayPort(playerId, port), clock);
    const context = { ...this.#context, loop: this.#remoteLoop };
    const player = new AudioPlayer(playerId, context, () => Promise.resolve(voice));
    player.adoptVoice(voice);
    voice.attach({
      begin: ({ volume, filters, play, seekId, markers }) => {
        player.setVolume(volume);
        player.setFilters(filters);
        player.play({ ...play, playerId }, seekId);
        player.setMarkers(play.trackId, markers);
      },
      onGateChanged: () => player.onGateChanged(),
      execute: (command) => changeAudio(player, { ...command, playerId }),
    });
    this.#players.set(playerId, player);
  }

  #relayPort<Out, In>(playerId: PlayerId, port: MessagePort): RelayPort<Out, In> {
    return new RelayPort(port, (work) => this.#options.boundary.run(playerId, "command", work));
  }

  #executeForPlayer(command: PlayerCommand): void {
    const player = this.#players.get(command.playerId);
    if (player === undefined) {
      if ("requestId" in command) this.#options.answer(command, this.#answerForGone(command));
      return;
    }
    switch (command.type) {
      case "destroyPlayer":
        this.#options.answer(command, this.#destroy(player));
        return;
      case "connectVoice": {
        const { voiceId, credentials, isPatient } = command;
        const work = player.connectVoice(voiceId, credentials, { isPatient });
        this.#options.answer(
          command,
          work.then(() => ({ isConnected: true as const })),
        );
        return;
      }
      case "handOver": {
        const { boundary, clock } = this.#options;
        const { playerId, port } = command;
        player.placement.handOver({ port: this.#relayPort(playerId, port), clock: boundary.clockOf(playerId, clock) });
        return;
      }
      default:
        if (!player.placement.passOn(command)) changeAudio(player, command);
    }
  }

  #answerForGone(command: WorkerRequest): Promise<undefined> {
    if (command.type === "destroyPlayer") return Promise.resolve(undefined);
    return Promise.reject(
      new NodeError("player-destroyed", "the player was destroyed before the request was carried out"),
    );
  }

  async #destroy(player: AudioPlayer): Promise<undefined> {
    this.#players.delete(player.playerId);
    player.close();
    const report = player.takeReport(0);
    if (report !== undefined) this.#reportsOfGone.push(report);
    return undefined;
  }

  #refreshFilter(name: string): void {
    for (const player of this.#players.values())
      this.#options.boundary.run(player.playerId, "command", () => player.refreshFilter(name));
  }

  #armReport(): void {
    this.#reportTimer = this.#options.clock.after(WORKER_REPORT_INTERVAL_MS, () => {
      this.#armReport();
      this.#sendReport();
    });
  }

  #sendReport(): void {
    const { boundary, clock, pacer, send } = this.#options;
    const players = this.#reportsOfGone;
    this.#reportsOfGone = [];
    const epochMs = clock.epochMs();
    const threadLoad = this.#options.takeThreadLoad();
    const hasOthers = [...this.#players.values()].filter(({ isPlaying }) => isPlaying).length > 1;
    let playingCount = 0;
    let heaviestPlayer: PlayerId | undefined;
    let heaviestMs = -1;
    for (const player of this.#players.values()) {
      const { playerId } = player;
      let usedMs = 0;
      boundary.run(playerId, "timer", () => {
        usedMs = player.takeUsedMs();
        if (usedMs > heaviestMs && player.placement.canHandOver) [heaviestPlayer, heaviestMs] = [playerId, usedMs];
        player.checkHealth({ hasOthers, threadLoad });
      });
      if (player.isPlaying) playingCount += 1;
      const report = boundary.run(playerId, "timer", () => player.takeReport(usedMs));
      if (report !== undefined) players.push(report);
    }
    const { latenessMsP99, latenessMsMax, latenessCounts, latenessMsSum } = pacer.takeLateness();
    const worker = {
      threadLoad,
      tickLoad: this.#loop.takeLoad() + this.#remoteLoop.takeLoad(),
      playerCount: this.#players.size,
      playingCount,
      latenessMsP99,
      latenessMsMax,
      lateness: [latenessMsSum, ...latenessCounts],
      heaviestPlayer,
    };
    send(packWorkerReport({ epochMs, worker, players }));
  }
}

/** Executes a command about the audio of a player that is rendered here. */
function changeAudio(player: AudioPlayer, command: AudioCommand): void {
  switch (command.type) {
    case "play":
      player.play(command);
      return;
    case "stop":
      player.stop();
      return;
    case "pause":
      player.pause(command.isPaused);
      return;
    case "seek":
      player.seek(command);
      return;
    case "setEndTime":
      player.setEnd(command.trackId, command.endMs);
      return;
    case "setMarkers":
      player.setMarkers(command.trackId, command.markers);
      return;
    case "setVolume":
      player.setVolume(command.volume);
      return;
    case "setFilters":
      player.setFilters(command.filters);
      return;
    default:
      command satisfies never;
  }
}
