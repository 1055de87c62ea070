// The numbered messages of one voice session: one u16 counter for JSON and binary messages together, a buffer of the
// last messages for Resume, and the check of the `seq_ack` a client sends (discord-voice.md section 1.5).

/** A message as it goes out: text for JSON, bytes (number in front) for binary opcodes. */
export type SequencedMessage = { readonly seq: number; readonly sentAtMs: number; readonly data: string | Buffer };

/** Messages buffered for Resume. */
const BUFFERED_MESSAGES_MAX = 256;
/** A client that has not acknowledged a message this long after it was sent does not count it at all. */
const ACKNOWLEDGE_WITHIN_MS = 2000;

export class ReplayBuffer {
  #nextSeq: number;
  #messages: SequencedMessage[] = [];
  #isComplete = true;
  #lastAck: number | undefined;

  constructor(firstSeq: number) {
    this.#nextSeq = firstSeq & 0xffff;
  }

  /** Numbers a message, keeps it, and returns it. */
  add(encode: (seq: number) => string | Buffer, nowMs: number): SequencedMessage {
    const seq = this.#nextSeq;
    this.#nextSeq = (seq + 1) & 0xffff;
    const message = { seq, sentAtMs: nowMs, data: encode(seq) };
    this.#messages.push(message);
    if (this.#messages.length > BUFFERED_MESSAGES_MAX) {
      this.#messages.shift();
      this.#isComplete = false;
    }
    return message;
  }

  /** The messages after `seqAck` (-1: from the start), or undefined when some of them are no longer buffered. */
  after(seqAck: number): readonly SequencedMessage[] | undefined {
    if (seqAck === -1) return this.#isComplete ? [...this.#messages] : undefined;
    const index = this.#messages.findIndex((message) => message.seq === seqAck);
    return index === -1 ? undefined : this.#messages.slice(index + 1);
  }

  /** The problem with a heartbeat's `seq_ack`, or undefined. Call with every heartbeat, in order. */
  judgeAck(seqAck: unknown, nowMs: number): string | undefined {
    if (typeof seqAck !== "number" || !Number.isInteger(seqAck)) return `seq_ack is ${String(seqAck)}, not a number`;
    const before = this.#lastAck;
    const missed = this.after(seqAck);
    if (missed === undefined) return `seq_ack ${seqAck} was never sent or lies too far back`;
    this.#lastAck = seqAck;
    if (before !== undefined && before !== -1 && (seqAck === -1 || ((seqAck - before) & 0xffff) > 0x8000)) {
      return `seq_ack went back from ${before} to ${seqAck}`;
    }
    const oldest = missed[0];
    if (oldest !== undefined && nowMs - oldest.sentAtMs > ACKNOWLEDGE_WITHIN_MS) {
      return `seq_ack ${seqAck} leaves out ${oldest.seq}, sent ${Math.round(nowMs - oldest.sentAtMs)} ms before`;
    }
    return undefined;
  }

  /** After a Resume messages count as sent when they were replayed. */
  restampReplayed(nowMs: number): void {
    this.#messages = this.#messages.map((message) => ({ ...message, sentAtMs: nowMs }));
  }
}
