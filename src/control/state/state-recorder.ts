// Turns what happens to sessions into records: it knows which ones are stored, and marks what is to be written or
// removed. Only sessions that would wait for their client are stored. Main thread; one for the node.

import type { Clock, Timer } from "../../lib/clock.ts";
import { stringifyJson } from "../../lib/json.ts";
import type { StateChange } from "../../state/state-store.ts";
import type { Track } from "../../track/track.ts";
import { onOtherClock, type PlayerIntent } from "../players/player-intent.ts";
import { storedPlayerOf, storedTracksOf } from "../players/stored-player.ts";
import type { QueuedMessage } from "../sessions/resume-queue.ts";
import type { RecordedSession, SessionRecorder } from "../sessions/session-recorder.ts";
import { isMessageKey, recordKey, sessionRecordOf } from "./session-records.ts";
import type { ReadChanges, StateWriter } from "./state-writer.ts";

/** Each player that plays is written again once in ten of these: where it is, and when it was there. */
const POSITION_STEP_MS = 1000;
const POSITION_STEPS = 10;

/** Of one stored session. */
interface Stored {
  /** What is stored of it or about to be, by its key; a player's stands for its track, too. */
  readonly entries: Map<string, ReadChanges>;
  /** By guild: what the record of its track holds. */
  readonly tracks: Map<string, TrackPair>;
}

interface TrackPair {
  readonly track: Track | undefined;
  readonly mirror: Track | undefined;
}

interface StateRecorderOptions {
  readonly writer: Pick<StateWriter, "mark" | "unmark" | "fix" | "isKnown" | "written">;
  readonly clock: Clock;
  /**
   * How much the clock that all readers of the records agree on is ahead of this one's Unix epoch milliseconds. Default:
   * there is only one.
   */
  readonly offsetMs?: (() => number) | undefined;
}

export class StateRecorder implements SessionRecorder {
  readonly #options: StateRecorderOptions;
  readonly #stored = new Map<RecordedSession, Stored>();
  #timer: Timer | undefined;
  #step = 0;

  constructor(options: StateRecorderOptions) {
    this.#options = options;
  }

  /** Sessions that are stored. */
  get sessionCount(): number {
    return this.#stored.size;
  }

