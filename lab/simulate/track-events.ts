// The events that a client of a simulation receives of the tracks of one guild, and the rule they must follow: at most
// one start and exactly one end of each, except for an end that a cut of the client's connection may have lost.

/** Around a cut of the client's connection: what the node sends then has not arrived, or is sent into the void. */
const CUT_MS = 50;
/** Around the last packet of a track: its end is reported a little before or after. */
const END_MS = 300;

/** A time in which the node sends an event. */
interface Span {
  readonly fromMs: number;
  readonly toMs: number;
}

/** Counts of the events of one playback. */
interface TrackEventCounts {
  starts: number;
  ends: number;
  /** When its end may have been sent. */
  readonly endSpans: Span[];
}

export class TrackEvents {
  readonly #now: () => number;
  readonly #reported = new Map<number, TrackEventCounts>();
  /** When the client's connection was cut. */
  readonly #clientCutsMs: number[] = [];

  constructor(now: () => number) {
    this.#now = now;
  }

  /** A playing is about to be asked for. */
  expect(id: number): void {
    this.#reported.set(id, { starts: 0, ends: 0, endSpans: [] });
  }

  /** Undefined for a playback that was never requested. */
  of(id: number | undefined): { starts: number; ends: number } | undefined {
    return id === undefined ? undefined : this.#reported.get(id);
  }

  /** Does what ends a playing, by its id. */
  async endBy(id: number | undefined, work: () => Promise<void>): Promise<void> {
    const fromMs = this.#now();
    await work();
    if (id !== undefined) this.#reported.get(id)?.endSpans.push({ fromMs, toMs: this.#now() });
  }

  /** The last packet of a playback has been received. */
  onLastPacket(id: number): void {
    const now = this.#now();
    this.#reported.get(id)?.endSpans.push({ fromMs: now - END_MS, toMs: now + END_MS });
  }

  onClientCut(): void {
    this.#clientCutsMs.push(this.#now());
  }

  /** Errors in the events, in words. */
  faults(): readonly string[] {
    return [...this.#reported].flatMap(([id, { starts, ends, endSpans }]) => {
      const isEnded = ends === 1 || (ends === 0 && endSpans.some((span) => this.#mayBeLost(span)));
      return starts <= 1 && isEnded ? [] : [`play ${id} has ${starts} starts and ${ends} ends`];
    });
  }

  /**
   * An event that was sent in this time may be lost for good: messages of the protocol are not acknowledged, so the
   * node repeats to a client that resumes only messages sent after it detected the cut.
   */
  #mayBeLost(span: Span): boolean {
    return this.#clientCutsMs.some((cutMs) => cutMs >= span.fromMs - CUT_MS && cutMs <= span.toMs + CUT_MS);
  }
}
