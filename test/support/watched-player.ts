// A session with one real player on a fake worker, whose events are collected as plugins get them. The worker passes
// markers as a test says.

import type { PassedMarker } from "../../src/bridge/markers.ts";
import type { OwnNodeEvent, OwnTrackEvent } from "../../src/bridge/plugin-players.ts";
import { V4_PROTOCOL } from "../../src/control/api/socket-protocol.ts";
import { DeadlyTracks } from "../../src/control/players/deadly-tracks.ts";
import { Player } from "../../src/control/players/player.ts";
import type { MirrorProvider } from "../../src/control/players/player-providers.ts";
import type { PlayerUpdate } from "../../src/control/players/player-update.ts";
import { SharedIncidents } from "../../src/control/players/shared-incidents.ts";
import { UpdateTimer } from "../../src/control/players/update-timer.ts";
import type { Session } from "../../src/control/sessions/session.ts";
import type { SessionPlayer } from "../../src/control/sessions/session-player.ts";
import type { Sessions } from "../../src/control/sessions/sessions.ts";
import { silentLogger } from "../../src/log/log.ts";
import type { Track } from "../../src/track/track.ts";
import { FakeClock } from "./fake-clock.ts";
import { FakeSocket } from "./fake-socket.ts";
import { FakeWorkers } from "./fake-workers.ts";
import { createSessions, EMPTY_UPDATE } from "./session-builders.ts";

export const GUILD = "1234567890123456789";

export class WatchedPlayer {
  readonly clock = new FakeClock();
  readonly workers = new FakeWorkers(this.clock);
  readonly socket = new FakeSocket();
  readonly events: OwnNodeEvent[] = [];
  readonly sessions: Sessions;
  readonly session: Session;
  /** Called with each event, too. */
  onEvent: (event: OwnNodeEvent) => void = () => undefined;

  constructor({ mirrors }: { readonly mirrors?: MirrorProvider } = {}) {
    const { clock, workers } = this;
    const tell = (event: OwnNodeEvent): void => {
      this.events.push(event);
      this.onEvent(event);
    };
    const parts = {
      workers,
      mirrors,
      clock,
      logger: silentLogger,
      tracks: {
        load: () => Promise.reject(new Error("nothing is loaded here")),
        playableInput: () => ({ kind: "http", url: "http://site.example/song.mp3", container: "mp3" }) as const,
      },
      updateTimer: new UpdateTimer({ clock, intervalMs: 5000 }),
      deadlyTracks: new DeadlyTracks(),
      sharedIncidents: new SharedIncidents({ clock, logger: silentLogger }),
      voiceConnectTimeoutMs: 5000,
    };
    this.sessions = createSessions({
      clock,
      onEvent: tell,
      createPlayer: (owner) => {
        const { sessionId, guildId } = owner;
        const onTrackEvent = (event: OwnTrackEvent): void => tell({ ...event, sessionId, guildId });
        return new Player({ ...owner, ...parts, onTrackEvent });
      },
    });
    const client = { userId: "42", clientName: "bot/1", owner: undefined, account: "address test" };
    this.session = this.sessions.open(this.socket, { ...client, dialect: V4_PROTOCOL });
  }

  get player(): SessionPlayer {
    const player = this.session.players.get(GUILD);
    if (player === undefined) throw new Error("there is no player");
    return player;
  }

  get playId(): number {
    return this.player.state.playing?.playId ?? -1;
  }

  async update(update: Partial<PlayerUpdate>): Promise<void> {
    await this.session.updatePlayer(GUILD, { ...EMPTY_UPDATE, ...update }, { isReplacing: true });
  }

  play(track: Track): Promise<void> {
    return this.update({ trackChange: { kind: "play", track } });
  }

  async destroy(): Promise<void> {
    const destroyed = this.session.destroyPlayer(GUILD);
    await this.workers.reply("destroyPlayer");
    await destroyed;
  }

  /** The types of the events so far. */
  get types(): string[] {
    return this.events.map(({ type }) => type);
  }

  /** Where the markers are that the worker has now. */
  get markers(): readonly number[] {
    return this.workers.last("setMarkers").markers.map(({ positionMs }) => positionMs);
  }

  /** The worker has passed the markers at these positions. */
  pass(positionsMs: readonly number[], outcome: PassedMarker["outcome"] = "reached"): void {
    const { trackId, markers } = this.workers.last("setMarkers");
    const passed = positionsMs.map((positionMs) => {
      const marker = markers.find((candidate) => candidate.positionMs === positionMs);
      if (marker === undefined) throw new Error(`no marker at ${positionMs} ms`);
      return { id: marker.id, outcome, epochMs: this.clock.epochMs() };
    });
    this.workers.say({ type: "markersPassed", trackId, seekId: 0, passed });
  }

  /** The events that the client has got but for those of Lavalink itself, without `op` and `guildId`. */
  get sent(): object[] {
    return this.socket.received.flatMap(({ op, guildId, ...event }) =>
      op === "event" && guildId === GUILD && !/^(?:Track|WebSocket)/.test(event.type) ? [event] : [],
    );
  }
}
