// The inputs that several players of a worker read at once: stations, whenever they tune in, and files that they begin
// within seconds of each other. Their bytes are read and taken apart once. The first player opens the input; the others
// join what it reads. The connection ends with the last of them. Audio thread.

import type { PlayableInput } from "../../bridge/playable-input.ts";
import type { Clock } from "../../lib/clock.ts";
import { unlessAborted } from "../../lib/unless-aborted.ts";
import type { Demuxer } from "../demux/demuxer.ts";
import { FileBranch } from "./file-branch.ts";
import { SharedStream } from "./shared-stream.ts";
import { StationBranch } from "./station-branch.ts";
import type { OpenedTrack, OpeningWork } from "./track-opener.ts";

interface SharedStreamsOptions {
  readonly clock: Clock;
  readonly openTrack: (input: PlayableInput, work: OpeningWork) => Promise<OpenedTrack>;
}

/** What an opening is part of. */
interface Sharing {
  readonly key: string;
  readonly isFile: boolean;
}

/** One per worker; opens all tracks that it plays. */
export class SharedStreams {
  readonly #options: SharedStreamsOptions;
  /** By owner, input and, for files, settings. A promise: it is being opened; undefined: it failed, or is neither. */
  readonly #streams = new Map<string, Promise<SharedStream | undefined>>();
  #openedCount = 0;

  constructor(options: SharedStreamsOptions) {
    this.#options = options;
  }

  /** Inputs that others can join, and those that are being opened. */
  get size(): number {
    return this.#streams.size;
  }

  /**
   * Opens an input up to its first packet, as `TrackOpener.open`. Of a station that is being played, the packets of the
   * last seconds come first.
   */
  async open(input: PlayableInput, work: OpeningWork): Promise<Demuxer> {
    const { budget, lengthMs, isUnchanged, isWhole, link } = work;
    const isFile = lengthMs !== undefined;
    // A file on the disk is read from the system's cache.
    const isShareable = input.kind !== "local" && (!isFile || (isWhole === true && link === undefined));
    if (!isShareable) return (await this.#options.openTrack(input, work)).demuxer;
    const key = JSON.stringify([budget.owner, input, lengthMs, isFile && isUnchanged === true]);
    return this.#joinOrOpen(input, work, { key, isFile });
  }

  async #joinOrOpen(input: PlayableInput, work: OpeningWork, sharing: Sharing): Promise<Demuxer> {
    const { key, isFile } = sharing;
    const known = this.#streams.get(key);
    if (known !== undefined) {
      const stream = await unlessAborted(known, work.signal);
      if (stream?.canJoin === true) return this.#branchOf(stream, { input, work, isFile, isHost: false });
      // Several may have waited for it: the first of them opens it again, the others wait for that.
      if (stream !== undefined && this.#streams.get(key) !== known) return this.#joinOrOpen(input, work, sharing);
    }
    const budget = isFile ? work.budget.forShared() : work.budget;
    const opening = this.#options.openTrack(input, { ...work, budget });
    const whenStream = opening.then(
      ({ demuxer, isStation }) =>
        isFile || (isStation && !demuxer.isSeekable)
          ? new SharedStream(demuxer, {
              id: ++this.#openedCount,
              isFile,
              clock: this.#options.clock,
              budget,
              onOver: () => this.#forget(key, whenStream),
            })
          : undefined,
      () => {
        if (isFile) budget.memory.releaseAll();
        return undefined;
      },
    );
    this.#streams.set(key, whenStream);
    const stream = await whenStream;
    if (stream !== undefined) return this.#branchOf(stream, { input, work, isFile, isHost: true });
    this.#forget(key, whenStream);
    return (await opening).demuxer;
  }

  #branchOf(
    stream: SharedStream,
    { input, work, isFile, isHost }: { input: PlayableInput; work: OpeningWork; isFile: boolean; isHost: boolean },
  ): Demuxer {
    const { budget } = work;
    if (!isFile) return new StationBranch(stream, { budget, isHost });
    const openAlone = async (): Promise<Demuxer> =>
      (await this.#options.openTrack(input, { ...work, isWhole: false })).demuxer;
    return new FileBranch(stream, { budget, isHost, openAlone });
  }

  #forget(key: string, stream: Promise<SharedStream | undefined>): void {
    if (this.#streams.get(key) === stream) this.#streams.delete(key);
  }
}
