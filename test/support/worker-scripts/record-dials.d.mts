export interface Dial {
  readonly protocol: "tcp" | "udp";
  /** As handed to the system: an IP address. */
  readonly address: string;
  readonly port: number;
  /** It went on to the system; others were stopped. */
  readonly isHere: boolean;
}

export function recordDials(onDial: (dial: Dial) => void): Promise<() => void>;
