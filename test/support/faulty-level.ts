// The database of the state, with writes that can fail, and a record of what is asked of it.

import { type Database, DatabaseError, type OpenDatabase, openLevel } from "../../src/state/database.ts";

/** `lost`: nothing reaches the files. `written`: all of it does, and the answer is an error all the same. */
type WriteFault = "none" | "lost" | "written";

export class FaultyLevel {
  /** What later writes do. */
  fault: WriteFault = "none";
  /** True: the files cannot be opened. */
  isClosedOff = false;
  /** Writes so far that waited for the disk. */
  syncCount = 0;
  openCount = 0;

  readonly open: OpenDatabase = async (folder) => {
    if (this.isClosedOff) throw new DatabaseError("disk", "No space left on device");
    this.openCount++;
    const level = await openLevel(folder);
    return {
      entries: () => level.entries(),
      close: () => level.close(),
      write: (...args) => this.#write(level, args),
    };
  };

  async #write(level: Database, [operations, options]: Parameters<Database["write"]>): Promise<void> {
    if (options.isSynced) this.syncCount++;
    if (this.fault !== "lost") await level.write(operations, options);
    if (this.fault !== "none") throw new DatabaseError("disk", "No space left on device");
  }
}
