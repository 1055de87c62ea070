// The cue list of a Matroska file (RFC 9559 section 22): where its clusters start. Audio thread.

import type { DemuxWork } from "../demux-work.ts";
import { SeekIndex } from "../seek-index.ts";
import { ID, readElements, readUnsigned } from "./ebml.ts";

/** Fields of a point and positions in it: one per track. */
const FIELD_COUNT_MAX = 256;

export interface CueScale {
  readonly unitMs: number;
  /** The origin of positions. */
  readonly segmentStart: number;
  /** The track that is played; cues of others count only when it has none. */
  readonly trackNumber: number;
}

export class CueTable {
  readonly #work: DemuxWork;
  readonly #seekPoints: SeekIndex;
  #isOwn = false;

  constructor(work: DemuxWork) {
    this.#work = work;
    this.#seekPoints = new SeekIndex(work);
  }

  get count(): number {
    return this.#seekPoints.count;
  }

  /** True when the cues belong to the track itself. */
  get isOwn(): boolean {
    return this.#isOwn;
  }

  /** Position of the last cue at or before `timeMs`; undefined when there is none. */
  positionBefore(timeMs: number): number | undefined {
    return this.#seekPoints.before(timeMs)?.positionBytes;
  }

  /** Reads the cues from the body of a `Cues` element. */
  async read(body: Uint8Array, scale: CueScale): Promise<void> {
    for (const point of readElements(body)) {
      if (this.#work.isSpent) await this.#work.yield();
      if (point.id === ID.cuePoint) this.#readPoint(point.body, scale);
    }
  }

  #readPoint(point: Uint8Array, { unitMs, segmentStart, trackNumber }: CueScale): void {
    let timeMs = 0;
    for (const field of readElements(point, FIELD_COUNT_MAX)) {
      if (field.id === ID.cueTime) timeMs = readUnsigned(field.body) * unitMs;
      if (field.id !== ID.cueTrackPositions) continue;
      let [track, position] = [0, -1];
      for (const element of readElements(field.body, FIELD_COUNT_MAX)) {
        if (element.id === ID.cueTrack) track = readUnsigned(element.body);
        else if (element.id === ID.cueClusterPosition) position = readUnsigned(element.body);
      }
      if (position >= 0) this.#add(track === trackNumber, timeMs, segmentStart + position);
    }
  }

  #add(isOwn: boolean, timeMs: number, positionBytes: number): void {
    if (isOwn && !this.#isOwn) this.#seekPoints.clear();
    this.#isOwn ||= isOwn;
    if (isOwn === this.#isOwn) this.#seekPoints.add(timeMs, positionBytes);
  }
}
