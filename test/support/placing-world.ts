// A cluster in memory whose machines place players as a test says, and what can be seen of that.

import { MESSAGES, PLAYERS } from "../../src/control/cluster/player-calls.ts";
import { chosenFor } from "../../src/control/cluster/rendezvous.ts";
import type { Session } from "../../src/control/sessions/session.ts";
import { NodeError } from "../../src/errors.ts";
import { ClusterWorld, TestMachine } from "./clustered-machine.ts";
import type { FakeSessionPlayer } from "./fake-session-player.ts";
import { FakeSocket } from "./fake-socket.ts";

export class PlacingWorld extends ClusterWorld {
  /** The machine that gateways choose for one more player. */
  target: TestMachine | undefined;

  /** A machine that chooses `target` for its players. */
  async gateway(name: string): Promise<TestMachine> {
    return await new TestMachine(this, name, { choose: () => this.target?.id }).start();
  }

  /** A machine that chooses itself. */
  async machine(name: string): Promise<TestMachine> {
    return await new TestMachine(this, name).start();
  }

  /** A session that would wait for its client, at `at`. */
  async lasting(at: TestMachine, socket = new FakeSocket()): Promise<Session> {
    const session = await at.open(socket);
    session.configure({ resuming: true, timeout: 600 });
    await this.pass(100);
    return session;
  }

  /** As `lasting`, one that `taker` takes over when its machine dies while these are alive. */
  async lastingFor(
    taker: TestMachine,
    { at, others }: { readonly at: TestMachine; readonly others: readonly TestMachine[] },
  ): Promise<Session> {
    const ids = [taker, ...others].map(({ id }) => id);
    for (;;) {
      const session = await this.lasting(at);
      if (chosenFor(session.id, ids) === taker.id) return session;
    }
  }

  async update(at: TestMachine, { id }: Session, volume = 50, guildId = "7"): Promise<void> {
    await this.within(at.ask(id, guildId, { kind: "update", volume }));
  }

  async destroy(at: TestMachine, { id }: Session, guildId = "7"): Promise<void> {
    await this.within(at.ask(id, guildId, { kind: "destroy" }));
    await this.pass(200);
  }

  /** The machine in the record of a player's place; undefined: there is none. */
  place({ id }: Session, guildId = "7"): string | undefined {
    const value = this.nats.value(`place/${id}/${guildId}`);
    return value === undefined ? undefined : (JSON.parse(value) as { machine: string }).machine;
  }

  /** The keys of all that is left of a session. */
  recordsOf({ id }: Session): readonly string[] {
    const records = [...this.nats.records.values()];
    return records.flatMap(({ key, value }) => (key.includes(id) && value !== undefined ? key : []));
  }

  /** A machine answers calls of that kind with what `answer` gives, where it gives anything. */
  intercept(
    at: TestMachine,
    kind: typeof MESSAGES | typeof PLAYERS,
    answer: (call: { readonly kind: string }, carryOut: () => Promise<string>) => Promise<string> | undefined,
  ): void {
    const { handlers } = this.links;
    const key = `${at.id} ${kind}`;
    const served = handlers.get(key);
    if (served === undefined) throw new Error(`${at.name} does not serve ${kind}`);
    const handler: typeof served.handler = (text, from) => {
      const carryOut = (): Promise<string> => served.handler(text, from);
      return answer(JSON.parse(text) as { kind: string }, carryOut) ?? carryOut();
    };
    handlers.set(key, { ...served, handler });
  }

  /** It takes no messages any more. */
  refuseMessages(at: TestMachine): void {
    this.intercept(at, MESSAGES, () => Promise.reject(new NodeError("cluster-away", "no")));
  }

  /** Calls of that kind to it get no answer. */
  ignore(at: TestMachine, ignored: string): void {
    this.intercept(at, PLAYERS, ({ kind }) => (kind === ignored ? new Promise(() => undefined) : undefined));
  }
}

export function playerAt(at: TestMachine, { id }: Session, guildId = "7"): FakeSessionPlayer | undefined {
  return at.sessions.get(id)?.players.get(guildId) as FakeSessionPlayer | undefined; // made by TestMachine
}

/** The volumes of the players of a guild that sound, on all of these machines. */
export function volumesOf(machines: readonly TestMachine[], session: Session, guildId = "7"): readonly number[] {
  return machines.flatMap((at) => playerAt(at, session, guildId)?.intent.volume ?? []);
}
