// All that outlives the process, as node.ts uses it: what was left is restored before the node listens, players go on
// when it does, and from then on every change is written. Main thread; one for the node.

import { NodeError } from "../../errors.ts";
import type { Clock } from "../../lib/clock.ts";
import { pause } from "../../lib/pause.ts";
import type { Logger } from "../../log/log.ts";
import type { OpenedState, StateStore } from "../../state/state-store.ts";
import type { Session } from "../sessions/session.ts";
import { NO_RECORDER, type SessionRecorder } from "../sessions/session-recorder.ts";
import { type ReadRecords, readRecords } from "./read-records.ts";
import { beginPlayers, type RestoredPlayer, type RestoreOptions, restoreSessions } from "./restore-sessions.ts";
import { StateRecorder } from "./state-recorder.ts";
import type { RestoredCounts, StateReport, StateStatus } from "./state-status.ts";
import { StateWriter } from "./state-writer.ts";

/** Longest that the end of the node waits for its last write. */
const WRITE_MS_MAX = 3000;

interface NodeStateOptions {
  /** Undefined: the configuration has switched it off. */
  readonly opened: OpenedState | undefined;
  readonly clock: Clock;
  readonly logger: Logger;
}

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
  #restored: RestoredCounts = { sessions: 0, players: 0 };
  #held: readonly RestoredPlayer[] = [];
  #frozen: Promise<void> | undefined;

  constructor(options: NodeStateOptions) {
    this.#options = options;
    const { opened, clock, logger } = options;
    if (opened?.kind !== "open") return;
    const { store } = opened;
    const onRefused = (): void => recorder.forgetTracks();
    const onEmptied = (): void => recorder.markAll();
    const writer = new StateWriter({ store, clock, logger, onRefused, onEmptied });
    const recorder = new StateRecorder({ writer, clock });
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

  /**
   * Opens the sessions that were left, before the first client comes; `onSession` is called with each. Never rejects.
   */
  async restore(
    options: Omit<RestoreOptions, "clock" | "logger">,
    onSession: (session: Session) => void,
  ): Promise<void> {
    const recording = this.#recording;
    if (recording === undefined) return;
    recording.recorder.start();
    try {
      await this.#restoreAll(recording, options, onSession);
    } catch (error) {
      // A fault of ours must not end every start.
      this.#options.logger.error("state: not all of it could be restored; please report it", { error });
    }
  }

  async #restoreAll(
    recording: Recording,
    options: Omit<RestoreOptions, "clock" | "logger">,
    onSession: (session: Session) => void,
  ): Promise<void> {
    const { clock, logger } = this.#options;
    const { writer, recorder } = recording;
    const { sessions: stored, useless } = await this.#read(recording);
    const { sessions, players, counts, lost } = restoreSessions(stored, { ...options, clock, logger });
    this.#held = players;
    this.#restored = counts;
    for (const session of sessions) {
      recorder.adopt(session);
      onSession(session);
    }
    for (const key of [...useless, ...lost]) writer.mark(key, () => [{ key, value: undefined }], { isBulk: true });
    if (counts.sessions > 0) logger.info("state restored: sessions wait for their clients", { ...counts });
  }

  /** Lets the restored players go on, those that sounded first. Resolves when all have; never rejects. */
  async begin(): Promise<void> {
    const players = this.#held;
    this.#held = [];
    await beginPlayers(players, { clock: this.#options.clock, signal: this.#stopping.signal });
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

  async #read({ store, writer }: Recording): Promise<ReadRecords> {
    const { logger } = this.#options;
    try {
      const records = await store.readAll();
      writer.learn(records.map(({ key }) => key));
      const read = readRecords(records);
      const [first] = read.unreadable;
      if (first !== undefined) {
        const fields = { records: read.unreadable.length, first };
        logger.warn("state: some of it cannot be read, and was left out", fields);
      }
      return read;
    } catch (error) {
      if (!(error instanceof NodeError)) throw error;
      logger.error("state cannot be read: starting without it", { error });
      return { sessions: [], useless: [], unreadable: [] };
    }
  }
}

function statusOf(opened: OpenedState | undefined): StateStatus {
  return opened?.kind === "off" ? { kind: "off", reason: opened.reason } : { kind: "disabled" };
}
