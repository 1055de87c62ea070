import { beforeEach, describe, expect, test } from "vitest";
import { V4_PROTOCOL } from "../../../../src/control/api/socket-protocol.ts";
import type { Session } from "../../../../src/control/sessions/session.ts";
import type { Sessions } from "../../../../src/control/sessions/sessions.ts";
import { NodeState } from "../../../../src/control/state/node-state.ts";
import { silentLogger } from "../../../../src/log/log.ts";
import type { StateRecord } from "../../../../src/state/state-store.ts";
import { FakeClock } from "../../../support/fake-clock.ts";
import { FakeRelay } from "../../../support/fake-relay.ts";
import { FakeSessionPlayer } from "../../../support/fake-session-player.ts";
import { FakeSocket } from "../../../support/fake-socket.ts";
import { MemoryStateStore } from "../../../support/memory-state-store.ts";
import { createSessions, EMPTY_UPDATE } from "../../../support/session-builders.ts";
import { untilSettled } from "../../../support/until-settled.ts";

const CLIENT = {
  userId: "1",
  clientName: undefined,
  dialect: V4_PROTOCOL,
  owner: undefined,
  account: "address test",
};

let clock: FakeClock;
let store: MemoryStateStore;
let state: NodeState;
let sessions: Sessions;
let relay: FakeRelay;

beforeEach(async () => {
  clock = new FakeClock();
  store = new MemoryStateStore();
  relay = new FakeRelay();
  ({ state, sessions } = await machine());
});

/** One on the same records. */
async function machine(): Promise<{ readonly state: NodeState; readonly sessions: Sessions }> {
  const shared = { offsetMs: () => 0 };
  const own = new NodeState({
    opened: { kind: "open", store, setAside: undefined },
    shared,
    clock,
    logger: silentLogger,
  });
  const all = createSessions({ clock, recorder: own.recorder, createPlayer: (owner) => new FakeSessionPlayer(owner) });
  await own
    .restore({
      sessions: { openWaiting: () => expect.fail("nothing is restored at the start") },
      dialectOf: () => V4_PROTOCOL,
      isKnownOwner: () => true,
      allowedFilters: (_owner, filters) => filters,
      onSession: () => undefined,
    })
    .catch(() => undefined);
  await own.begin();
  return { state: own, sessions: all };
}

async function addPlayer(session: Session, guildId = "7"): Promise<FakeSessionPlayer> {
  await session.updatePlayer(guildId, EMPTY_UPDATE, { isReplacing: true });
  const player = session.players.get(guildId) as FakeSessionPlayer; // made above
  player.onChanged();
  return player;
}

/** Everything that is marked gets into the store. */
async function flow(): Promise<void> {
  for (let step = 0; step < 4; step++) {
    clock.advance(0);
    await untilSettled();
  }
}

function keys(): string[] {
  return [...store.records.keys()].toSorted();
}

function records(): StateRecord[] {
  return keys().map((key) => ({ key, value: store.records.get(key) ?? "" }));
}

describe("a remote session", () => {
  test("has its players, what is kept and its events stored, and nothing of its client", async () => {
    const session = sessions.openRemote("s", CLIENT, relay);
    const player = await addPlayer(session);
    session.kept.set("7", "plugin", "1");
    player.say(1);
    await flow();

    expect(keys()).toEqual(["kept/s/7/706c7567696e", "player/s/7", "relay/s/here/000000000001"]);

    player.onChanged();
    session.drop();
    await flow();
    expect(keys()).toEqual([]);
  });

  test("stores an event with the change that it is about, in one write", async () => {
    const session = sessions.openRemote("s", CLIENT, relay);
    const player = await addPlayer(session);
    await flow();

    player.intent = { ...player.intent, volume: 5 };
    player.onChanged();
    player.say(1);
    await flow();

    expect(store.batches.at(-1)?.map(({ key }) => key)).toEqual(["player/s/7", "relay/s/here/000000000001"]);
  });

  test("that becomes waiting has its untaken events stored as those of its client", async () => {
    const session = sessions.openRemote("s", CLIENT, relay);
    (await addPlayer(session)).say(1);
    await flow();

    const settings = { resuming: true, timeout: 60 };
    sessions.openWaiting("s", CLIENT, { settings, left: { waitMs: 60_000, messages: [] } });
    state.adopt([]);
    await flow();
    session.configure(settings);
    await flow();

    expect(keys()).toEqual(["message/s/000000000001", "player/s/7", "session/s"]);
  });

  test("gets players from their records, and those that are here stay as they are", async () => {
    const source = await machine();
    const origin = source.sessions.openRemote("s", CLIENT, relay);
    for (const guildId of ["7", "8"]) {
      const player = await addPlayer(origin, guildId);
      player.intent = { ...player.intent, volume: 55 };
      player.onChanged();
    }
    origin.kept.set("7", "plugin", '"stored"');
    origin.kept.set("8", "plugin", '"stored"');
    for (let step = 0; step < 4; step++) await flow();
    const session = sessions.openRemote("s", CLIENT, relay);
    const here = await addPlayer(session, "8");
    session.kept.set("8", "plugin", '"here"');
    const writeCount = store.batches.length;

    state.adoptPlayers(session, records());
    await flow();

    expect(session.players.get("8")).toBe(here);
    expect((session.players.get("7") as FakeSessionPlayer).intent.volume).toBe(55);
    expect((session.players.get("7") as FakeSessionPlayer).isHeld).toBe(false);
    expect([session.kept.get("7", "plugin"), session.kept.get("8", "plugin")]).toEqual(['"stored"', '"here"']);
    const written = store.batches.slice(writeCount).flatMap((batch) => batch.map(({ key }) => key));
    expect(written.filter((key) => /^(player|track)\/s\/7/.test(key))).toEqual([]);
  });
});

describe("a session whose client belongs to another machine from now on", () => {
  test("leaves the records of its client to that one, and keeps writing those of its players", async () => {
    const socket = new FakeSocket();
    const session = sessions.open(socket, CLIENT);
    session.configure({ resuming: true, timeout: 60 });
    const player = await addPlayer(session);
    session.socketClosed(socket);
    player.say(1);
    await flow();

    const released = state.releaseClient(session);
    session.becomeRemote(relay);
    await Promise.all([state.flushed(), flow()]);
    state.forget(released);
    store.records.delete(`message/${session.id}/000000000001`);
    player.intent = { ...player.intent, volume: 9 };
    player.onChanged();
    player.say(2);
    session.configure({ timeout: 7 });
    await flow();

    expect(released.toSorted()).toEqual([`message/${session.id}/000000000001`, `session/${session.id}`]);
    expect(keys()).toEqual([
      `player/${session.id}/7`,
      `relay/${session.id}/here/000000000001`,
      `session/${session.id}`,
    ]);
    expect(store.records.get(`player/${session.id}/7`)).toContain('"volume":9');
    expect(store.records.get(`session/${session.id}`)).toContain('"timeout":60');
  });
});
