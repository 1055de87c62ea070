// The bot's library, as far as shoukaku (and kazagumo, which stands on it) asks for it.

import { Connector } from "shoukaku";
import type { RawPacket, VoiceStateRequest } from "../../../support/fake-shard.ts";
import type { ClientBinding } from "../client-driver.ts";

/** Name of the one node. */
export const NODE = "tonearm";
export const SHOUKAKU_OPTIONS = { resume: true, resumeTimeout: 60, reconnectInterval: 1, reconnectTries: 20 };

export class ShardConnector extends Connector {
  readonly #binding: ClientBinding;

  constructor(binding: ClientBinding) {
    super(binding);
    this.#binding = binding;
  }

  override getId(): string {
    return this.#binding.userId;
  }

  override sendPacket(_shardId: number, payload: unknown): void {
    this.#binding.send(payload as VoiceStateRequest); // shoukaku sends no other payload
  }

  /** Begins when the driver says so. */
  override listen(): void {}

  begin(): void {
    const { host, port, password } = this.#binding;
    this.ready([{ name: NODE, url: `${host}:${port}`, auth: password }]);
  }

  receive(packet: RawPacket): void {
    this.raw(packet);
  }
}
