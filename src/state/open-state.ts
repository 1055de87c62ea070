// Opens the store of the state at the start of the node, or says why there is none. The one entry of this folder; its
// caller is src/node.ts. Main thread.

import type { Secret } from "../config/keys/secret.ts";
import { NodeError } from "../errors.ts";
import type { Clock } from "../lib/clock.ts";
import { messageOf } from "../lib/message-of.ts";
import { type Random, systemRandom } from "../lib/random.ts";
import type { Logger } from "../log/log.ts";
import { DatabaseError, type OpenDatabase, openLevel } from "./database.ts";
import { tightenModes } from "./file-modes.ts";
import { describeHolder } from "./holder.ts";
import { type SyncLogs, syncLogs } from "./log-sync.ts";
import { openRecords } from "./open-records.ts";
import { RecordStore } from "./record-store.ts";
import { type OpenedState, type SetAsideReason, STATE_LIMITS, type StateLimits } from "./state-store.ts";

export interface OpenStateOptions {
  /** Absolute path of the state's folder, which is created. Only one process can have it open. */
  readonly path: string;
  /** The key of the encryption; undefined: a file in the folder, made at the first start. */
  readonly key: Secret | undefined;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Default: the system's. */
  readonly random?: Random;
  /** Default: LevelDB. */
  readonly openDatabase?: OpenDatabase;
  /** Default: the files of LevelDB. */
  readonly syncLogs?: SyncLogs;
  /** Default: `STATE_LIMITS`. */
  readonly limits?: StateLimits;
}

const REASONS: Readonly<Record<SetAsideReason, string>> = {
  damaged: "it is damaged, or part of it is missing",
  newer: "a newer version of the node wrote it",
  "other-key": "it is encrypted with a different key (tonearm.state.key, or the file `key` in its folder)",
};

/**
 * Opens the state's folder, and logs one line where nothing can be stored or earlier records could not be used.
 * @throws NodeError "state-in-use" when another process has the folder
 */
export async function openStateStore(options: OpenStateOptions): Promise<OpenedState> {
  const { path, logger } = options;
  const records = { random: systemRandom, openDatabase: openLevel, limits: STATE_LIMITS, syncLogs, ...options };
  try {
    const open = await openRecords(records);
    const { setAside } = open;
    if (setAside !== undefined) {
      const reason = REASONS[setAside.reason];
      logger.error(`state could not be read: ${reason}; starting without it`, { movedTo: setAside.path });
    }
    const openPaths = await tightenModes(path);
    if (openPaths.length > 0) {
      logger.warn(
        "the stored state can be read by other users of this machine: its modes cannot be changed. " +
          "Give the node's user the folder, or set tonearm.state.path to another",
        { paths: openPaths },
      );
    }
    return { kind: "open", store: new RecordStore(records, open), setAside };
  } catch (error) {
    if (error instanceof DatabaseError && error.kind === "locked") throw await inUse(path, error);
    const reason = messageOf(error);
    logger.warn(
      `state cannot be stored: ${reason}; a restart of the node will end all sessions. ` +
        "Set tonearm.state.path to a folder that the node may write to, or tonearm.state.enabled to false",
      { path },
    );
    return { kind: "off", reason };
  }
}

async function inUse(path: string, cause: DatabaseError): Promise<NodeError> {
  const holder = await describeHolder(path);
  const message =
    `the state folder ${path} is in use by ${holder}: stop that node, ` +
    "or set tonearm.state.path to another folder for this one";
  return new NodeError("state-in-use", message, { cause });
}
