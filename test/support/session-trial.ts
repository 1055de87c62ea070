// Machines with sessions in fake time, whose clients come and go while random harm is done: cuts, pauses, slow networks,
// lost answers, deaths, leaving, and times without NATS. It checks that no session plays at two places, and in the end
// that each is where its client finds it, as it was answered.

import { seededRandom } from "../../lab/seeded-random.ts";
import type { FormerLife } from "../../src/control/cluster/former-life.ts";
import { SWEEP_MS } from "../../src/control/cluster/record-sweep.ts";
import type { Random } from "../../src/lib/random.ts";
import { ClusterWorld, TestMachine } from "./clustered-machine.ts";
import { type FakeProcess, FakeProcesses } from "./fake-processes.ts";
import type { FakeSessionPlayer } from "./fake-session-player.ts";
import { PausableClock } from "./pausable-clock.ts";
import { TrialClient, type TrialProcess } from "./trial-client.ts";
import { untilSettled } from "./until-settled.ts";

const STEP_MS = 20;
/** While nothing happens. */
const LONG_STEP_MS = 500;
const MACHINES_MIN = 3;
const MACHINES_MAX = 5;
const CLIENTS_MAX = 8;
const GUILDS = ["7", "18", "29"];
/** Of a network at its best, one way. */
const TRANSIT_MS_MAX = 40;
const SLOW_MS_MAX = 3000;
const HARM_MS_MAX = 22_000;
const AWAY_MS_MAX = 30_000;
const GOODBYE_MS_MAX = 1500;
const DRAIN_MS_MAX = 10_000;
/** Chances within a step. */
const HARM = STEP_MS / 12_000;
const AWAY = STEP_MS / 40_000;
const DEATH = STEP_MS / 40_000;
const LEAVING = STEP_MS / 20_000;
const DRAINING = STEP_MS / 15_000;
const ACT = STEP_MS / 500;

interface Process extends TrialProcess {
  readonly place: Place;
  readonly watched: FakeProcess;
  readonly clock: PausableClock;
  readonly ids: Set<string>;
  isLeaving: boolean;
  /** Its players are moved until then; it leaves, or takes players again. */
  drainsUntilMs: number;
  harm: { readonly untilMs: number; readonly end: () => void } | undefined;
}

/** Where one process runs at a time, or none. */
interface Place {
  readonly name: string;
  process: Process | undefined;
  formerIds: readonly string[];
  startMs: number;
}

class SessionTrial {
  readonly world = new ClusterWorld();
  readonly clients: TrialClient[] = [];
  readonly faults: string[] = [];
  readonly counts = { lost: 0, deaths: 0, left: 0, given: 0, taken: 0, adopted: 0, released: 0 };
  readonly #random: () => number;
  readonly #watched = new FakeProcesses();
  readonly #places: Place[] = [];
  readonly #processes: Process[] = [];
  /** Ids whose records were removed. */
  readonly #removed = new Set<string>();
  /** In which life of its machine each player was seen first. */
  readonly #lives = new WeakMap<FakeSessionPlayer, number>();
  #awayUntilMs = Number.NEGATIVE_INFINITY;
  #volume = 0;

