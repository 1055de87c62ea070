// A client's connection as its session needs it. Main thread; control/server/held-socket.ts is the real one.

/** Where a client's connection comes from. All of it is bounded in length. */
export interface ClientOrigin {
  readonly address: string | undefined;
  /** The address that the last proxy has appended, if there is one; a client can make it up. */
  readonly forwardedFor: string | undefined;
  readonly userAgent: string | undefined;
}

export interface SessionSocket {
  /** Undefined: not known. */
  readonly origin?: ClientOrigin | undefined;
  /** Calls back once, when the operating system has taken the text or refused it. */
  send(text: string, onSent: (error?: Error | null) => void): void;
  /** Bytes sent and not yet taken by the operating system. */
  readonly bufferedAmount: number;
  close(code: number, reason?: string): void;
  terminate(): void;
}
