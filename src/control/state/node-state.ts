// All that outlives the process, as node.ts uses it: what was left is restored before the node listens, players go on
// when it does, and from then on every change is written. Main thread; one for the node.

import { NodeError } from "../../errors.ts";
import type { Clock } from "../../lib/clock.ts";
import { pause } from "../../lib/pause.ts";
import type { Logger } from "../../log/log.ts";
import type { OpenedState, StateRecord, StateStore } from "../../state/state-store.ts";
import type { Session } from "../sessions/session.ts";
import { NO_RECORDER, type SessionRecorder } from "../sessions/session-recorder.ts";
import { type ReadRecords, readPlayers, readRecords } from "./read-records.ts";
import {
  keepAll,
  PlayerStarts,
  type RestoredPlayer,
  type RestoreOptions,
  restorePlayers,
  restoreSessions,
} from "./restore-sessions.ts";
import { recordKey } from "./session-records.ts";
import { StateRecorder } from "./state-recorder.ts";
import type { RestoredCounts, StateReport, StateStatus } from "./state-status.ts";
import { StateWriter } from "./state-writer.ts";

/** Longest that the end of the node waits for its last write. */
const WRITE_MS_MAX = 3000;

interface NodeStateOptions {
  /** Undefined: the configuration has switched it off. */
  readonly opened: OpenedState | undefined;
  /** The store is shared with other machines. Default: it is of this node only. */
  readonly shared?: SharedStore | undefined;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** What is different where machines share the records. */
interface SharedStore {
  /** See StateRecorderOptions. */
  readonly offsetMs: () => number;
}

type Restoring = Omit<RestoreOptions, "clock" | "logger"> & {
  /** Called with each session that was restored. */
  readonly onSession: (session: Session) => void;
};

/** The parts that there are while a store is open. */
interface Recording {
  readonly store: StateStore;
  readonly writer: StateWriter;
  readonly recorder: StateRecorder;
}

export class NodeState {
  readonly #options: NodeStateOptions;
  readonly #recording: Recording | undefined;
  readonly #stopping = new AbortController();
  readonly #starts: PlayerStarts;
  #restored: RestoredCounts = { sessions: 0, players: 0 };
  /** Players that wait for `begin`; undefined: it was called. */
  #held: RestoredPlayer[] | undefined = [];
  #restoring: Restoring | undefined;
  #frozen: Promise<void> | undefined;

  constructor(options: NodeStateOptions) {
    this.#options = options;
    this.#starts = new PlayerStarts({ clock: options.clock, signal: this.#stopping.signal });
    const { opened, shared, clock, logger } = options;
    if (opened?.kind !== "open") return;
    const { store } = opened;
    const onRefused = (): void => recorder.forgetTracks();
    const onEmptied = (): void => recorder.markAll();
    // What another machine may take over at any moment must be stored before anybody is told of it.
    const answerMsMax = shared === undefined ? undefined : Number.POSITIVE_INFINITY;
    const writer = new StateWriter({ store, clock, logger, onRefused, onEmptied, answerMsMax });
    const recorder = new StateRecorder({ writer, clock, offsetMs: shared?.offsetMs });
    this.#recording = { store, writer, recorder };
  }

  /** What sessions tell of their changes to. */
  get recorder(): SessionRecorder {
    return this.#recording?.recorder ?? NO_RECORDER;
  }

  /** What sessions are asked for outlives the process, as things are. */
  get isStoring(): boolean {
    return this.#recording?.writer.status.kind === "working";
  }

  /** See `StateWriter.written`. */
  written(): Promise<void> | undefined {
    return this.#recording?.writer.written();
  }

  /** Opens the sessions that were left, before the first client comes. Never rejects. */
  async restore(restoring: Restoring): Promise<void> {
    const recording = this.#recording;
    if (recording === undefined) return;
    this.#restoring = restoring;
    recording.recorder.start();
    try {
      const counts = this.#open(recording, await this.#read(recording));
      this.#restored = counts;
      if (counts.sessions > 0)
        this.#options.logger.info("state restored: sessions wait for their clients", { ...counts });
    } catch (error) {
      // A fault of ours must not end every start.
      this.#options.logger.error("state: not all of it could be restored; please report it", { error });
    }
  }

