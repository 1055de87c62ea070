// A folder for the state of a test, and stores that are opened in it and closed with it.

import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createLogger } from "../../src/log/log.ts";
import { type OpenStateOptions, openStateStore } from "../../src/state/open-state.ts";
import type { OpenedState, SetAside, StateRecord, StateStore } from "../../src/state/state-store.ts";
import { FakeClock } from "./fake-clock.ts";

export class StateFolder {
  readonly path: string;
  readonly clock = new FakeClock();
  /** Lines of the stores. */
  readonly lines: string[] = [];
  readonly #parent: string;
  readonly #stores: StateStore[] = [];

  private constructor(parent: string) {
    this.#parent = parent;
    this.path = join(parent, "state");
  }

  /** The folder does not exist yet. */
  static async create(): Promise<StateFolder> {
    return new StateFolder(await mkdtemp(join(tmpdir(), "tonearm-state-")));
  }

  async open(options: Partial<OpenStateOptions> = {}): Promise<OpenedState> {
    const logger = createLogger((level, message) => this.lines.push(`${level}: ${message}`));
    const opened = await openStateStore({ path: this.path, key: undefined, clock: this.clock, logger, ...options });
    if (opened.kind === "open") this.#stores.push(opened.store);
    return opened;
  }

  /** Throws when nothing can be stored. */
  async store(options: Partial<OpenStateOptions> = {}): Promise<StateStore> {
    const opened = await this.open(options);
    if (opened.kind === "off") throw new Error(opened.reason);
    return opened.store;
  }

  /** Writes the records, and closes the store again. */
  async fill(records: readonly StateRecord[], options: Partial<OpenStateOptions> = {}): Promise<void> {
    const store = await this.store(options);
    await store.write(records);
    await store.close();
  }

  /** What a start finds: the records, and where others were moved to. */
  async find(options: Partial<OpenStateOptions> = {}): Promise<{
    readonly records: readonly StateRecord[];
    readonly setAside: SetAside | undefined;
  }> {
    const opened = await this.open(options);
    if (opened.kind === "off") throw new Error(opened.reason);
    const records = await opened.store.readAll();
    await opened.store.close();
    return { records, setAside: opened.setAside };
  }

  /** Paths of all files of the database. */
  async files(): Promise<readonly string[]> {
    const records = join(this.path, "records");
    return (await readdir(records)).map((name) => join(records, name));
  }

  /** All that is on disk, as one text. */
  async content(): Promise<string> {
    const entries = await readdir(this.#parent, { recursive: true, withFileTypes: true });
    const files = entries.filter((entry) => entry.isFile());
    const contents = await Promise.all(files.map(({ parentPath, name }) => readFile(join(parentPath, name), "latin1")));
    return contents.join("\n");
  }

  async close(): Promise<void> {
    for (const store of this.#stores.splice(0)) await store.close();
    await rm(this.#parent, { recursive: true, force: true });
  }
}
