// Three machines of a cluster with a session of one of them: its players are where the test says. Sessions of the others
// stand for that one there, as if its client were elsewhere.

import { V4_PROTOCOL } from "../../src/control/api/socket-protocol.ts";
import type { AskedPlayer } from "../../src/control/cluster/session-places.ts";
import { createLogger } from "../../src/log/log.ts";
import { ApiServer } from "./api-server.ts";
import { FakeSocket } from "./fake-socket.ts";
import { JoinedPlaces, type TestPlaces } from "./joined-places.ts";
import { EMPTY_UPDATE } from "./session-builders.ts";

export type StartOptions = NonNullable<Parameters<typeof ApiServer.start>[0]>;

type Name = "home" | "far" | "third";

export class PlacedMachines {
  readonly joined = new JoinedPlaces();
  readonly places: Record<Name, TestPlaces>;
  /** What the machine of the session has logged, but for connections. */
  readonly lines: string[] = [];
  /** What an answer of the machine `far` waits for. */
  stored: (() => Promise<void>) | undefined;
  #servers: Record<Name, ApiServer> | undefined;
  #sessionId = "";

  constructor() {
    const { joined } = this;
    this.places = { home: joined.of("home"), far: joined.of("far"), third: joined.of("third") };
  }

  /** `headers`: of the client's handshake. */
  async start(options: StartOptions = {}, headers: Readonly<Record<string, string>> = {}): Promise<void> {
    const { places } = this;
    const logger = createLogger((_level, message, fields) => {
      if (!message.startsWith("client ")) this.lines.push(`${message} ${JSON.stringify(fields)}`);
    });
    const requestLogging = {
      ...{ isClientShown: false, areHeadersShown: false, isQueryShown: false, isPayloadShown: false },
      ...{ payloadLengthMax: 0, isLoggedBefore: false },
    };
    const state = { report: () => ({}) as never, written: () => this.stored?.() };
    this.#servers = {
      home: await ApiServer.start({ logger, requestLogging, ...options, places: places.home }),
      far: await ApiServer.start({ state, ...options, places: places.far }),
      third: await ApiServer.start({ ...options, places: places.third }),
    };
    const client = await this.home.connect(headers);
    this.#sessionId = client.sessionId;
    this.joined.homes.set(client.sessionId, "home");
    this.#openOn(this.far);
    this.#openOn(this.third);
  }

  /** Puts another node in the place of the machine `far`. */
  async restartFar(options: StartOptions): Promise<void> {
    await this.far.close();
    const far = await ApiServer.start({ ...options, places: this.places.far });
    this.#servers = { ...this.#running, far };
    this.#openOn(far);
  }

  async close(): Promise<void> {
    for (const server of Object.values(this.#running)) await server.close();
  }

  /** The machine of the session. */
  get home(): ApiServer {
    return this.#running.home;
  }

  get far(): ApiServer {
    return this.#running.far;
  }

  get third(): ApiServer {
    return this.#running.third;
  }

  get sessionId(): string {
    return this.#sessionId;
  }

  get playersPath(): string {
    return `/v4/sessions/${this.sessionId}/players`;
  }

  playerPath(guildId = "1"): string {
    return `${this.playersPath}/${guildId}`;
  }

  /** Says that the player of a guild is on that machine, and makes none. */
  place(guildId: string, machine: string): void {
    this.joined.players.set(`${this.sessionId}/${guildId}`, machine);
  }

  /** Makes players on a machine. */
  async fill(machine: Name, guildIds: readonly string[]): Promise<void> {
    for (const guildId of guildIds) {
      if (machine !== "home") this.place(guildId, machine);
      const session = this.#running[machine].sessions.get(this.sessionId);
      await session?.updatePlayer(guildId, EMPTY_UPDATE, { isReplacing: true });
    }
  }

  playerOn({ sessions }: ApiServer, guildId = "1") {
    return sessions.get(this.sessionId)?.players.get(guildId)?.toJson();
  }

  /** What was asked of other machines, without the texts. */
  get asked(): (AskedPlayer & { readonly machine: string })[] {
    return this.joined.playerCalls.map(({ request: _request, ...asked }) => asked);
  }

  #openOn({ sessions }: ApiServer): void {
    const owner = this.home.sessions.get(this.sessionId)?.owner;
    const client = { userId: "1", clientName: undefined, dialect: V4_PROTOCOL, owner, account: "a" };
    sessions.open(new FakeSocket(), client, this.sessionId);
  }

  get #running(): Record<Name, ApiServer> {
    if (this.#servers === undefined) throw new Error("the machines have not been started");
    return this.#servers;
  }
}
