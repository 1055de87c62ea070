// A fake player for tests of the session around it.

import type { FrameMinute } from "../../src/bridge/worker-report.ts";
import type { PlayerIntent } from "../../src/control/players/player-intent.ts";
import type { EventSink, PlayerOwner } from "../../src/control/players/player-owner.ts";
import type { PlayerUpdate } from "../../src/control/players/player-update.ts";
import type { EventMessage } from "../../src/control/protocol/outgoing-message.ts";
import type { PlayerJson } from "../../src/control/protocol/player-json.ts";
import type { SessionPlayer } from "../../src/control/sessions/session-player.ts";

export class FakeSessionPlayer implements SessionPlayer {
  readonly guildId: string;
  readonly sessionId: string;
  readonly sink: EventSink;
  readonly updates: PlayerUpdate[] = [];
  /** Given to `restore`, or by the test. */
  intent: PlayerIntent = { track: undefined, volume: 100, filters: {}, isPaused: false, voice: undefined };
  readonly onChanged: () => void;
  isHeld: boolean;
  /** Awaited by `begin`. */
  beginning: Promise<void> = Promise.resolve();
  isPlaying = false;
  isUnused = true;
  /** The result of updates. */
  outcome: Promise<void> = Promise.resolve();
  isDestroyed = false;
  /** Destroyed, and its goodbye is over. */
  isGone = false;
  frames: FrameMinute | undefined;
  /** Awaited by `destroy`. */
  goodbye: Promise<void> = Promise.resolve();

  constructor({ guildId, sessionId, sink, isHeld = false, onChanged = () => undefined }: PlayerOwner) {
    this.guildId = guildId;
    this.sessionId = sessionId;
    this.sink = sink;
    this.isHeld = isHeld;
    this.onChanged = onChanged;
  }

  get hasBeenUpdated(): boolean {
    return !this.isUnused;
  }

  snapshot(): PlayerIntent {
    return this.intent;
  }

  restore(snapshot: PlayerIntent): void {
    this.intent = snapshot;
    this.isUnused = false;
  }

  async begin(): Promise<void> {
    this.isHeld = false;
    await this.beginning;
  }

  update(update: PlayerUpdate): Promise<void> {
    this.isHeld = false;
    this.updates.push(update);
    return this.outcome.then(() => {
      this.isUnused = false;
    });
  }

  toJson(): PlayerJson {
    return {
      guildId: this.guildId,
      track: null,
      volume: 100,
      paused: false,
      state: { time: 0, position: 0, connected: false, ping: -1 },
      voice: { token: "", endpoint: "", sessionId: "", channelId: null },
      filters: {},
    };
  }

  diagnose(): never {
    throw new Error("not implemented in this fake");
  }

  get lastTroubleEpochMs(): never {
    throw new Error("not implemented in this fake");
  }

  overview(): never {
    throw new Error("not implemented in this fake");
  }

  get state(): never {
    throw new Error("not implemented in this fake");
  }

  setMarkers(): never {
    throw new Error("not implemented in this fake");
  }

  skip(): never {
    throw new Error("not implemented in this fake");
  }

  frameMinute(minute: number): FrameMinute | undefined {
    return this.frames?.minute === minute ? this.frames : undefined;
  }

  async destroy(): Promise<void> {
    this.isDestroyed = true;
    await this.goodbye;
    this.isGone = true;
  }

  /** Sends an event that differs from all others by its threshold. */
  say(thresholdMs: number): void {
    this.sink.send({ ...stuckEvent(this.guildId), thresholdMs });
  }

  sendPlayerUpdate(): void {
    this.sink.send({ op: "playerUpdate", guildId: this.guildId, state: this.toJson().state });
  }
}

function stuckEvent(guildId: string): Extract<EventMessage, { type: "TrackStuckEvent" }> {
  const info = {
    identifier: "x",
    isSeekable: true,
    author: "",
    length: 1,
    isStream: false,
    position: 0,
    title: "",
    uri: null,
    sourceName: "http",
    artworkUrl: null,
    isrc: null,
  };
  const track = { encoded: "", info, pluginInfo: {}, userData: {} };
  return { op: "event", type: "TrackStuckEvent", guildId, track, thresholdMs: 0 };
}
