// Machines that share their sessions through a real NATS server, behind a balancer, between a fake Discord and a fake web
// site: as the lab's (lab/cluster), for tests with real clients.

import { Balancer } from "../../lab/cluster/balancer.ts";
import { type Machine, Machines } from "../../lab/cluster/machines.ts";
import { findNatsServer } from "../../lab/cluster/nats-program.ts";
import { NatsServers } from "../../lab/cluster/nats-servers.ts";
import { FakeDiscord } from "../../lab/discord/fake-discord.ts";
import { MediaServer, type MediaServerOptions } from "../../lab/media-server/media-server.ts";
import { RESTART_PASSWORD } from "../../lab/restart/node-runs.ts";
import { connectBot } from "../../lab/restart/surroundings.ts";
import type { Bot, BotOptions } from "../../lab/test-environment/bot.ts";

interface Parts {
  readonly discord: FakeDiscord;
  readonly media: MediaServer;
  readonly nats: NatsServers;
  readonly machines: Machines;
  readonly balancer: Balancer<Machine>;
}

/** Why tests with it cannot run; empty: they can. */
export const CLUSTER_MISSING = findNatsServer() === undefined ? "nats-server is not installed" : "";
if (CLUSTER_MISSING !== "") console.warn(`tests of clusters are skipped: ${CLUSTER_MISSING}`);

export class TestCluster {
  readonly password = RESTART_PASSWORD;
  readonly discord: FakeDiscord;
  readonly media: MediaServer;
  readonly nats: NatsServers;
  readonly balancer: Balancer<Machine>;
  readonly #parts: Parts;

  private constructor(parts: Parts) {
    this.#parts = parts;
    this.discord = parts.discord;
    this.media = parts.media;
    this.nats = parts.nats;
    this.balancer = parts.balancer;
  }

  /** Two machines that take sessions. */
  static async start(media: MediaServerOptions): Promise<TestCluster> {
    const nats = await NatsServers.start();
    try {
      const machines = await Machines.start({ count: 2, natsUrls: nats.urls });
      const balancer = await Balancer.start(machines.all);
      const [discord, site] = [await FakeDiscord.start(), await MediaServer.start(media)];
      return new TestCluster({ discord, media: site, nats, machines, balancer });
    } catch (error) {
      await nats.close();
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

  /** A bot that connects through the balancer; each of its requests is a connection. */
  connectBot(options: Partial<BotOptions> = {}): Promise<Bot> {
    return connectBot(this.balancer, { connect: () => this.balancer.connect(), ...options });
  }

  async close(): Promise<void> {
    const { discord, media, nats, machines, balancer } = this.#parts;
    await balancer.close();
    await machines.close();
    await nats.close();
    await discord.close();
    await media.close();
  }

  #machine(index: number): Machine {
    const machine = this.#parts.machines.all[index];
    if (machine === undefined) throw new Error("there are two machines");
    return machine;
  }
}
