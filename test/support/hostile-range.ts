// The equipment of the tests of the outbound guard: targets, each with its own port, a canary behind those that lead to
// this machine, and the record of all connection attempts (worker-scripts/record-connections.mjs).

import { rootCause } from "../../src/errors.ts";
import { Canary, HostileSite, SITE_ADDRESS } from "./hostile-site.ts";
import type { HostileTarget } from "./hostile-targets.ts";
import type { RecordedConnection } from "./worker-scripts/record-connections.mjs";

/** Its own port identifies a connection attempt to the target. */
interface Aim {
  readonly target: HostileTarget;
  readonly url: string;
  readonly port: number;
  /** Listens at that port, for targets that lead to this machine. */
  readonly canary: Canary | undefined;
}

/** Tries to make the node connect to a target, until the signal. Rejects with the reason when it fails. */
export type Attempt = (url: string, signal: AbortSignal) => Promise<unknown>;

/** Concurrent attempts. */
const AT_ONCE = 16;
/** Ports of targets that lead elsewhere; nothing listens there. */
const FIRST_PORT = 1024;

export class HostileRange {
  readonly aims: readonly Aim[];
  /** The permitted site, which redirects to targets. */
  readonly site: HostileSite;
  /** Everything so far. */
  readonly recordedConnections: RecordedConnection[] = [];
  readonly #waiters = new Map<number, () => void>();
  #onConnection: (recordedConnection: RecordedConnection) => void = () => undefined;

  private constructor(aims: readonly Aim[], site: HostileSite) {
    this.aims = aims;
    this.site = site;
  }

  static async start(targets: readonly HostileTarget[]): Promise<HostileRange> {
    return new HostileRange(await Promise.all(targets.map(aimAt)), await HostileSite.start());
  }

  /** For `recordConnections`. */
  note(recordedConnection: RecordedConnection): void {
    this.recordedConnections.push(recordedConnection);
    this.#waiters.get(recordedConnection.port)?.();
    this.#onConnection(recordedConnection);
  }

  /** By URL: the error code of each attempt. */
  async codesOf(attempt: Attempt): Promise<ReadonlyMap<string, string>> {
    const codes = new Map<string, string>();
    await inParallel(this.aims, async ({ url }) => {
      const never = new AbortController().signal;
      const code = await attempt(url, never).then(() => "opened", codeOf);
      codes.set(url, code);
    });
    return codes;
  }

  /** The URLs that were connected to; where a canary listens, it has to see the connection. */
  async reachedBy(attempt: Attempt): Promise<string[]> {
    const reached: string[] = [];
    await inParallel(this.aims, async (aim) => {
      const abort = new AbortController();
      const contacted = new Promise<void>((resolve) => this.#waiters.set(aim.port, resolve));
      const arrived = aim.canary?.visited() ?? contacted;
      const ended = attempt(aim.url, abort.signal).then(() => "opened", codeOf);
      if ((await Promise.race([arrived.then(() => "reached"), ended])) === "reached") reached.push(aim.url);
      abort.abort();
      await ended;
    });
    return reached;
  }

  /** Resolves with the next connection attempt to this address. */
  contacted(address: string): Promise<void> {
    return new Promise((resolve) => {
      this.#onConnection = (recordedConnection) => {
        if (recordedConnection.address === address) resolve();
      };
    });
  }

  /**
   * Connection attempts since `first`, except to permitted addresses. Test files share a process: what goes to another
   * port of this machine than a target's is what an earlier file has left behind.
   */
  strayConnections(first: number, allowed: readonly string[] = [SITE_ADDRESS]): readonly RecordedConnection[] {
    const ports = new Set(this.aims.map(({ port }) => port));
    return this.recordedConnections
      .slice(first)
      .filter(({ address, port, isHere }) => !allowed.includes(address) && (!isHere || ports.has(port)));
  }

  /** Connection attempts to a target's port that went to an address other than the target's. */
  misledConnections(first: number): readonly RecordedConnection[] {
    const addressesByPort = new Map(this.aims.map(({ port, target }) => [port, target.addresses.map(canonical)]));
    return this.recordedConnections
      .slice(first)
      .filter(({ port, address }) => addressesByPort.get(port)?.includes(canonical(address)) === false);
  }

  /** Number of connections to any canary. */
  get visitorCount(): number {
    return this.aims.reduce((sum, { canary }) => sum + (canary?.visitorCount ?? 0), 0);
  }

  async close(): Promise<void> {
    await this.site.close();
    await Promise.all(this.aims.map(({ canary }) => canary?.close()));
  }
}

/** Runs `work` for all of them, `atOnce` at a time. */
export async function inParallel<T>(
  items: Iterable<T>,
  work: (item: T) => Promise<void>,
  atOnce = AT_ONCE,
): Promise<void> {
  const waiting = items[Symbol.iterator]();
  const workUp = async (): Promise<void> => {
    for (let next = waiting.next(); !next.done; next = waiting.next()) await work(next.value);
  };
  await Promise.all(Array.from({ length: atOnce }, workUp));
}

async function aimAt(target: HostileTarget, index: number): Promise<Aim> {
  const canary = target.addresses.every(isLocal) ? await Canary.start() : undefined;
  const port = canary?.port ?? FIRST_PORT + index;
  return { target, port, canary, url: target.url.replace("PORT", String(port)).replace("PATH", "song.mp3") };
}

/** True for an address of this machine at which any process can listen. */
function isLocal(address: string): boolean {
  return /^(127\.|0\.0\.0\.0$|::1?$|::ffff:7f)/.test(canonical(address));
}

/** IPv6 addresses have many notations; the system accepts them all. */
function canonical(address: string): string {
  return address.includes(":") ? new URL(`http://[${address.replace(/%.*/, "")}]/`).hostname.slice(1, -1) : address;
}

function codeOf(error: unknown): string {
  const root = rootCause(error);
  return root instanceof Error && "code" in root ? String(root.code) : String(root);
}
