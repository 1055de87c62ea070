// The connector that shoukaku needs of a Discord library, over a fake shard.

import { Connector, type NodeOption } from "shoukaku";
import type { FakeDiscord } from "../../lab/discord/fake-discord.ts";
import { FakeShard, type VoiceStateRequest } from "./fake-shard.ts";

export class ShardConnector extends Connector {
  readonly shard: FakeShard;
  readonly #userId: string;

  constructor(discord: FakeDiscord, userId: string) {
    super(undefined);
    this.#userId = userId;
    this.shard = new FakeShard(discord, userId, (packet) => this.raw(packet));
  }

  override getId(): string {
    return this.#userId;
  }

  override sendPacket(_shardId: number, payload: unknown): void {
    this.shard.receive(payload as VoiceStateRequest); // what the library sends is always op 4
  }

  override listen(nodes: NodeOption[]): void {
    setImmediate(() => this.ready(nodes));
  }
}