  constructor(random: () => number) {
    this.#random = random;
    const placeCount = MACHINES_MIN + Math.floor(random() * (MACHINES_MAX - MACHINES_MIN + 1));
    for (let index = 0; index < placeCount; index++) {
      this.#places.push({ name: `m${index}`, process: undefined, formerIds: [], startMs: index * 200 });
    }
    const clientCount = 1 + Math.floor(random() * CLIENTS_MAX);
    for (let index = 0; index < clientCount; index++) {
      this.clients.push(new TrialClient((text) => this.#fault(`client ${index}: ${text}`)));
    }
    this.world.nats.onWritten = (changes) => {
      for (const { key, value } of changes) {
        if (value === undefined && key.startsWith("life/")) this.#removed.add(key.slice("life/".length));
      }
    };
  }

  async run(durationMs: number): Promise<void> {
    for (const endMs = this.#nowMs + durationMs; this.#nowMs < endMs; ) {
      this.#moveNats();
      for (const place of this.#places) this.#movePlace(place);
      for (const client of this.clients) if (this.#random() < ACT) this.#moveClient(client);
      await this.#step();
    }
  }

  /** All that was wrong is over, and nothing goes wrong any more. Then all must be right, also when clients come back. */
  async calm(durationMs: number): Promise<void> {
    const { nats } = this.world;
    if (nats.isAway) nats.comeBack();
    for (const place of this.#places) if (place.process?.harm !== undefined) this.#endHarm(place.process);
    for (const place of this.#places) if (place.process === undefined) this.#start(place);
    for (const { machine } of this.#running) machine.sessions.drain(false);
    await this.#pass(durationMs);
    for (const client of this.clients) client.settle();
    await this.#checkAll();
    for (const client of this.clients) client.lose({ isNoticed: this.#random() < 0.5 });
    await this.#pass(1000);
    for (let tries = 0; tries < 20 && this.clients.some(({ isConnected }) => !isConnected); tries++) {
      for (const client of this.clients) void client.connect(this.#anyProcess());
      await this.#pass(1000);
    }
    await this.#pass(2000);
    await this.#checkAll();
    // A machine that dies while its session ends may leave records.
    await this.#pass(3 * SWEEP_MS, LONG_STEP_MS);
    await this.#checkAll({ isSwept: true });
    for (const { owed, sessionId, isConnected } of this.clients) {
      if (!isConnected) this.#fault(`a client of ${sessionId} cannot connect`);
      if (owed.size > 0) this.#fault(`${sessionId} has lost the messages ${[...owed].join(" ")}`);
    }
    for (const { machine } of this.#processes) {
      for (const { message, fields } of machine.errors) {
        if (!message.includes("its sessions were ended here")) {
          this.#fault(`${machine.name} has an error: ${message} ${String((fields as { error?: unknown }).error)}`);
        }
      }
      const { given, taken, adopted } = machine.cluster.report().counts;
      this.counts.given += given;
      this.counts.taken += taken;
      this.counts.adopted += adopted;
      this.counts.lost += machine.cluster.lives;
      this.counts.released += machine.cluster.releasedCount;
    }
  }

  get #nowMs(): number {
    return this.world.clock.now();
  }

  get #running(): readonly Process[] {
    return this.#processes.filter(({ isOver }) => !isOver);
  }

  async #pass(durationMs: number, stepMs = STEP_MS): Promise<void> {
    for (const endMs = this.#nowMs + durationMs; this.#nowMs < endMs; ) await this.#step(stepMs);
  }

  async #step(stepMs = STEP_MS): Promise<void> {
    this.world.clock.advance(stepMs);
    await untilSettled();
    for (const client of this.clients) client.look();
    this.#checkPlaces();
  }

  /** No two players of one session and guild, and none that others may have taken over. */
  #checkPlaces(): void {
    const found = new Map<string, string>();
    for (const { machine, isPaused, ids } of this.#running) {
      const alive = machine.players.filter(({ isGone }) => !isGone);
      machine.players.splice(0, machine.players.length, ...alive);
      const isDead = machine.id === "nobody" && [...ids].some((id) => this.#removed.has(id));
      if (isPaused) continue;
      const { lives } = machine.cluster;
      for (const player of alive) {
        const { sessionId, guildId, isDestroyed, isHeld } = player;
        // It is silent until the one before it has ended.
        if (isHeld) continue;
        const bornIn = this.#lives.get(player) ?? lives;
        this.#lives.set(player, bornIn);
        const key = `${sessionId} ${guildId}`;
        if (isDead && !isDestroyed) this.#fault(`${machine.name} has lost its id and still has ${key}`);
        // One that ends with the id of its machine is silent, and nobody waits for its end.
        if (!machine.opened.membership.holdsLease || (isDestroyed && bornIn !== lives)) continue;
        const other = found.get(key);
        if (other !== undefined) this.#fault(`${key} is at ${other} and ${machine.name}`);
        found.set(key, machine.name);
      }
    }
  }

  async #checkAll({ isSwept = false } = {}): Promise<void> {
    const homes = new Map<string, Process[]>();
    for (const process of this.#running) {
      for (const { id, isRemote } of process.machine.sessions.all()) {
        if (!isRemote) homes.set(id, [...(homes.get(id) ?? []), process]);
      }
    }
    for (const { machine } of this.#running) {
      for (const { id, isRemote } of machine.sessions.all()) {
        if (isRemote && !homes.has(id)) this.#fault(`${machine.name} has players of ${id}, which is nowhere`);
      }
    }
    for (const [id, processes] of homes) {
      if (processes.length > 1)
        this.#fault(`${id} is at ${processes.map(({ machine }) => machine.name).join(" and ")}`);
      const owner = this.world.nats.value(`owner/${id}`);
      const isOwned = owner === JSON.stringify({ machine: processes[0]?.machine.id });
      for (const { machine } of this.#running) {
        const place = await this.world.within(Promise.resolve(machine.cluster.elsewhere(id)));
        const isFound = place === (machine === processes[0]?.machine ? undefined : processes[0]?.machine.id);
        if (!isFound) this.#fault(`${machine.name} looks for ${id} at ${place}`);
      }
      if (!isOwned) this.#fault(`${id} is at ${processes[0]?.machine.name}, and its owner is ${owner}`);
    }
    for (const { key, value } of this.world.nats.records.values()) {
      const [kind = "", id = ""] = key.split("/");
      if (value === undefined || kind === "machine" || kind === "life") continue;
      const isLeftBehind = kind === "player" || kind === "relay";
      if (!homes.has(id) && (isSwept || !isLeftBehind)) this.#fault(`${key} is of a session that is nowhere`);
      if (kind === "relay" && homes.has(id)) this.#fault(`${key} was not taken`);
    }
    for (const client of this.clients) this.#checkClient(client, homes);
  }

  #checkClient(client: TrialClient, homes: ReadonlyMap<string, readonly Process[]>): void {
    for (const id of client.ended) if (homes.has(id)) this.#fault(`${id} was ended, and is there`);
    const { sessionId, isLasting, players } = client;
    if (sessionId === undefined || !isLasting) return;
    const [home] = homes.get(sessionId) ?? [];
    const session = home?.machine.sessions.own(sessionId);
    if (session === undefined) {
      this.#fault(`${sessionId} is lost`);
      return;
    }
    for (const [guildId, versions] of players) {
      const possible = versions.map(({ volume }) => volume);
      const found = this.#running.flatMap(({ machine }) => machine.sessions.get(sessionId)?.players.get(guildId) ?? []);
      if (found.length > 1) this.#fault(`${sessionId} ${guildId} is at ${found.length} machines`);
      const volume = found[0]?.snapshot().volume;
      if (!possible.includes(volume)) {
        this.#fault(`${sessionId} ${guildId} has the volume ${volume} instead of ${possible.join(" or ")}`);
      }
    }
  }

  #moveClient(client: TrialClient): void {
    const kind = this.#random();
    const guildId = GUILDS[Math.floor(this.#random() * GUILDS.length)] ?? "7";
    if (kind < 0.2) this.#hear(client);
    else if (!client.isConnected) void client.connect(this.#anyProcess());
    else if (kind < 0.35) void client.configure();
    else if (kind < 0.75) void client.update(guildId, ++this.#volume);
    else if (kind < 0.8) void client.destroyPlayer(guildId);
    else if (kind < 0.98) client.lose({ isNoticed: this.#random() < 0.6 });
    else void client.end();
  }

  #hear(client: TrialClient): void {
    const id = client.sessionId ?? "";
    const having = this.#running.filter((one) => !one.isPaused && one.machine.sessions.get(id) !== undefined);
    const process = having[Math.floor(this.#random() * having.length)];
    const isConnected = this.#running.some(({ machine }) => machine.sessions.own(id)?.isConnected);
    if (process !== undefined) void client.hear(process, { isConnected });
  }

  #anyProcess(): Process {
    const running = this.#running.filter(({ isPaused, isLeaving }) => !isPaused && !isLeaving);
    const process = running[Math.floor(this.#random() * running.length)] ?? this.#running[0];
    if (process === undefined) throw new Error("one machine is always left");
    return process;
  }

  #moveNats(): void {
    const { nats } = this.world;
    if (nats.isAway) {
      if (this.#nowMs >= this.#awayUntilMs) nats.comeBack();
    } else if (this.#nowMs > this.#awayUntilMs + 12_000 && this.#random() < AWAY) {
      this.#awayUntilMs = this.#nowMs + this.#random() ** 2 * AWAY_MS_MAX;
      nats.goAway({ isConnected: this.#random() < 0.5, keepsRequests: this.#random() < 0.5 });
    }
  }

  #movePlace(place: Place): void {
    const { process } = place;
    if (process === undefined) {
      if (this.#nowMs >= place.startMs) this.#start(place);
      return;
    }
    if (process.isLeaving) return;
    if (process.harm !== undefined && process.harm.untilMs <= this.#nowMs) this.#endHarm(process);
    if (process.harm === undefined && this.#random() < HARM) this.#harm(process);
    const { machine } = process;
    if (!machine.sessions.isDraining && this.#random() < DRAINING) {
      machine.sessions.drain(true);
      process.drainsUntilMs = this.#nowMs + this.#random() * DRAIN_MS_MAX;
    }
    const isDrained = machine.sessions.isDraining && this.#nowMs >= process.drainsUntilMs;
    if (isDrained && this.#random() < 0.3) machine.sessions.drain(false);
    const isOneLeft = this.#running.filter((one) => !one.isPaused && !one.isLeaving).length > 1;
    if (!isOneLeft) return;
    if (this.#random() < DEATH) this.#kill(process);
    else if (process.harm === undefined && (isDrained || this.#random() < LEAVING)) void this.#leave(process);
  }

  #start(place: Place): void {
    const clock = new PausableClock(this.world.clock);
    const ids = new Set<string>();
    const formerLife = {
      ids: place.formerIds,
      remember: (id: string) => {
        ids.add(id);
        place.formerIds = [id];
      },
      close: async () => undefined,
    } as unknown as FormerLife;
    const random = bytesOf(this.#random);
    const goodbyeMs = () => (this.#random() < 0.8 ? 0 : this.#random() * GOODBYE_MS_MAX);
    const choose = (ids: readonly string[]) => ids[Math.floor(this.#random() * ids.length)];
    const watched = this.#watched.create();
    const options = { formerLife, clock, random, goodbyeMs, choose, process: watched };
    const machine = new TestMachine(this.world, place.name, options);
    machine.bucket.transit = () => this.#transit(TRANSIT_MS_MAX);
    const process: Process = {
      ...{ place, watched, machine, clock, ids, isOver: false, isLeaving: false, drainsUntilMs: 0, harm: undefined },
      get isPaused() {
        return clock.isPaused;
      },
    };
    place.process = process;
    this.#processes.push(process);
    void machine.begin();
  }

  #harm(process: Process): void {
    const { machine, clock, watched } = process;
    const { bucket } = machine;
    const until = (end: () => void): void => {
      process.harm = { untilMs: this.#nowMs + this.#random() * HARM_MS_MAX, end };
    };
    const kind = this.#random();
    if (kind < 0.4) {
      bucket.cut({ isNoticed: this.#random() < 0.5, canAsk: this.#random() < 0.5 });
      watched.isCut = this.#random() < 0.5;
      until(() => {
        watched.isCut = false;
        bucket.restore();
      });
    } else if (kind < 0.55) {
      clock.pause();
      watched.isPaused = true;
      until(() => {
        watched.isPaused = false;
        clock.resume((due) => due.toSorted(() => this.#random() - 0.5));
      });
    } else if (kind < 0.8) {
      bucket.transit = () => this.#transit(SLOW_MS_MAX);
      until(() => {
        bucket.transit = () => this.#transit(TRANSIT_MS_MAX);
      });
    } else bucket.answersToLose = Math.ceil(this.#random() * 4);
  }

  #endHarm(process: Process): void {
    process.harm?.end();
    process.harm = undefined;
  }

  #kill(process: Process): void {
    this.#endHarm(process);
    process.isOver = true;
    process.machine.kill();
    process.clock.kill();
    this.counts.deaths++;
    this.#vacate(process);
  }

  async #leave(process: Process): Promise<void> {
    process.isLeaving = true;
    await process.machine.close();
    process.isOver = true;
    process.machine.bucket.cut();
    this.counts.left++;
    this.#vacate(process);
  }

  #vacate({ place }: Process): void {
    place.process = undefined;
    place.startMs = this.#nowMs + this.#random() ** 2 * 30_000;
  }

  #transit(msMax: number): { readonly requestMs: number; readonly answerMs: number } {
    return { requestMs: 1 + this.#random() * msMax, answerMs: 1 + this.#random() * msMax };
  }

  #fault(fault: string): void {
    this.faults.push(`at ${this.#nowMs} ms: ${fault}`);
  }
}

function bytesOf(random: () => number): Random {
  return {
    bytes: (length) => Uint8Array.from({ length }, () => Math.floor(random() * 256)),
    uint32: () => Math.floor(random() * 2 ** 32),
    unit: random,
  };
}

interface Trials {
  /** Those of the first trial that has any, with its seed. */
  readonly faults: readonly string[];
  /** How often something happened, in all of them together. */
  readonly counts: Readonly<Record<string, number>>;
}

/** Trials of seeds in a row, up to the first with a fault. */
export async function runSessionTrials(firstSeed: number, trials: number): Promise<Trials> {
  const counts: Record<string, number> = {};
  for (let seed = firstSeed; seed < firstSeed + trials; seed++) {
    const trial = new SessionTrial(seededRandom(seed));
    await trial.run(90_000);
    await trial.calm(60_000);
    if (trial.faults.length > 0) return { faults: trial.faults.map((fault) => `seed ${seed}, ${fault}`), counts };
    for (const some of [trial.counts, ...trial.clients.map((client) => client.counts)]) {
      for (const [name, count] of Object.entries(some)) counts[name] = (counts[name] ?? 0) + count;
    }
  }
  return { faults: [], counts };
}
