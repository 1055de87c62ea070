// Machines that share their sessions through a real NATS server, behind a balancer, between a fake Discord and a fake web
// site: as the lab's (lab/cluster), for tests with real clients.

import { Balancer } from "../../lab/cluster/balancer.ts";
import { type Machine, type MachineRole, Machines } from "../../lab/cluster/machines.ts";
import { NatsServers } from "../../lab/cluster/nats-servers.ts";
import { FakeDiscord } from "../../lab/discord/fake-discord.ts";
import { MediaServer, type MediaServerOptions } from "../../lab/media-server/media-server.ts";
import { RESTART_PASSWORD } from "../../lab/restart/node-runs.ts";
import { connectBot } from "../../lab/restart/surroundings.ts";
import type { Bot, BotOptions } from "../../lab/test-environment/bot.ts";

interface Closable {
  close(): Promise<void>;
}

interface Parts {
  readonly discord: FakeDiscord;
  readonly media: MediaServer;
  readonly nats: NatsServers;
  readonly machines: readonly Machine[];
  readonly balancer: Balancer<Machine>;
}

export interface TestClusterOptions extends MediaServerOptions {
  /** Of each machine. */
  readonly roles?: readonly MachineRole[];
  /** Environment variables of each machine. */
  readonly environment?: Readonly<Record<string, string>>;
}

const DEFAULT_ROLES: readonly MachineRole[] = ["both", "both"];

export class TestCluster {
  readonly password = RESTART_PASSWORD;
  readonly discord: FakeDiscord;
  readonly media: MediaServer;
  readonly nats: NatsServers;
  readonly balancer: Balancer<Machine>;
  readonly #machines: readonly Machine[];
  readonly #opened: readonly Closable[];

  private constructor({ discord, media, nats, machines, balancer }: Parts, opened: readonly Closable[]) {
    this.discord = discord;
    this.media = media;
    this.nats = nats;
    this.balancer = balancer;
    this.#machines = machines;
    this.#opened = opened;
  }

  /** Two machines that take sessions, or one for each of `roles`. Nothing is left when that fails. */
  static async start({ roles = DEFAULT_ROLES, environment = {}, ...site }: TestClusterOptions): Promise<TestCluster> {
    const opened: Closable[] = [];
    const open = async <Part extends Closable>(starting: Promise<Part>): Promise<Part> => {
      const part = await starting;
      opened.push(part);
      return part;
    };
    try {
      const discord = await open(FakeDiscord.start());
      const media = await open(MediaServer.start(site));
      const nats = await open(NatsServers.start());
      const plans = roles.map((role, index) => ({ name: `machine-${index + 1}`, role, natsUrls: nats.urls }));
      const { all: machines } = await open(Machines.start({ plans, environment }));
      const balancer = await open(Balancer.start(machines));
      return new TestCluster({ discord, media, nats, machines, balancer }, opened);
    } catch (error) {
      await closeAll(opened);
      throw error;
    }
  }

  /** Of the balancer. */
  get port(): number {
    return this.balancer.port;
  }

  get first(): Machine {
    return this.#machine(0);
  }

  get second(): Machine {
    return this.#machine(1);
  }

  get third(): Machine {
    return this.#machine(2);
  }

  /** A bot that connects through the balancer; each of its requests is a connection. */
  connectBot(options: Partial<BotOptions> = {}): Promise<Bot> {
    return connectBot(this.balancer, { connect: () => this.balancer.connect(), ...options });
  }

  close(): Promise<void> {
    return closeAll(this.#opened);
  }

  #machine(index: number): Machine {
    const machine = this.#machines[index];
    if (machine === undefined) throw new Error(`there is no machine ${index + 1}`);
    return machine;
  }
}

async function closeAll(opened: readonly Closable[]): Promise<void> {
  for (const part of opened.toReversed()) await part.close();
}
