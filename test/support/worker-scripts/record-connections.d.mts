export interface RecordedConnection {
  readonly protocol: "tcp" | "udp";
  /** As handed to the system: an IP address. */
  readonly address: string;
  readonly port: number;
  /** It was passed on to the system; others were stopped. */
  readonly isHere: boolean;
}

export function recordConnections(onConnection: (recordedConnection: RecordedConnection) => void): Promise<() => void>;
