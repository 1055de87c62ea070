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

  /** Finds the senders of the streams that have begun since the last look. */
  async look(): Promise<void> {
    await this.#looking;
    const begun = this.#discord.begunStreams.slice(this.sendings.length);
    if (begun.length === 0) return;
    this.#looking = this.#find(begun);
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

  async #find(begun: FakeDiscord["begunStreams"]): Promise<void> {
    const names = new Map(
      this.#machines.flatMap(({ name, runs }) => (runs.pid === undefined ? [] : [[runs.pid, name]])),
    );
    const owners = await udpOwners([...names.keys()]);
    for (const { guildId, sender, firstMs } of begun) {
      const name = names.get(owners.get(sender.port) ?? 0);
      if (name !== undefined) this.#machineOfPort.set(sender.port, name);
      this.sendings.push({ guildId, machine: name, fromMs: firstMs });
    }
  }

  #machineOf({ port }: UdpSender): string | undefined {
    return this.#machineOfPort.get(port);
  }
}
