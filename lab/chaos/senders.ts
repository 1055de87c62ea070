// Which machine sends for which guild, over a whole run: the fake Discord knows from which port a stream comes, and the
// system which process has that port. Lab only.

import type { Machine } from "../cluster/machines.ts";
import type { UdpSender } from "../discord/discord-network.ts";
import type { FakeDiscord } from "../discord/fake-discord.ts";
import type { StreamOverlap } from "../discord/stream-overlaps.ts";
import type { Sending } from "./sound.ts";
import { udpOwners } from "./udp-owners.ts";
import type { DoubleSending } from "./verdict.ts";

const POLL_MS = 250;
/** The system's tables are not read in one moment. */
const RETRIED_MS = 10_000;

export class Senders {
  readonly sendings: Sending[] = [];
  readonly #discord: FakeDiscord;
  readonly #machines: readonly Machine[];
  /** The machine that had a port last. */
  readonly #machineOfPort = new Map<number, string>();
  readonly #timer: NodeJS.Timeout;
  #looking: Promise<void> | undefined;

  constructor(discord: FakeDiscord, machines: readonly Machine[]) {
    this.#discord = discord;
    this.#machines = machines;
    this.#timer = setInterval(() => void this.look(), POLL_MS);
  }

  /** Finds the senders of the streams that have begun since the last look, or shortly before and are not known yet. */
  async look(): Promise<void> {
    await this.#looking;
    const { begunStreams } = this.#discord;
    const sinceMs = performance.now() - RETRIED_MS;
    const numbers = begunStreams.flatMap(({ firstMs }, number) => {
      const isKnown = number < this.sendings.length && this.sendings[number]?.machine !== undefined;
      return isKnown || (number < this.sendings.length && firstMs < sinceMs) ? [] : [number];
    });
    if (numbers.length === 0) return;
    this.#looking = this.#find(begunStreams, numbers);
    await this.#looking;
    this.#looking = undefined;
  }

  /** Streams of one guild at once, with their machines. */
  get doubleSendings(): readonly DoubleSending[] {
    return this.#discord.overlaps.map((overlap: StreamOverlap) => ({
      ...overlap,
      machine: this.#machineOf(overlap.sender),
      olderMachine: this.#machineOf(overlap.olderSender),
    }));
  }

  close(): void {
    clearInterval(this.#timer);
  }

  async #find(begun: FakeDiscord["begunStreams"], numbers: readonly number[]): Promise<void> {
    const names = new Map(
      this.#machines.flatMap(({ name, runs }) => (runs.pid === undefined ? [] : [[runs.pid, name]])),
    );
    const owners = await udpOwners([...names.keys()]);
    for (const number of numbers) {
      const stream = begun[number];
      if (stream === undefined) continue;
      const { guildId, sender, firstMs } = stream;
      const name = names.get(owners.get(sender.port) ?? 0);
      if (name !== undefined) this.#machineOfPort.set(sender.port, name);
      this.sendings[number] = { guildId, machine: name, fromMs: firstMs };
    }
  }

  #machineOf({ port }: UdpSender): string | undefined {
    return this.#machineOfPort.get(port);
  }
}
