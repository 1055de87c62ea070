// The UDP socket of one voice session: connect, IP discovery, packets out, keep-alive, and notice when nothing leaves
// any more (discord-voice.md section 1.8). Last station before Discord, on the pacer thread.

import type { Clock, Timer } from "../../lib/clock.ts";
import { onAbort } from "../../lib/on-abort.ts";
import { TokenBucket } from "../../lib/token-bucket.ts";
import type { DatagramSocket } from "../../network/sockets.ts";
import type { HandlerGuard } from "./handler-guard.ts";
import { type ExternalAddress, encodeDiscoveryRequest, parseDiscoveryResponse } from "./ip-discovery.ts";
import { DirectSender, receiverOf } from "./udp-handle.ts";

const DISCOVERY_TRIES_MAX = 6;
const DISCOVERY_RESEND_MS = 500;
const KEEP_ALIVE_MS = 5000;
/**
 * Every so many packets one asks how its sending went. Asking costs a microsecond a packet, so not all do; half a
 * second is soon enough to notice a dead network.
 */
const PACKETS_PER_CHECK = 25;
/** Sending has to fail for this long before the session is rebuilt. */
const FAILING_MS_MAX = 3000;
/** Only the discovery response is needed; datagrams beyond this number are left for the system to drop. */
const DATAGRAMS_BURST = 100;
const DATAGRAMS_PER_SECOND = 50;
const RECEIVE_PAUSE_MS = 1000;

interface UdpSocketOptions {
  /** Not connected yet; closed with this one. */
  readonly socket: DatagramSocket;
  readonly address: string;
  readonly port: number;
  readonly guardHandler: HandlerGuard;
  /** Its timers run inside the handler guard. */
  readonly clock: Clock;
  /** Called for each network error. */
  readonly onError: (error: Error) => void;
  /** Nothing could be sent for FAILING_MS_MAX. Called once. */
  readonly onDead: (error: Error) => void;
}

export class UdpSocket {
  readonly #options: UdpSocketOptions;
  readonly #socket: DatagramSocket;
  readonly #direct: DirectSender;
  readonly #keepAlive = Buffer.alloc(8);
  readonly #checkSent: (error: Error | null) => void;
  readonly #datagrams: TokenBucket;
  #keepAliveTimer: Timer | undefined;
  #receivePauseTimer: Timer | undefined;
  #giveUpConnecting: ((error: Error) => void) | undefined;
  #answerDiscovery: ((found: ExternalAddress) => void) | undefined;
  #packetCount = 0;
  #packetCountAtKeepAlive = 0;
  #failingSinceMs: number | undefined;
  #hasFailedSinceCheck = false;
  #isDead = false;
  #isClosed = false;

  constructor(options: UdpSocketOptions) {
    this.#options = options;
    const { socket, clock, guardHandler } = options;
    this.#socket = socket;
    this.#direct = new DirectSender(socket);
    this.#datagrams = new TokenBucket({ clock, burst: DATAGRAMS_BURST, perSecond: DATAGRAMS_PER_SECOND });
    // Connected sockets report "port unreachable" here, at any time.
    this.#socket.on(
      "error",
      guardHandler((error: Error) => this.#onError(error)),
    );
    this.#socket.on(
      "message",
      guardHandler((packet: Buffer) => this.#onDatagram(packet)),
    );
    this.#checkSent = guardHandler((error: Error | null) => {
      if (error !== null) this.#onError(error);
      else if (!this.#hasFailedSinceCheck) this.#failingSinceMs = undefined;
      this.#hasFailedSinceCheck = false;
    });
  }

  /** Connects to the peer, so that foreign packets never reach us. Rejects with the system error, or when closed. */
  connect(): Promise<void> {
    const { port, address } = this.#options;
    return new Promise((resolve, reject) => {
      this.#giveUpConnecting = reject;
      this.#socket.connect(port, address, (error?: Error) => (error === undefined ? resolve() : reject(error)));
    });
  }

  /**
   * Discovers our external address as the server sees it, with up to 6 requests in 3 s. Undefined when no response
   * came.
   */
  async discover(ssrc: number, signal: AbortSignal): Promise<ExternalAddress | undefined> {
    const request = encodeDiscoveryRequest(ssrc);
    let timer: Timer | undefined;
    let settle: (found: ExternalAddress | undefined) => void = () => undefined;
    const answer = new Promise<ExternalAddress | undefined>((resolve) => {
      settle = resolve;
    });
    const ask = (triesLeft: number) => {
      if (triesLeft === 0) {
        settle(undefined);
        return;
      }
      this.send(request);
      timer = this.#options.clock.after(DISCOVERY_RESEND_MS, () => ask(triesLeft - 1));
    };
    this.#answerDiscovery = settle;
    const stopListening = onAbort(signal, () => settle(undefined));
    if (!signal.aborted) ask(DISCOVERY_TRIES_MAX);
    const found = await answer;
    timer?.cancel();
    this.#answerDiscovery = undefined;
    stopListening();
    return found;
  }

  /**
   * Sends one packet. False: the system may still read it for a moment when it is busy, so do not overwrite it at once.
   */
  send(packet: Uint8Array): boolean {
    if (this.#isClosed) return true;
    if (this.#packetCount++ % PACKETS_PER_CHECK === 0) {
      this.#socket.send(packet, this.#checkSent);
      return false;
    }
    const outcome = this.#direct.send(packet);
    if (outcome === "unable") this.#socket.send(packet);
    return outcome === "taken";
  }

  /**
   * From now on sends 8 bytes after every 5 s without audio, which keeps a NAT mapping open. No responses are expected.
   */
  startKeepAlive(): void {
    this.#keepAliveTimer = this.#options.clock.after(KEEP_ALIVE_MS, () => {
      if (this.#packetCount === this.#packetCountAtKeepAlive) {
        this.#keepAlive.writeUInt32LE((this.#keepAlive.readUInt32LE(0) + 1) >>> 0, 0);
        this.#socket.send(this.#keepAlive, this.#checkSent);
      }
      this.#packetCountAtKeepAlive = this.#packetCount;
      this.startKeepAlive();
    });
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#keepAliveTimer?.cancel();
    this.#receivePauseTimer?.cancel();
    this.#socket.close();
    // The system's socket does not report that it will never be connected.
    this.#giveUpConnecting?.(new Error("closed"));
  }

  #onDatagram(packet: Uint8Array): void {
    if (this.#isClosed || this.#receivePauseTimer !== undefined) return;
    if (!this.#datagrams.spend(1)) {
      this.#pauseReceiving();
      return;
    }
    const found = this.#answerDiscovery === undefined ? undefined : parseDiscoveryResponse(packet);
    if (found !== undefined) this.#answerDiscovery?.(found);
  }

  /** A flood: sending continues, receiving is paused for a while. */
  #pauseReceiving(): void {
    const receiver = receiverOf(this.#socket);
    receiver?.recvStop();
    this.#receivePauseTimer = this.#options.clock.after(RECEIVE_PAUSE_MS, () => {
      this.#receivePauseTimer = undefined;
      receiver?.recvStart();
    });
  }

  #onError(error: Error): void {
    if (this.#isClosed) return;
    this.#hasFailedSinceCheck = true;
    this.#options.onError(error);
    const nowMs = this.#options.clock.now();
    this.#failingSinceMs ??= nowMs;
    if (this.#isDead || nowMs - this.#failingSinceMs < FAILING_MS_MAX) return;
    this.#isDead = true;
    this.#options.onDead(error);
  }
}
