// One guild of the moments: its requests in the order of sending, which of them were answered, and its events; after a
// restart it says what was lost. An answered request must be found, one without an answer may be. Lab only.

import type { NodeMessage, PlayerView } from "../test-environment/bot.ts";
import { EventLedger } from "./event-ledger.ts";
import type { PipelinedConnection, RawAnswer } from "./pipelined-connection.ts";
import { after, differences, type Expected, located, type Request, trackNumber } from "./player-model.ts";
import { drawRequest, endSoon, type RequestSources } from "./random-requests.ts";

interface Sent {
  readonly request: Request;
  readonly atMs: number;
}

export interface MomentGuildOptions {
  readonly guildId: string;
  readonly sources: RequestSources;
  readonly note: (line: string) => void;
}

export class MomentGuild {
  readonly guildId: string;
  readonly ledger = new EventLedger();
  readonly #options: MomentGuildOptions;
  /** With all answered requests. */
  #expected: Expected;
  /** Oldest first. */
  #unanswered: Sent[] = [];
  #answeredCount = 0;
  readonly #losses: string[] = [];

  constructor(options: MomentGuildOptions) {
    this.guildId = options.guildId;
    this.#options = options;
  }

  get answeredCount(): number {
    return this.#answeredCount;
  }

  get hasUnanswered(): boolean {
    return this.#unanswered.length > 0;
  }

  /** Sends a random request; the answer is noted when it arrives. */
  ask(connection: PipelinedConnection, session: string): void {
    this.#send(drawRequest(this.#latest(), this.#options.sources, Date.now()), connection, session);
  }

  /** Its track, if it plays, ends in that time. */
  endSoon(connection: PipelinedConnection, session: string, afterMs: number): void {
    const request = endSoon(this.#latest(), Date.now(), afterMs);
    if (request !== undefined) this.#send(request, connection, session);
  }

  onEvent(message: NodeMessage): void {
    const what = `${message.type} ${trackNumber(message.track) ?? ""} ${message.reason ?? ""}`;
    this.#note(what);
    for (const fault of this.ledger.add(message, Date.now())) this.#lose(fault);
  }

  /** Its state after a restart; afterwards that is what is expected. Returns what was lost since the last call. */
  judge(view: PlayerView | undefined): readonly string[] {
    const judged = this.#candidates().map((expected) => ({
      expected,
      faults: differences(expected, view, this.ledger.finished),
    }));
    const found = judged.reduce((best, next) => (next.faults.length <= best.faults.length ? next : best));
    if (found.faults.length > 0) {
      const all = judged.map(({ faults }) => faults.join(", "));
      this.#lose(`${all.join("; or, with a request that had no answer: ")}`);
    }
    for (const fault of this.ledger.compare(trackNumber(view?.track))) this.#lose(fault);
    this.#unanswered = [];
    const fitting = judged.filter(({ faults }) => faults.length === found.faults.length);
    this.#expected = withLatestEnd(
      adopted(found.expected, view),
      fitting.map(({ expected }) => expected),
    );
    return this.#losses.splice(0);
  }

  /** Its session is gone. */
  forget(): readonly string[] {
    this.#expected = undefined;
    this.#unanswered = [];
    this.ledger.forget();
    return this.#losses.splice(0);
  }

  /** True while its track should be over and the node still has it. */
  isOverdue(view: PlayerView | undefined): boolean {
    const number = trackNumber(view?.track);
    return this.#candidates().some((expected) => {
      const track = expected?.track;
      return track !== undefined && track.number === number && (view?.state.position ?? 0) >= track.endMs - 200;
    });
  }

  #send(request: Request, connection: PipelinedConnection, session: string): void {
    const sent = { request, atMs: Date.now() };
    const path = `${session}/players/${this.guildId}`;
    const isPatch = request.kind === "patch";
    this.#note(`asked ${isPatch ? JSON.stringify(request.changes) : "delete"}`);
    this.#unanswered.push(sent);
    void connection
      .send(isPatch ? "PATCH" : "DELETE", path, isPatch ? request.body : undefined)
      .then((answer) => this.#onAnswer(sent, answer));
  }

  #onAnswer(sent: Sent, answer: RawAnswer | undefined): void {
    if (answer === undefined) return;
    this.#note(`answered ${answer.status}`);
    this.#answeredCount++;
    // Answers arrive in the order of sending.
    this.#unanswered = this.#unanswered.filter((other) => other !== sent);
    if (answer.status >= 300) {
      this.#lose(`request refused: ${answer.status} ${answer.text.slice(0, 200)}`);
      return;
    }
    const next = after(this.#expected, sent.request, Date.now());
    this.#expected = answer.text === "" ? next : located(next, JSON.parse(answer.text) as PlayerView);
  }

  /** The states that are possible: with all answered requests, and any number of those sent after them. */
  #candidates(): readonly [Expected, ...Expected[]] {
    let expected = this.#expected;
    const rest = this.#unanswered.map(({ request, atMs }) => {
      expected = after(expected, request, atMs);
      return expected;
    });
    return [this.#expected, ...rest];
  }

  /** After all that was sent, without a track that has ended by itself. */
  #latest(): Expected {
    const latest = this.#candidates().at(-1);
    const { track } = latest ?? {};
    return latest !== undefined && track !== undefined && this.ledger.finished.has(track.number)
      ? { ...latest, track: undefined }
      : latest;
  }

  #lose(what: string): void {
    this.#note(`LOSS ${what}`);
    this.#losses.push(`guild ${this.guildId}: ${what}`);
  }

  #note(what: string): void {
    this.#options.note(`guild ${this.guildId}: ${what}`);
  }
}

/** What is expected from now on: what was found, so that one loss is reported once. */
function adopted(expected: Expected, view: PlayerView | undefined): Expected {
  if (view === undefined) return undefined;
  const { voice, filters } = view as unknown as {
    readonly voice: { readonly token: string };
    readonly filters: Readonly<Record<string, unknown>>;
  };
  const number = trackNumber(view.track);
  const { note } = (view.track as unknown as { userData?: { note?: number } } | null)?.userData ?? {};
  const isSame = number !== undefined && number === expected?.track?.number;
  const unknown = { lengthMs: Number.POSITIVE_INFINITY, endMs: Number.POSITIVE_INFINITY };
  const { lengthMs, endMs } = (isSame ? expected?.track : undefined) ?? unknown;
  const { position, time } = view.state;
  const at = { floorMs: position, positionMs: position, atMs: time, isExact: view.paused };
  const track = number === undefined ? undefined : { number, note: note ?? 0, lengthMs, endMs, ...at };
  return { track, isPaused: view.paused, volume: view.volume, filters, voiceToken: voice.token };
}

/** Nothing shows whether a new end was taken over that was not answered: the track may go on to the latest. */
function withLatestEnd(player: Expected, fitting: readonly Expected[]): Expected {
  if (player?.track === undefined) return player;
  const endMs = Math.max(player.track.endMs, ...fitting.map((other) => other?.track?.endMs ?? 0));
  return { ...player, track: { ...player.track, endMs } };
}