  /** Where players are is written from now on, each once in ten seconds. */
  start(): void {
    this.#timer = this.#options.clock.after(POSITION_STEP_MS, () => {
      this.#markPositions();
      this.start();
    });
  }

  /** Marks where all players are a last time. */
  stop(): void {
    this.#timer?.cancel();
    for (const session of this.#stored.keys()) {
      for (const [guildId, player] of session.players) if (player.isPlaying) this.onPlayer(session, guildId);
    }
  }

  /**
   * A session was restored from its records, or some of its players were, with all that belongs to them: nothing of it is
   * to be written.
   */
  adopt(session: RecordedSession): void {
    const stored: Stored = this.#stored.get(session) ?? { entries: new Map(), tracks: new Map() };
    this.#stored.set(session, stored);
    const entries = [
      ...(session.isRemote ? [] : [this.#sessionEntry(session)]),
      ...Array.from(session.players.keys(), (guildId) => this.#playerEntry(session, guildId)),
      ...Array.from(session.kept.list(), ({ guildId, plugin }) => this.#keptEntry(session, guildId, plugin)),
      ...session.waitingMessages.map((message) => this.#messageEntry(session, message)),
    ];
    for (const { key, read } of entries) stored.entries.set(key, read);
    for (const [guildId, player] of session.players) {
      // What is known already of players that were here before is true.
      if (!stored.tracks.has(guildId)) stored.tracks.set(guildId, tracksOf(player.snapshot()));
    }
  }

  /**
   * Another machine goes on with the session: what is not written yet is written as it is at this moment, and nothing
   * that happens to it afterwards. Returns the keys of its records.
   */
  release(session: RecordedSession): readonly string[] {
    const stored = this.#stored.get(session);
    if (stored === undefined) return [];
    for (const [guildId, player] of session.players) if (player.isPlaying) this.onPlayer(session, guildId);
    const keys = [...stored.entries.keys()];
    for (const key of keys) this.#options.writer.fix(key);
    this.#stored.delete(session);
    const guildIds = new Set([...stored.tracks.keys(), ...session.players.keys()]);
    return [...keys, ...Array.from(guildIds, (guildId) => recordKey.track(session.id, guildId))];
  }

  /**
   * Another machine has the session from now on, and some of its players stay here: what is of its client is written as it
   * is at this moment, and is the other machine's then. Returns the keys of these records. Call it before it is remote.
   */
  releaseClient(session: RecordedSession): readonly string[] {
    // With what was taken from other machines up to now.
    this.onSession(session);
    const { entries } = this.#stored.get(session) ?? { entries: new Map<string, ReadChanges>() };
    const keys = [...entries.keys()].filter((key) => key.startsWith("session/") || key.startsWith("message/"));
    for (const key of keys) {
      this.#options.writer.fix(key);
      entries.delete(key);
    }
    return keys;
  }

  /**
   * Players of the session, which need not be stored, go on at another machine: what is not written yet of them is written
   * as it is at this moment. Returns the keys of their records. Call it before they are released.
   */
  releasePlayers(session: RecordedSession, guildIds: readonly string[]): readonly string[] {
    const isStored = this.#stored.has(session);
    const stored: Stored = this.#stored.get(session) ?? { entries: new Map(), tracks: new Map() };
    this.#stored.set(session, stored);
    const guilds = new Set(guildIds);
    for (const guildId of guilds) if (session.players.has(guildId)) this.onPlayer(session, guildId);
    for (const { guildId, plugin } of session.kept.list())
      if (!isStored && guilds.has(guildId)) this.onKept(session, guildId, plugin);
    const keys = [...stored.entries.keys()].filter((key) => {
      const [kind, , guildId = ""] = key.split("/");
      return (kind === "player" || kind === "kept") && guilds.has(guildId);
    });
    for (const key of keys) {
      this.#options.writer.fix(key);
      stored.entries.delete(key);
    }
    for (const guildId of guilds) stored.tracks.delete(guildId);
    if (!isStored) this.#stored.delete(session);
    return [...keys, ...guildIds.map((guildId) => recordKey.track(session.id, guildId))];
  }

  /** Others go on with all sessions: nothing of them is written any more. */
  forgetAll(): void {
    this.#stored.clear();
  }

  isStored(session: RecordedSession): boolean {
    return this.#stored.has(session);
  }

  written(): Promise<void> | undefined {
    return this.#options.writer.written();
  }

  /** Of the tracks, it is not known any more which are stored: each is written again with its player. */
  forgetTracks(): void {
    for (const { tracks } of this.#stored.values()) tracks.clear();
  }

  /** Marks all that is stored: the store has lost it. */
  markAll(): void {
    this.forgetTracks();
    for (const { entries } of this.#stored.values()) {
      for (const [key, read] of entries) this.#options.writer.mark(key, read, { isBulk: true });
    }
  }

  onSession(session: RecordedSession): void {
    const isStored = this.#stored.has(session);
    if (!session.isLasting) {
      this.#remove(session);
      return;
    }
    if (!isStored) this.#stored.set(session, { entries: new Map(), tracks: new Map() });
    // The machine of its client writes that.
    if (!session.isRemote) this.#mark(session, this.#sessionEntry(session));
    if (isStored) return;
    for (const guildId of session.players.keys()) this.#markBulk(session, this.#playerEntry(session, guildId));
    for (const { guildId, plugin } of session.kept.list())
      this.#markBulk(session, this.#keptEntry(session, guildId, plugin));
    for (const message of session.waitingMessages) this.onMessage(session, message);
  }

  onPlayer(session: RecordedSession, guildId: string): void {
    this.#mark(session, this.#playerEntry(session, guildId));
  }

  onKept(session: RecordedSession, guildId: string, plugin: string): void {
    this.#mark(session, this.#keptEntry(session, guildId, plugin));
  }

  onMessage(session: RecordedSession, message: QueuedMessage): void {
    // Those of a past moment would fill the store.
    if (message.topic === "stats") return;
    const entry = this.#messageEntry(session, message);
    // One that returns to the queue is still there.
    if (this.#stored.get(session)?.entries.has(entry.key) !== true) this.#mark(session, entry);
  }

  onMessageGone(session: RecordedSession, number: number): void {
    const entry = this.#messageEntry(session, { number, topic: "", text: "" }, { isGone: true });
    if (this.#options.writer.isKnown(entry.key)) this.#markBulk(session, entry);
    else this.#forget(session, entry.key);
  }

  onEnded(session: RecordedSession): void {
    this.#remove(session);
  }

  #markPositions(): void {
    this.#step = (this.#step + 1) % POSITION_STEPS;
    const digit = String(this.#step);
    for (const session of this.#stored.keys()) {
      for (const [guildId, player] of session.players) {
        if (guildId.endsWith(digit) && player.isPlaying) this.#markBulk(session, this.#playerEntry(session, guildId));
      }
    }
  }

  /** Without the record of the session, which goes first, the others mean nothing. */
  #remove(session: RecordedSession): void {
    const stored = this.#stored.get(session);
    if (stored === undefined) return;
    this.#stored.delete(session);
    const { writer } = this.#options;
    const sessionKey = recordKey.session(session.id);
    for (const [key, read] of stored.entries) {
      // A message may have been taken before the session is stored again, of which nobody tells.
      const removal: ReadChanges = isMessageKey(key) ? () => [{ key, value: undefined }] : read;
      if (writer.isKnown(key)) writer.mark(key, removal, { isBulk: key !== sessionKey });
      else writer.unmark(key);
    }
  }

  #forget(session: RecordedSession, key: string): void {
    this.#options.writer.unmark(key);
    this.#stored.get(session)?.entries.delete(key);
  }

  /** With many others, or where no answer is to wait for it. */
  #markBulk(session: RecordedSession, { key, read }: Entry): void {
    const stored = this.#stored.get(session);
    if (stored === undefined) return;
    stored.entries.set(key, read);
    this.#options.writer.mark(key, read, { isBulk: true });
  }

  #mark(session: RecordedSession, { key, read }: Entry): void {
    const stored = this.#stored.get(session);
    if (stored === undefined) return;
    stored.entries.set(key, read);
    this.#options.writer.mark(key, read);
  }

  #sessionEntry(session: RecordedSession): Entry {
    return this.#entry(session, recordKey.session(session.id), () =>
      stringifyJson(sessionRecordOf(session, this.#options.clock.epochMs() + this.#offsetMs)),
    );
  }

  #keptEntry(session: RecordedSession, guildId: string, plugin: string): Entry {
    const key = recordKey.kept(session.id, guildId, plugin);
    return this.#entry(session, key, () => session.kept.get(guildId, plugin));
  }

  #messageEntry(
    session: RecordedSession,
    { number = 0, topic, text, from }: QueuedMessage,
    { isGone }: { readonly isGone: boolean } = { isGone: false },
  ): Entry {
    const { id, relayedFrom } = session;
    const key = relayedFrom === undefined ? recordKey.message(id, number) : recordKey.relay(id, relayedFrom, number);
    return this.#entry(session, key, () =>
      isGone ? undefined : stringifyJson({ topic, text, ...(from && { from }) }),
    );
  }

  /** One that is a single record. `readValue` is asked only while the session is stored. */
  #entry(session: RecordedSession, key: string, readValue: () => string | undefined): Entry {
    const read: ReadChanges = () => {
      const stored = this.#stored.get(session);
      const value = stored && readValue();
      if (value === undefined) stored?.entries.delete(key);
      return [{ key, value }];
    };
    return { key, read };
  }

  get #offsetMs(): number {
    return this.#options.offsetMs?.() ?? 0;
  }

  #playerEntry(session: RecordedSession, guildId: string): Entry {
    const key = recordKey.player(session.id, guildId);
    return { key, read: () => this.#playerChanges(session, guildId) };
  }

  #playerChanges(session: RecordedSession, guildId: string): readonly StateChange[] {
    const key = recordKey.player(session.id, guildId);
    const trackKey = recordKey.track(session.id, guildId);
    const stored = this.#stored.get(session);
    const player = session.players.get(guildId);
    if (stored === undefined || player?.hasBeenUpdated !== true) {
      stored?.entries.delete(key);
      stored?.tracks.delete(guildId);
      return [key, trackKey].map((gone) => ({ key: gone, value: undefined }));
    }
    const snapshot = player.snapshot();
    const change = { key, value: stringifyJson(storedPlayerOf(onOtherClock(snapshot, this.#offsetMs))) };
    const tracks = tracksOf(snapshot);
    const before = stored.tracks.get(guildId);
    if (before?.track === tracks.track && before?.mirror === tracks.mirror) return [change];
    const trackChange = { key: trackKey, value: snapshot.track && stringifyJson(storedTracksOf(snapshot.track)) };
    stored.tracks.set(guildId, tracks);
    return [change, trackChange];
  }
}

interface Entry {
  readonly key: string;
  readonly read: ReadChanges;
}

function tracksOf({ track }: PlayerIntent): TrackPair {
  return { track: track?.track, mirror: track?.mirror?.track };
}
