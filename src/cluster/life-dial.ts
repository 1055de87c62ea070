// Connects to the port by which a machine shows that its process runs (life-listener.ts), and finds out whom it has
// reached. watched-process.ts draws conclusions from that. Main thread.

import { connect } from "node:net";
import { GREETING_LENGTH_MAX, greetingOf } from "./life-listener.ts";

/** To connect, and to be greeted. */
const DIAL_MS_MAX = 2000;
/** Without a packet of the other side; then it is asked for one. */
const KEEP_ALIVE_MS = 10_000;

/** A connection to the process of a machine. */
export interface Lifeline {
  /**
   * Resolves when it is over. "closed": the system of the other side has closed it, as after the end of the process; this
   * is told by a FIN, which firewalls and proxies do not make for a connection that they only pass on. "lost": in any
   * other way.
   */
  readonly ended: Promise<"closed" | "lost">;
  close(): void;
}

export type Dialled =
  /** The process of the machine itself has told its id, with nothing between that has connections of both sides. */
  | { readonly kind: "verified"; readonly line: Lifeline }
  /** Nothing listens there. */
  | { readonly kind: "refused"; readonly reason: string }
  /** Somebody accepts connections there. */
  | { readonly kind: "accepted"; readonly reason: string }
  /** No answer, or no way to there. */
  | { readonly kind: "silent"; readonly reason: string };

interface DialTarget {
  readonly host: string;
  readonly port: number;
  /** Of the machine. */
  readonly id: string;
}

/** Resolves within 2 s; never rejects. */
export type Dial = (target: DialTarget) => Promise<Dialled>;

export const dial: Dial = ({ host, port, id }) =>
  new Promise((resolve) => {
    const socket = connect({ host, port });
    socket.unref();
    let kind: "silent" | "accepted" = "silent";
    let text = "";
    let onEnd: ((how: "closed" | "lost") => void) | undefined;
    const fail = (reason: string, failedAs: "silent" | "accepted" | "refused" = kind): void => {
      clearTimeout(timer);
      socket.destroy();
      // What is verified has been resolved before: only the first counts, here and there.
      onEnd?.("lost");
      resolve({ kind: failedAs, reason });
    };
    const timer = setTimeout(() => fail("no answer"), DIAL_MS_MAX);
    timer.unref();
    socket.on("connect", () => {
      kind = "accepted";
    });
    socket.on("end", () => {
      onEnd?.("closed");
      fail("it closes connections");
    });
    socket.on("error", (error) => {
      const code = "code" in error ? String(error.code) : error.message;
      if (code === "ECONNREFUSED") fail(code, "refused");
      // Only one that has been accepted is reset.
      else if (code === "ECONNRESET") fail(code, "accepted");
      else fail(code);
    });
    socket.on("close", () => fail("closed"));
    socket.on("data", (data) => {
      if (onEnd !== undefined) {
        fail("it says more than its id");
        return;
      }
      text += data.toString("latin1");
      if (!text.endsWith("\n") && text.length < GREETING_LENGTH_MAX) return;
      const { localAddress, localPort } = socket;
      if (text !== greetingOf({ id, address: localAddress, port: localPort })) {
        const isOther = text.split(" ")[1] !== id;
        fail(isOther ? "another process answers there" : "there is a proxy or an address translation between");
        return;
      }
      clearTimeout(timer);
      socket.setKeepAlive(true, KEEP_ALIVE_MS);
      const ended = new Promise<"closed" | "lost">((resolveEnd) => {
        onEnd = resolveEnd;
      });
      resolve({ kind: "verified", line: { ended, close: () => fail("closed by this side") } });
    });
  });