  /** Opens the sessions of these records, which another machine had; only after `restore`. */
  adopt(records: readonly StateRecord[]): void {
    if (this.#recording === undefined || this.#stopping.signal.aborted) return;
    this.#open(this.#recording, this.#readRecords(this.#recording, records));
  }

  /**
   * Another machine goes on with the session, from how it is now; it is to be ended here, and then `flushed`. Returns the
   * keys of its records, to `forget` when the other has it.
   */
  release(session: Session): readonly string[] {
    return this.#recording?.recorder.release(session) ?? [];
  }

  /**
   * Another machine has the session from now on, and its players stay here: it is to become remote in this moment, and then
   * `flushed`. Returns the keys of the records that are the other's then, to `forget` when it has the session.
   */
  releaseClient(session: Session): readonly string[] {
    return this.#recording?.recorder.releaseClient(session) ?? [];
  }

  /**
   * These players go on at another machine, from how they are now: they are to be released in this moment, and then
   * `flushed`. Returns the keys of their records, to `forget` when that is done.
   */
  releasePlayers(session: Session, guildIds: readonly string[]): readonly string[] {
    return this.#recording?.recorder.releasePlayers(session, guildIds) ?? [];
  }

  /** The records with these keys are another machine's now. */
  forget(keys: readonly string[]): void {
    this.#recording?.writer.forget(keys);
  }

  /**
   * Makes players of a session again, from records as another machine has written them, and lets them go on. Those that are
   * here already stay as they are. Only after `restore`.
   */
  adoptPlayers(session: Session, records: readonly StateRecord[]): void {
    const recording = this.#recording;
    const restoring = this.#restoring;
    if (recording === undefined || restoring === undefined || this.#stopping.signal.aborted) return;
    const { logger, shared } = this.#options;
    recording.writer.learn(records.map(({ key }) => key));
    const { players: stored, kept, unreadable } = readPlayers(session.id, records, shared?.offsetMs());
    this.#warnOfUnreadable(unreadable);
    try {
      keepAll(session, kept);
    } catch (error) {
      if (!(error instanceof NodeError)) throw error;
      logger.warn("state: not all that plugins keep was restored", { sessionId: session.id, error });
    }
    const players = restorePlayers(session, stored, restoring);
    const lost = stored.filter(({ guildId }) => !session.players.has(guildId));
    for (const key of unreadable) this.write(key, undefined);
    for (const { guildId } of lost) {
      this.write(recordKey.player(session.id, guildId), undefined);
      this.write(recordKey.track(session.id, guildId), undefined);
    }
    if (lost.length > 0)
      logger.warn("state: not all players of a session were restored", { sessionId: session.id, lost: lost.length });
    if (session.isLasting) recording.recorder.adopt(session);
    else for (const { key } of records) this.write(key, undefined);
    restoring.onSession(session);
    this.#begin(players);
  }

  /** Resolves when all changes so far are stored, or cannot be. */
  async flushed(): Promise<void> {
    // After `freeze` that is the last write.
    await (this.#frozen ?? this.#recording?.writer.flushed());
  }

  /** Other machines go on with all sessions, from how they were stored: nothing is written of them any more. */
  forgetAll(): void {
    this.#held &&= [];
    this.#starts.clear();
    this.#recording?.recorder.forgetAll();
    this.#recording?.writer.reset();
  }

  /** Writes a record, or removes it, that is none of those that sessions are stored as. */
  write(key: string, value: string | undefined): void {
    this.#recording?.writer.mark(key, () => [{ key, value }], { isBulk: true });
  }

  #open({ recorder }: Recording, { sessions: stored, useless }: ReadRecords): RestoredCounts {
    const { clock, logger } = this.#options;
    const restoring = this.#restoring;
    if (restoring === undefined) throw new Error("nothing is restored before `restore`");
    const { sessions, players, counts, lost } = restoreSessions(stored, { ...restoring, clock, logger });
    for (const session of sessions) {
      recorder.adopt(session);
      restoring.onSession(session);
    }
    for (const key of [...useless, ...lost]) this.write(key, undefined);
    this.#begin(players);
    return counts;
  }

  #begin(players: readonly RestoredPlayer[]): void {
    if (this.#held === undefined) void this.#starts.add(players);
    else this.#held.push(...players);
  }

  /** Lets the restored players go on, those that sounded first. Resolves when all have; never rejects. */
  async begin(): Promise<void> {
    const players = this.#held ?? [];
    this.#held = undefined;
    await this.#starts.add(players);
  }

  report(): StateReport {
    const { opened } = this.#options;
    const counts = this.#recording?.writer.counts ?? { writes: 0, failedWrites: 0, writtenBytes: 0 };
    return {
      status: this.#recording?.writer.status ?? statusOf(opened),
      sessions: this.#recording?.recorder.sessionCount ?? 0,
      records: this.#recording?.store.recordCount ?? 0,
      ...counts,
      restored: this.#restored,
      setAside: opened?.kind === "open" ? opened.setAside?.path : undefined,
    };
  }

  /** Sessions stay stored as they are at this moment, whatever happens to them afterwards. */
  freeze(): void {
    this.#stopping.abort();
    this.#recording?.recorder.stop();
    this.#frozen ??= this.#recording?.writer.stop();
  }

  /** Resolves when all is written, or after some seconds where the disk hangs; never rejects. */
  async close(): Promise<void> {
    this.freeze();
    await Promise.race([this.#frozen, pause(this.#options.clock, WRITE_MS_MAX)]);
    await this.#recording?.store.close();
  }

  async #read(recording: Recording): Promise<ReadRecords> {
    try {
      return this.#readRecords(recording, await recording.store.readAll());
    } catch (error) {
      if (!(error instanceof NodeError)) throw error;
      this.#options.logger.error("state cannot be read: starting without it", { error });
      return { sessions: [], useless: [], unreadable: [] };
    }
  }

  #readRecords({ writer }: Recording, records: readonly StateRecord[]): ReadRecords {
    writer.learn(records.map(({ key }) => key));
    const read = readRecords(records, this.#options.shared?.offsetMs());
    this.#warnOfUnreadable(read.unreadable);
    return read;
  }

  #warnOfUnreadable(unreadable: readonly string[]): void {
    const [first] = unreadable;
    if (first === undefined) return;
    this.#options.logger.warn("state: some of it cannot be read, and was left out", {
      records: unreadable.length,
      first,
    });
  }
}

function statusOf(opened: OpenedState | undefined): StateStatus {
  return opened?.kind === "off" ? { kind: "off", reason: opened.reason } : { kind: "disabled" };
}
