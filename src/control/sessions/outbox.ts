// The way of messages to a client's socket, in order. Those that outlive the process wait until they are stored with
// what they are about, so that a client never knows of something that the next process does not. Main thread; one per
// connection of a session.

import type { BufferedBytes } from "./buffered-bytes.ts";
import type { QueuedMessage } from "./resume-queue.ts";
import type { SessionSocket } from "./session-socket.ts";

/** A client that lets this much pile up in its socket is cut off; its events wait for it if it may resume. */
export const SOCKET_BACKLOG_MAX_BYTES = 8 * 1024 * 1024;

interface Item {
  readonly message: QueuedMessage;
  isWaiting: boolean;
}

interface OutboxOptions {
  readonly socket: SessionSocket;
  /** Of the messages that the operating system has not taken. */
  readonly bytes: BufferedBytes;
  /** The operating system has taken the message. */
  readonly onTaken: (message: QueuedMessage) => void;
  /** The client does not read, or there is no memory for more: the connection must end. */
  readonly onFull: () => void;
}

export class Outbox {
  readonly #options: OutboxOptions;
  #items: Item[] = [];
  /** Sent, and not taken by the operating system. */
  #unsent: QueuedMessage[] = [];
  #isClosed = false;

  constructor(options: OutboxOptions) {
    this.#options = options;
  }

  /** The client has let too much pile up. */
  get isFull(): boolean {
    return !this.#isClosed && this.#options.socket.bufferedAmount > SOCKET_BACKLOG_MAX_BYTES;
  }

  /** `written` holds up the message, and with it those behind; it never rejects. Undefined: it is not stored first. */
  push(message: QueuedMessage, written?: Promise<void>): void {
    const item = { message, isWaiting: written !== undefined };
    this.#items.push(item);
    void written?.then(() => {
      item.isWaiting = false;
      this.#flow();
    });
    this.#flow();
  }

  /** Writes all messages, stored or not. */
  flush(): void {
    for (const item of this.#items) item.isWaiting = false;
    this.#flow();
  }

  /**
   * The socket is lost. Returns all messages that the operating system has not taken, oldest first: the client did not
   * get them whole.
   */
  close(): readonly QueuedMessage[] {
    const messages = [...this.#unsent, ...this.#items.map(({ message }) => message)];
    this.#isClosed = true;
    this.#items = [];
    this.#unsent = [];
    this.#options.bytes.change(0);
    return messages;
  }

  #flow(): void {
    // Sending may close it.
    for (let item = this.#items[0]; item?.isWaiting === false; item = this.#items[0]) {
      this.#items.shift();
      this.#send(item.message);
    }
  }

  /**
   * Sends, and remembers the message until the operating system has taken it: what it has not taken when the socket
   * closes was not received whole, so it can be sent again later without ever being doubled.
   */
  #send(message: QueuedMessage): void {
    const { socket, bytes, onTaken, onFull } = this.#options;
    const { length } = message.text;
    this.#unsent.push(message);
    const hasMemory = bytes.change(bytes.sizeBytes + length);
    socket.send(message.text, (error) => {
      // Sends complete in order. After an error no more are taken; the rest waits for the close event.
      if (error !== undefined && error !== null) return;
      if (this.#isClosed) return;
      onTaken(message);
      this.#unsent.shift();
      bytes.change(bytes.sizeBytes - length);
    });
    if (!hasMemory && !this.#isClosed && bytes.sizeBytes > 0) onFull();
  }
}
